import { afterAll, describe, expect, test } from 'vitest'
import { pagesOf } from '#test/blackbox/pages'
import { climate } from '#test/blackbox/sensor'
import { answerOf, basicHeader, grant, identityOn, newName, SignedInUser } from '#test/blackbox/signed-in-user'
import { StartedServer } from '#test/blackbox/started-server'
import { TestGateway } from '#test/blackbox/test-gateway'
import { until } from '#test/blackbox/until'

/** An action as applications see it: one write for many devices. Contract 3.6. */

interface Action {
  readonly id: string
  readonly state: string
  readonly counts: Readonly<Record<string, number>>
  readonly devices: readonly { readonly deviceIdentifier: string; readonly status: string }[]
}

const devices = ['A-1', 'A-2', 'A-3', 'B-1', 'B-2']
const unknown = [404, { error: 'Not Found' }]
const updates = { '0x2000': 22.5 }

const gateway = new TestGateway(devices)

const server = await StartedServer.here(identityOn)
afterAll(async () => {
  gateway.cut()
  await server.finish()
})
const admin = await SignedInUser.signIn(server)
const { key } = (await admin.post('/iam/provisioning-keys', { name: 'Hall' })).json as { key: string }
await gateway.link(server, basicHeader({ name: 'default/*', password: key }))

async function begin(person: SignedInUser, body: object): Promise<string> {
  const answer = await person.post('/devices/actions', { serviceIdentifier: climate, updates, ...body })
  const { id } = answer.json as { id: string }
  expect(answerOf(answer)).toEqual([202, { id: expect.stringMatching(/^[1-9A-HJ-NP-Za-km-z]{10}$/) }])
  expect(answer.headers.get('location')).toBe(`/api/v1/devices/actions/${id}`)
  return id
}

async function done(id: string, person = admin): Promise<Action> {
  return until(async () => {
    const action = (await person.get(`/devices/actions/${id}`)).json as Action
    return action.state === 'done' && action
  }, `action ${id} to be finished`)
}

const statuses = ({ devices }: Action) => devices.map(({ deviceIdentifier, status }) => `${deviceIdentifier} ${status}`)
const counts = (more: object) => ({
  total: 0,
  PENDING: 0,
  OK: 0,
  REJECTED: 0,
  DEVICE_OFFLINE: 0,
  DEVICE_TIMEOUT: 0,
  NOT_FOUND: 0,
  INVALID: 0,
  ...more,
})

test('an action writes to all its devices, and shows their results', async () => {
  const before = gateway.executedCount
  const id = await begin(admin, { devices: ['b-1', 'A-1', 'a-1', 'NOBODY'] })
  expect(await done(id)).toEqual({
    id,
    state: 'done',
    createdAt: expect.any(Number),
    createdBy: admin.claims.sub,
    serviceIdentifier: climate,
    updates,
    counts: counts({ total: 3, OK: 2, NOT_FOUND: 1 }),
    devices: [
      { deviceIdentifier: 'A-1', status: 'OK' },
      { deviceIdentifier: 'B-1', status: 'OK' },
      { deviceIdentifier: 'NOBODY', status: 'NOT_FOUND' },
    ],
  })
  expect(gateway.executedCount).toBe(before + 2)
})

test('an action has the present members of its groups and the devices in its own list', async () => {
  const made = await admin.post('/groups', { name: 'A', devices: ['A-1', 'A-2'] })
  const { resourceIdentifier: group } = made.json as { resourceIdentifier: string }
  const id = await begin(admin, { groups: [group], devices: ['A-2', 'B-2'] })
  expect((await admin.delete(`/groups/${group.slice(10)}`)).status).toBe(204)
  expect(statuses(await done(id))).toEqual(['A-1 OK', 'A-2 OK', 'B-2 OK'])
  expect(
    answerOf(await admin.post('/devices/actions', { groups: [group], serviceIdentifier: climate, updates })),
  ).toEqual(unknown)
})

test('a device named ACTIONS is found by its name', async () => {
  expect((await admin.post('/devices', { deviceIdentifier: 'actions' })).status).toBe(201)
  expect((await admin.get('/devices/ACTIONS')).json).toMatchObject({ deviceIdentifier: 'ACTIONS' })
})

test('an action lists its devices in pages', async () => {
  const names = Array.from({ length: 250 }, (_, index) => `NONE-${1_000 + index}`)
  const id = await begin(admin, { devices: [...names, ...devices] })
  await done(id)
  const pages = await pagesOf((path) => admin.get(path), `/devices/actions/${id}?limit=100`)
  const parts = pages.map(({ json }) => json as Action)
  for (const part of parts) expect(part.counts).toEqual(counts({ total: 255, OK: 5, NOT_FOUND: 250 }))
  expect(parts.map((part) => part.devices.length)).toEqual([100, 100, 55])
  expect(parts.flatMap(statuses)).toEqual(statuses(await done(id)))
})

describe('a caller who may not reach all devices', () => {
  test('writes to devices within their scope, and sees those that they may read', async () => {
    const name = newName('part')
    await admin.putRole(
      name,
      grant({ service: ['update'] }, ['A-1', 'B-1']),
      grant({ service: ['read'] }, ['A-1', 'A-2']),
    )
    const person = await admin.bringIn(name, [name])
    const before = gateway.executed.get('A-2')?.length
    const id = await begin(person, { devices })
    expect(await done(id)).toMatchObject({ counts: counts({ total: 5, OK: 2, NOT_FOUND: 3 }) })
    expect(statuses(await done(id, person))).toEqual(['A-1 OK', 'A-2 NOT_FOUND'])
    expect((await done(id, person)).counts).toEqual(counts({ total: 2, OK: 1, NOT_FOUND: 1 }))
    expect(gateway.executed.get('A-2')?.length).toBe(before)
  })

  test('gets 404 for an action without any visible device', async () => {
    const name = newName('out')
    await admin.putRole(name, grant({ service: ['read'] }, ['B-1']), grant({ service: ['read'] }, ['*'], ['x']))
    const person = await admin.bringIn(name, [name])
    const id = await begin(admin, { devices: ['A-1'] })
    expect(answerOf(await person.get(`/devices/actions/${id}`))).toEqual(unknown)
  })

  test('may name groups that they see, or whose devices they may write to one by one', async () => {
    const [forwarding, asking, neither] = [newName('sees'), newName('asks'), newName('neither')]
    const update = grant({ service: ['read', 'update'] }, ['A-1'])
    await admin.putRole(forwarding, update, grant({ functions: ['read'] }))
    await admin.putRole(asking, grant({ service: ['read', 'update'] }, ['A-1', 'A-2']))
    await admin.putRole(neither, update)
    const made = await admin.post('/groups', { name: 'A', devices: ['A-1', 'A-2'] })
    const { resourceIdentifier: group } = made.json as { resourceIdentifier: string }
    const sees = await admin.bringIn(forwarding, [forwarding])
    expect((await done(await begin(sees, { groups: [group] }))).counts).toMatchObject({ OK: 1, NOT_FOUND: 1 })
    const asks = await admin.bringIn(asking, [asking])
    expect((await done(await begin(asks, { groups: [group] }))).counts).toMatchObject({ OK: 2 })
    const other = await admin.bringIn(neither, [neither])
    const refused = await other.post('/devices/actions', { groups: [group], serviceIdentifier: climate, updates })
    expect(answerOf(refused)).toEqual(unknown)
  })
})
