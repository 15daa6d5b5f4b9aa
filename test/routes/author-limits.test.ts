import { afterAll, expect, test } from 'vitest'
import { alarmNodesMax, alarmsMax } from '#model/alarm'
import { functionNodesMax, functionsMax } from '#model/function'
import { graphNodesMax } from '#model/graph'
import { groupsMax } from '#model/group'
import { everywhere, grantOn, ServerWithUsers, userOf } from '#test/routes/server-with-users'

/** A user who reaches one device must not use up the limits of a tenant. */

const http = await ServerWithUsers.open()
afterAll(() => http.close())
const permissions = { functions: ['*'], alarms: ['*'], service: ['read', 'update'], updates: ['*'] } as const
for (const name of ['nat', 'ned']) http.give(name, [grantOn(['A'], ['*'], permissions as never)])
http.give('wim', [everywhere(permissions as never)])

const graph = { nodes: [{ id: 't', type: 'trigger', on: 'status' }], edges: [] }
const alarm = { name: 'Hot', severity: 'info', serviceIdentifier: 'x', condition: { '>': [{ var: '0x1' }, 1] } }
const kinds = [
  ['/groups', groupsMax, { name: 'G', devices: ['A'] }, 'put_group'],
  ['/functions', functionsMax, { name: 'F', enabled: true, binding: { devices: ['A'] }, graph }, 'put_function'],
  ['/alarms', alarmsMax, { ...alarm, devices: ['A'] }, 'put_alarm'],
] as const

test.each(kinds)('%s are limited to a tenth of %i', async (path, max, body, type) => {
  const share = max / 10
  const put = (place: number) => ({
    type,
    id: `${place}`.padStart(10, 'z'),
    isNew: true,
    body,
    author: userOf('nat'),
  })
  for (let place = 0; place < share; place++) await http.askTenant(put(place))
  const refused = await http.call('nat', 'POST', path, body)
  expect(refused.status).toBe(409)
  expect(refused.json).toEqual({
    error: `a user who does not reach all devices can create at most ${share} of the ${max} ${path.slice(1)} of a tenant: delete one, or ask a user who reaches all devices`,
  })
  // Other users can create theirs, and existing ones can be edited, or deleted to free a place.
  for (const user of ['ned', 'wim']) expect((await http.call(user, 'POST', path, body)).status).toBe(201)
  const [id] = [put(0).id]
  if (path !== '/alarms') expect((await http.call('nat', 'PATCH', `${path}/${id}`, { name: 'Other' })).status).toBe(200)
  expect((await http.call('nat', 'DELETE', `${path}/${id}`)).status).toBe(204)
  expect((await http.call('nat', 'POST', path, body)).status).toBe(201)
})

const nodes = Array.from({ length: graphNodesMax }, (_, place) =>
  place === 0 ? { id: 't', type: 'trigger', on: 'status' } : { id: `n${place}`, type: 'throttle', seconds: 60 },
)
const edges = nodes.slice(1).map(({ id }) => ['t', id])
const condition = { and: Array.from({ length: 60 }, () => alarm.condition) }
const edits = [
  ['PATCH', '/functions', { ...kinds[1][2], graph: { nodes, edges } }, 'put_function', functionNodesMax],
  ['PUT', '/alarms', { ...kinds[2][2], condition }, 'put_alarm', alarmNodesMax],
] as const

test.each(edits)(
  '%s %s are limited to a tenth of the nodes for one author',
  async (method, path, large, type, nodesMax) => {
    const small = kinds.find(([at]) => at === path)?.[2]
    const put = (place: number, body: unknown) => {
      const id = `${place}`.padStart(10, 'y')
      return http.askTenant({ type, id, isNew: true, body, author: userOf('ned') }).then(() => `${path}/${id}`)
    }
    const edited = await put(0, small)
    for (let place = 1; place <= nodesMax / 10 / 64; place++) await put(place, large)
    const refused = await http.call('ned', method, edited, large)
    expect(refused.json).toEqual({
      error: expect.stringContaining(`at most ${nodesMax / 10} of the ${nodesMax} nodes`),
    })
    expect((await http.call('ned', method, edited, { ...small, name: 'Other' })).status).toBe(200)
  },
)
