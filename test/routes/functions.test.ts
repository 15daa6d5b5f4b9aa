import { afterAll, beforeEach, describe, expect, test } from 'vitest'
import { tenantAddress } from '#actors/tenant/commands'
import { pagesOf } from '#test/blackbox/pages'
import { everywhere, grantOn, ServerWithUsers, userOf } from '#test/routes/server-with-users'

/** Functions seen, created and edited by users who reach some devices. Contract 5.1, 5.4. */

const http = await ServerWithUsers.open()
afterAll(() => http.close())

const state = () => http.system.peek(tenantAddress('default'))
const alarms = { ofA: '8Hj4wRt6Za', ofB: '8Hj4wRt6Zb', nowhere: '8Hj4wRt6Zc' }

beforeEach(async () => {
  const { functions, groups } = state()
  for (const id of [...functions.keys()]) await http.askTenant({ type: 'delete_function', id })
  for (const id of [...groups.keys()]) await http.askTenant({ type: 'delete_group', id })
  for (const [id, device] of [
    [alarms.ofA, 'A'],
    [alarms.ofB, 'B'],
  ] as const) {
    const body = {
      name: 'x',
      severity: 'info',
      serviceIdentifier: 'x',
      condition: { '>': [{ var: '0x1' }, 1] },
      devices: [device],
    }
    const isNew = !state().alarms.has(id)
    await http.askTenant({ type: 'put_alarm', id, isNew, body, author: userOf('root') })
  }
})

const onProperty = (serviceIdentifier = 'x') => ({
  id: 'start',
  type: 'trigger',
  on: 'property',
  serviceIdentifier,
  propId: 1,
})
const onAlarm = (alarmId: string) => ({ id: 'start', type: 'trigger', on: 'alarm', alarmId })
const onStatus = { id: 'start', type: 'trigger', on: 'status' }
const mail = { id: 'mail', type: 'email', template: 'words' }
const graphOf = (trigger: object) => ({ nodes: [trigger, mail], edges: [['start', 'mail']] })
const bodyOf = (binding: object, trigger: object = onProperty()) => ({ name: 'F', binding, graph: graphOf(trigger) })

async function make(binding: object, trigger?: object): Promise<string> {
  const { status, headers } = await http.call('root', 'POST', '/functions', bodyOf(binding, trigger))
  expect(status).toBe(201)
  return headers.get('location')?.split('/').at(-1) ?? ''
}

test('a function is created, read, edited and deleted', async () => {
  const made = await http.call('root', 'POST', '/functions', bodyOf({ devices: ['b', 'A'] }))
  const id = made.headers.get('location')?.replace('/api/v1/functions/', '')
  const whole = {
    name: 'F',
    enabled: true,
    binding: { devices: ['A', 'B'] },
    graph: graphOf(onProperty()),
    resourceIdentifier: `crn#function:${id}`,
    createdBy: userOf('root'),
    createdAt: expect.any(Number),
    updatedBy: userOf('root'),
    updatedAt: expect.any(Number),
  }
  expect([made.status, made.json]).toEqual([201, whole])
  const read = await http.call('root', 'GET', `/functions/${id}`)
  expect([read.status, read.text]).toEqual([200, made.text])

  http.give('eve', [everywhere({ functions: ['read', 'update'], service: ['read'] })])
  const change = { enabled: false, binding: {} }
  const patched = await http.call('eve', 'PATCH', `/functions/${id}`, change)
  expect([patched.status, patched.json]).toEqual([200, { ...whole, ...change, updatedBy: userOf('eve') }])
  const same = await http.call('eve', 'PATCH', `/functions/${id}`, {})
  expect([same.status, same.text]).toEqual([200, patched.text])

  const gone = await http.call('root', 'DELETE', `/functions/${id}`)
  expect([gone.status, gone.text]).toEqual([204, ''])
  expect((await http.call('root', 'GET', `/functions/${id}`)).status).toBe(404)
  expect((await http.call('root', 'PATCH', `/functions/${id}`, change)).status).toBe(404)
})

