import { afterAll, describe, expect, test } from 'vitest'
import { EventClient } from '#test/blackbox/event-client'
import { identityOn, SignedInUser } from '#test/blackbox/signed-in-user'
import { StartedServer } from '#test/blackbox/started-server'
import { until } from '#test/blackbox/until'

/** Grants by prefix and group. Contract 12. */
const reads = { service: ['read'], device: ['read'], meta: ['read'], alarms: ['read'], functions: ['read'] }
const any = ['*']

const server = await StartedServer.here(identityOn)
afterAll(() => server.finish())
const root = await SignedInUser.signIn(server)
for (const deviceIdentifier of ['A', 'B', 'C', 'P-1', 'P-2', 'PX']) await root.post('/devices', { deviceIdentifier })
const made = await root.post('/groups', { name: 'Hall', devices: ['A'] })
const group = (made.json as { resourceIdentifier: string }).resourceIdentifier.split(':').at(-1) as string
await root.putRole('hall', { permissions: reads, devices: ['P-*'], groups: [group], services: any })
await root.putRole('manager', { permissions: { functions: ['*'], service: ['read'] }, devices: any, services: any })
/** Reads the devices of the group, and P-…. */
const ann = await root.bringIn('ann', ['hall'])
/** Manages the groups and devices of P-…, and holds the role of ann. */
const ben = await root.bringIn('ben', ['hall', 'manager'])

async function devicesOf(person: SignedInUser): Promise<string> {
  const { status, json } = await person.get('/devices')
  expect(status).toBe(200)
  return (json as { deviceIdentifier: string }[]).map(({ deviceIdentifier }) => deviceIdentifier).join(' ')
}

const setMembers = (person: SignedInUser, ...devices: string[]) => person.patch(`/groups/${group}`, { devices })

test('a grant reaches the union of names, prefixes and members', async () => {
  expect(await devicesOf(ann)).toBe('A P-1 P-2')
  expect((await ann.get('/meta/A')).status).toBe(200)
  expect((await ann.get('/meta/PX')).status).toBe(404)
  const { grants } = (await ann.me()) as { grants: { deviceCount: number }[] }
  expect(grants.map(({ deviceCount }) => deviceCount)).toEqual([3])
  expect(((await root.me()) as { grants: { deviceCount: number }[] }).grants[0]?.deviceCount).toBe(6)
})

test('answers follow the members at once, and sockets with one RESYNC', async () => {
  const socket = await EventClient.open(server, { offset: 'now' }, ann)
  expect((await setMembers(root, 'B')).status).toBe(200)
  expect(await devicesOf(ann)).toBe('B P-1 P-2')
  await until(() => socket.controls.some(({ type }) => type === 'RESYNC'), 'RESYNC')
  for (const device of ['A', 'B', 'P-2', 'PX']) await root.patch(`/meta/${device}`, { floor: 1 })
  await until(() => socket.events.length >= 2, 'events')
  expect(socket.events.map((event) => 'deviceIdentifier' in event && event.deviceIdentifier)).toEqual(['B', 'P-2'])
  // The same members: no socket has to read anything again.
  await setMembers(root, 'B')
  await root.patch('/meta/B', { floor: 2 })
  await until(() => socket.events.length >= 3, 'one more')
  expect(socket.controls.map(({ type }) => type)).toEqual(['STREAM', 'RESYNC'])
  socket.socket.terminate()
  expect(socket.faults).toEqual([])
})

test('a group that a role names is not deleted', async () => {
  expect((await root.delete(`/groups/${group}`)).status).toBe(409)
})

describe('users cannot extend rights by changing members', () => {
  test('an edit needs the grants that name the group', async () => {
    const carl = await root.bringIn('carl', ['manager'])
    expect((await setMembers(carl, 'A', 'B')).status).toBe(403)
    expect((await carl.patch(`/groups/${group}`, { name: 'Other' })).status).toBe(403)
  })

  test('an edit needs the grants on each new member', async () => {
    expect((await setMembers(ben, 'B', 'C')).status).toBe(403)
    expect((await setMembers(ben, 'B', 'P-1')).status).toBe(200)
    expect((await setMembers(ben, 'P-1')).status).toBe(200)
    // Now they have lost it.
    expect((await setMembers(ben, 'B', 'P-1')).status).toBe(403)
  })
})

test.each([
  [{ devices: ['P*X'] }, 'grants.0.devices.0'],
  [{ devices: [], groups: ['1111111111'] }, 'grants.0.groups.0'],
  [{ devices: Array.from({ length: 101 }, (_, index) => `P${index}*`) }, 'grants'],
])('a role with %j is refused', async (names, path) => {
  const answer = await root.put('/iam/roles/wrong', { grants: [{ permissions: reads, services: any, ...names }] })
  expect(answer.status).toBe(400)
  expect((answer.json as { details: { path: string }[] }).details.map((detail) => detail.path)).toContain(path)
})
