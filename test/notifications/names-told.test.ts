import { afterEach, beforeEach, expect, test } from 'vitest'
import { deliveryAddress } from '#actors/delivery/state'
import { type Grant, scopeOf } from '#model/scope'
import { ServiceSchema } from '#model/service-schema'
import { ann, hot } from '#test/actors/acting-tenant'
import { DeliveryStage, requestOf } from '#test/notifications/delivery-stage'

/** What things are called is told to whom it may be shown, as everywhere else: §4.4, contract 5.1, 5.7. */

let room: DeliveryStage
beforeEach(async () => {
  room = await DeliveryStage.open()
  await room.addDevice('A')
  const schema = ServiceSchema.parse({ name: 'Heating', properties: { '0x0001': { name: 'temperature' } } })
  await room.tell({ type: 'put_schema', service: 'svc', schema })
  const body = { ...hot, name: 'Fire', devices: ['A', 'B'] }
  await room.tell({ type: 'put_alarm', id: 'Alarm1', isNew: true, body, author: ann })
  const en = { subject: '{{service}}{{#property}}.{{property}}{{/property}}{{alarm}}', text: 'x' }
  await room.putTemplate({ locales: { en } })
  await room.putFunction('F', { binding: { devices: ['A'] } })
})
afterEach(async () => {
  expect(room.stage.bugs).toEqual([])
  await room.close()
})

const enough: Grant = {
  permissions: { notifications: ['read'], functions: ['read'], service: ['read'], alarms: ['read'], schemas: ['read'] },
  devices: ['A', 'B'],
  services: ['svc'],
}
const { schemas: _, ...withoutSchemas } = enough.permissions

test.each<[what: string, grant: Grant, subjects: readonly string[]]>([
  ['who reads it all', enough, ['Heating.temperature', 'Fire']],
  ['who does not read schemas', { ...enough, permissions: withoutSchemas }, ['svc.0x0001', 'Fire']],
  ['who reads alarms of one device of it', { ...enough, devices: ['A'] }, ['Heating.temperature', 'Alarm1']],
])('%s', async (_, grant, subjects) => {
  room.person('ann', { scope: scopeOf([grant]) })
  await room.subscribe('ann')
  await room.request(7)
  await room.pass()
  const { request } = requestOf(room.world.now(), 7)
  const cause = { on: 'alarm', alarm: 'Alarm1' } as const
  await room.ask(deliveryAddress('default', 'F'), { type: 'request', request: { ...request, value: true, cause } })
  await room.pass()
  expect(room.arrived.map(({ subject }) => subject)).toEqual(subjects)
})
