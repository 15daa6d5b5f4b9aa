import { afterAll, beforeAll, expect, test } from 'vitest'
import { alarmsMax } from '#model/alarm'
import { functionsMax } from '#model/function'
import { groupsMax } from '#model/group'
import { everywhere, on, PeopleDoor, userOf } from '#test/routes/people-door'

/** A user who reaches one device must not take what the whole tenant may make. */

let door: PeopleDoor
beforeAll(async () => {
  door = await PeopleDoor.open()
  const permissions = { functions: ['*'], alarms: ['*'], service: ['read', 'update'], updates: ['*'] } as const
  for (const name of ['nat', 'ned']) door.give(name, [on(['A'], ['*'], permissions as never)])
  door.give('wim', [everywhere(permissions as never)])
})
afterAll(() => door?.close())

const graph = { nodes: [{ id: 't', type: 'trigger', on: 'status' }], edges: [] }
const alarm = { name: 'Hot', severity: 'info', serviceIdentifier: 'x', condition: { '>': [{ var: '0x1' }, 1] } }
const kinds = [
  ['/groups', groupsMax, { name: 'G', devices: ['A'] }, 'put_group'],
  ['/functions', functionsMax, { name: 'F', enabled: true, binding: { devices: ['A'] }, graph }, 'put_function'],
  ['/alarms', alarmsMax, { ...alarm, devices: ['A'] }, 'put_alarm'],
] as const

test.each(kinds)('%s: a tenth of %i', async (path, max, body, type) => {
  const share = max / 10
  const put = (place: number) => ({
    type,
    id: `${place}`.padStart(10, 'z'),
    isNew: true,
    body,
    author: userOf('nat'),
  })
  for (let place = 0; place < share; place++) await door.askTenant(put(place))
  const refused = await door.call('nat', 'POST', path, body)
  expect(refused.status).toBe(409)
  expect(refused.json).toEqual({
    error: `a user who does not reach all devices makes at most ${share} of the ${max} ${path.slice(1)} of a tenant: delete one, or ask a user who reaches all devices`,
  })
  // Others make theirs, and what is there is edited and gives room when it is deleted.
  for (const who of ['ned', 'wim']) expect((await door.call(who, 'POST', path, body)).status).toBe(201)
  const [id] = [put(0).id]
  if (path !== '/alarms') expect((await door.call('nat', 'PATCH', `${path}/${id}`, { name: 'Other' })).status).toBe(200)
  expect((await door.call('nat', 'DELETE', `${path}/${id}`)).status).toBe(204)
  expect((await door.call('nat', 'POST', path, body)).status).toBe(201)
})