test('a function is visible to callers who reach all its devices, in lists, in pages and alone', async () => {
  const [seen, unseen] = [
    [await make({ devices: ['A'] }), await make({ devices: [] })],
    [await make({}), await make({ devices: ['A', 'B'] })],
  ]
  http.give('eve', [grantOn(['A'], ['*'], { functions: ['read'] })])
  const idsIn = (json: unknown) =>
    (json as { resourceIdentifier: string }[]).map((each) => each.resourceIdentifier.slice('crn#function:'.length))
  expect(idsIn((await http.call('eve', 'GET', '/functions')).json)).toEqual(seen.sort())
  const pages = await pagesOf((path) => http.call('eve', 'GET', path), '/functions?limit=1')
  expect(pages.flatMap(({ json }) => idsIn(json))).toEqual(seen)
  for (const id of [...seen, ...unseen]) {
    const status = seen.includes(id) ? 200 : 404
    expect((await http.call('eve', 'GET', `/functions/${id}`)).status).toBe(status)
    expect((await http.call('eve', 'POST', `/functions/${id}/test`, { sample: {} })).status).toBe(status)
  }
})

describe('a function needs permission to create it and to read its values', () => {
  const makes = (...devices: string[]) => grantOn(devices, ['*'], { functions: ['create', 'update'] })
  const reads = (devices: string[], ...services: string[]) => grantOn(devices, services, { service: ['read'] })
  test.each<[string, Parameters<ServerWithUsers['give']>[1], object, object, number]>([
    ['both', [makes('A'), reads(['A'], 'x')], { devices: ['A'] }, onProperty(), 201],
    ['another service', [makes('A'), reads(['A'], 'y')], { devices: ['A'] }, onProperty(), 404],
    ['any service, without values', [makes('A'), reads(['A'], 'y')], { devices: ['A'] }, onStatus, 201],
  ])('%s', async (_, grants, binding, trigger, status) => {
    http.give('eve', grants)
    const made = await http.call('eve', 'POST', '/functions', bodyOf(binding, trigger))
    expect(made.status).toBe(status)
    expect(state().functions.size).toBe(status === 201 ? 1 : 0)
    // An editor becomes the author, so they need the same permissions.
    const id = await make({ devices: [] })
    const edited = await http.call('eve', 'PATCH', `/functions/${id}`, { binding, graph: graphOf(trigger) })
    expect(edited.status).toBe(status === 201 ? 200 : status)
  })

  test('a function with two services needs read access to both', async () => {
    const second = { ...onProperty('y'), id: 'second' }
    const graph = {
      nodes: [onProperty('x'), second, mail],
      edges: [
        ['start', 'mail'],
        ['second', 'mail'],
      ],
    }
    const send = () => http.call('eve', 'POST', '/functions', { ...bodyOf({ devices: ['A'] }), graph })
    http.give('eve', [makes('A'), reads(['A'], 'x')])
    expect((await send()).status).toBe(404)
    http.give('eve', [makes('A'), reads(['A'], 'x'), reads(['A'], 'y')])
    expect((await send()).status).toBe(201)
  })
})

describe('alarms that a function names', () => {
  const may = [everywhere({ functions: ['*'], service: ['read'] }), grantOn(['A'], ['*'], { alarms: ['read'] })]

  test('are refused with the same error and node if they are unknown or invisible', async () => {
    http.give('eve', may)
    const send = (alarm: string) => http.call('eve', 'POST', '/functions', bodyOf({ devices: ['A'] }, onAlarm(alarm)))
    const [unknown, unseen] = [await send(alarms.nowhere), await send(alarms.ofB)]
    expect([unknown.status, unknown.json]).toEqual([
      400,
      {
        error: 'Validation Error',
        details: [{ path: 'graph.nodes.0', message: expect.stringMatching(/^node "start": /) }],
      },
    ])
    expect([unseen.status, unseen.text]).toEqual([unknown.status, unknown.text])
    expect((await send(`crn#alarm:${alarms.ofA}`)).status).toBe(201)
  })
})
