import { afterEach, beforeEach, expect, test } from 'vitest'
import { deliveryAddress } from '#actors/delivery/delivery'
import type { Entry } from '#model/entry'
import { type Grant, scopeOf } from '#model/scope'
import { ServiceSchema } from '#model/service-schema'
import { runContextOf } from '#notifications/mail-data'
import type { System } from '#runtime/system'
import { ann, hotAlarm } from '#test/actors/acting-tenant'
import { DeliveryFixture, requestOf } from '#test/notifications/delivery-fixture'

/** Mails contain names of schemas, alarms and users only for recipients who may read them. §4.4, contract 5.1, 5.7. */

let fixture: DeliveryFixture
beforeEach(async () => {
  fixture = await DeliveryFixture.open()
  await fixture.addDevice('A')
  const schema = ServiceSchema.parse({ name: 'Heating', properties: { '0x0001': { name: 'temperature' } } })
  await fixture.askTenant({ type: 'put_schema', service: 'svc', schema })
  const body = { ...hotAlarm, name: 'Fire', devices: ['A', 'B'] }
  await fixture.askTenant({ type: 'put_alarm', id: 'Alarm1', isNew: true, body, author: ann })
  const en = { subject: '{{service}}{{#property}}.{{property}}{{/property}}{{alarm}}', text: 'x' }
  await fixture.putTemplate({ locales: { en } })
  await fixture.putFunction('F', { binding: { devices: ['A'] } })
})
afterEach(() => fixture.close())

const enough: Grant = {
  permissions: { notifications: ['read'], functions: ['read'], service: ['read'], alarms: ['read'], schemas: ['read'] },
  devices: ['A', 'B'],
  services: ['svc'],
}
const { schemas: _, ...withoutSchemas } = enough.permissions

test.each<[name: string, grant: Grant, subjects: readonly string[]]>([
  ['all permissions', enough, ['Heating.temperature', 'Fire']],
  ['no permission for schemas', { ...enough, permissions: withoutSchemas }, ['svc.0x0001', 'Fire']],
  ['alarms of only one of the devices', { ...enough, devices: ['A'] }, ['Heating.temperature', 'Alarm1']],
])('a mail to a user with %s has only readable names', async (_, grant, subjects) => {
  fixture.setRecipient('ann', { scope: scopeOf([grant]) })
  await fixture.subscribe('ann')
  await fixture.request(7)
  await fixture.advance()
  const { request } = requestOf(fixture.world.now(), 7)
  const cause = { on: 'alarm', alarm: 'Alarm1' } as const
  await fixture.ask(deliveryAddress('default', 'F'), { type: 'request', request: { ...request, value: true, cause } })
  await fixture.advance()
  expect(fixture.arrived.map(({ subject }) => subject)).toEqual(subjects)
})

test.each<[string, Grant['permissions'], name: string]>([
  ['users', { alarms: ['read'], users: ['read'] }, 'bot'],
  ['alarms only', { alarms: ['read'] }, 'crn#key:2Vb7qYx9Kd'],
])('the name of the user or key that acknowledged an alarm, for readers of %s', (_, permissions, name) => {
  const acknowledged = { by: 'crn#key:2Vb7qYx9Kd', at: 1, comment: 'seen' }
  const system = {
    wake: () => ({ alarms: new Map(), schemas: new Map(), apiKeys: new Map([['2Vb7qYx9Kd', { name: 'bot' }]]) }),
    peek: () => ({ alarms: new Map([['Alarm1', { acknowledged }]]) }),
  } as unknown as System<Entry>
  const scope = scopeOf([{ permissions, devices: ['*'], services: ['*'] }])
  const reader = { tenant: 'default', scope, membersOf: () => undefined }
  const context = runContextOf(system, reader, 'F', { device: 'A', cause: { on: 'alarm', alarm: 'Alarm1' } })
  expect(context.acknowledged).toEqual({ ...acknowledged, name })
})
