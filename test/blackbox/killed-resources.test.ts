import { afterAll, beforeAll, expect, test } from 'vitest'
import { makeAlarm, makeDevice, untilRows } from '#test/blackbox/alarm-calls'
import { EventClient, streamHead } from '#test/blackbox/event-client'
import { makeFunction, type NamedResource, pathOf, putTemplate, subscribe } from '#test/blackbox/notification-calls'
import { basicHeader, type Credentials, grant, Person, report, signUp, startWithIdentity } from '#test/blackbox/people'
import { climate } from '#test/blackbox/sensor'
import type { StartedServer } from '#test/blackbox/started-server'

/** After SIGKILL, every kind of resource is as it was before. */

let server: StartedServer
let admin: Person
let oven: Credentials
beforeAll(async () => {
  server = await startWithIdentity()
  admin = await Person.signIn(server)
})
afterAll(() => server?.finish())

async function restart(downMs = 0): Promise<void> {
  await server.kill()
  await new Promise((resolve) => setTimeout(resolve, downMs))
  await server.startAgain()
}

test('created, changed and deleted resources', async () => {
  const asker = { get: (path: string) => admin.get(path) } as StartedServer
  const since = await streamHead(asker)
  oven = await makeDevice(admin, 'OVEN')
  await report(server, oven, 40)
  await report(server, await makeDevice(admin, 'GONE'), 1)
  await admin.patch('/meta/OVEN', { room: 'A' })
  await admin.put(`/schemas/${climate}`, { name: 'Climate', properties: { '0x2000': { name: 'warmth' } } })
  const group = (await admin.post('/groups', { name: 'Hall', devices: ['OVEN'] })).json as NamedResource
  const [kept, gone] = [await makeFunction(admin, { binding: {} }), await makeFunction(admin)]
  await putTemplate(admin)
  await subscribe(admin, kept, { locale: 'de' })
  await subscribe(admin, gone)
  await admin.putRole('fitter', grant({ updates: ['*'] }, ['OVEN']))
  await admin.bring('ann', ['fitter'])
  const { code } = (await admin.post('/iam/users', { name: 'bob', roles: ['viewer'] })).json as { code: string }
  await admin.post('/iam/api-keys', { name: 'Reporting', roles: ['viewer'] })
  const { key } = (await admin.post('/iam/provisioning-keys', { name: 'Hall', maxDevices: 1 })).json as { key: string }
  await makeAlarm(admin, { groups: [group.resourceIdentifier] })
  await untilRows(admin, 'OVEN')
  for (const path of ['/devices/GONE', pathOf(gone)]) expect((await admin.delete(path)).status).toBe(204)
  const lists = [
    ...[
      '/devices?depth=2',
      '/services?depth=2',
      '/meta/OVEN',
      '/schemas?depth=1',
      '/groups',
      '/alarms',
      '/alarms/status',
    ],
    ...[
      '/functions',
      '/templates',
      '/notifications/subscribe',
      '/iam/roles',
      '/iam/users',
      '/iam/api-keys',
      '/iam/provisioning-keys',
    ],
  ]
  const shown = async () => {
    const answers = await Promise.all(lists.map((path) => admin.get(path)))
    return answers.map(({ status, json }, index) => [lists[index], status, json])
  }
  const before = await shown()
  expect(JSON.stringify(before)).not.toContain('GONE')
  await restart()
  // The number of connections starts again with the process.
  const after = JSON.parse(JSON.stringify(await shown()).replaceAll('"numConnects":0', '"numConnects":1'))
  expect(after).toEqual(before)
  expect((await server.get('/iam/token', basicHeader({ name: 'ann', password: 'password of ann' }))).status).toBe(200)
  await signUp(server, { name: 'bob', password: 'password of bob' }, code)
  await report(server, oven, 20)
  await untilRows(admin, '(OVEN)')
  const body = { deviceIdentifier: 'HALL-1', services: [], updates: [] }
  const linked = await server.ask('/link', { method: 'POST', body, headers: basicHeader({ name: '*', password: key }) })
  expect(linked.status).toBe(204)
  // The address of a deleted device is not used again.
  await report(server, await makeDevice(admin, 'NEW'), 1)
  const events = await EventClient.open(server, { ...since, types: 'OBJECT_UPDATED' }, admin)
  await events.caughtUp(asker)
  const addresses = events.of('OBJECT_UPDATED').map((event) => `${event.deviceIdentifier} ${event.flakeAddress}`)
  expect(new Set(addresses.map((each) => each.split(' ')[1])).size).toBe(3)
  expect(new Set(addresses).size).toBe(3)
  events.cut()
})

test('an alarm whose delay ended while the server was down is active since then', async () => {
  await makeAlarm(admin, { forSeconds: 1, devices: ['OVEN'], name: 'Due' })
  const before = Date.now()
  await report(server, oven, 41)
  const after = Date.now()
  await restart(1_500)
  const rows = await untilRows(admin, 'OVEN', 'OVEN')
  const since = Math.max(...rows.map((row) => row.since))
  expect([since >= before + 1_000, since <= after + 1_000]).toEqual([true, true])
})
