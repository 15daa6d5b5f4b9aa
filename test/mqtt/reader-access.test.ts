import { beforeEach, expect, test } from 'vitest'
import { hashOf, newSecret, provisioningKeyText } from '#access/secret-text'
import { IdentityFixture } from '#test/access/identity-fixture'
import { MqttFixture, type TestClient } from '#test/mqtt/mqtt-fixture'

/** Readers receive and write what their roles permit now, as on an event socket. */

let identity: IdentityFixture
let fixture: MqttFixture

const permissions = { service: ['read', 'update'], meta: ['read'] }
const putRole = (devices: readonly string[]) =>
  identity.putRole('ops', [{ permissions, devices, services: ['*'] }] as never)

beforeEach(async () => {
  identity = await IdentityFixture.open()
  fixture = MqttFixture.of(identity)
  await putRole(['PUMP-1'])
  await identity.addUser('ann', { roles: ['ops'] })
  for (const device of ['PUMP-1', 'PUMP-2']) {
    await identity.tenant('default', { type: 'admit_device', device, meta: {} })
  }
})

async function signIn(name = 'ann', clientId = 'c'): Promise<TestClient> {
  const { token } = await identity.basic(name)
  const client = fixture.client()
  await client.connectByToken({ clientId, keepalive: 0, username: 'token', password: token })
  return client
}

/** A gateway that reports a value of a device in the form of ThingsBoard. */
async function gateway(): Promise<(value: number) => Promise<void>> {
  const key = provisioningKeyText(
    '2Vb7qYx9Kd',
    newSecret((byteCount) => identity.world.random(byteCount)),
  )
  const limits = { expiresAt: null, maxDevices: null }
  await identity.tenant('default', {
    ...{ type: 'add_provisioning_key', id: '2Vb7qYx9Kd', name: 'a gateway', hash: hashOf(key), ...limits },
  })
  const client = fixture.client()
  await client.connect({ clientId: 'gateway', username: key })
  return async (value) => {
    client.publish('v1/gateway/telemetry', JSON.stringify({ 'PUMP-9': [{ temperature: value }] }))
    await fixture.settle()
    // A new name is stored within a second.
    await identity.world.advance(2_000)
    await fixture.settle()
  }
}

async function subscribed(...topics: readonly string[]): Promise<TestClient> {
  const client = await signIn()
  for (const topic of topics) await client.subscribe(topic)
  return client
}

const topicsOf = (client: TestClient) =>
  client.received.filter(({ cmd }) => cmd === 'publish').map(({ topic }) => String(topic))

async function setStatus(device: string): Promise<void> {
  const { system } = identity.assembly.context
  const status = { type: 'status', status: 'online' } as const
  await identity.wait(system.ask({ kind: 'device', tenant: 'default', id: device }, status))
  await fixture.settle()
}

test('only events and values within the roles are sent', async () => {
  const client = await subscribed('v1/events/#', 'v1/meta/#')
  for (const device of ['PUMP-1', 'PUMP-2']) await setStatus(device)
  expect(new Set(topicsOf(client))).toEqual(new Set(['v1/meta/PUMP-1', 'v1/events/PUMP-1/~']))
})

test('after a change of a role the client reads everything again, under the new rights', async () => {
  const client = await subscribed('v1/events/#', 'v1/meta/#')
  client.received.length = 0
  await putRole(['PUMP-2'])
  await fixture.settle()
  expect(new Set(topicsOf(client))).toEqual(new Set(['v1/events/$resync', 'v1/meta/PUMP-2']))
  client.received.length = 0
  for (const device of ['PUMP-1', 'PUMP-2']) await setStatus(device)
  expect(new Set(topicsOf(client))).toEqual(new Set(['v1/meta/PUMP-2', 'v1/events/PUMP-2/~']))
})

test('clients with the same filter get the names that each of them may read', async () => {
  const grant = (more: object) => [{ permissions: { ...permissions, ...more }, devices: ['PUMP-9'], services: ['*'] }]
  await identity.putRole('ops', grant({}) as never)
  await identity.putRole('named', grant({ schemas: ['read'] }) as never)
  await identity.addUser('bob', { roles: ['named'] })
  const report = await gateway()
  await report(1)
  const clients = [await signIn('ann', 'a'), await signIn('bob', 'b'), await signIn('ann', 'c')]
  for (const client of clients) await client.subscribe('v1/state/#', { rh: 2 })
  await report(2)
  const state = (name: string) => [`v1/state/PUMP-9/telemetry/${name}`]
  expect(clients.map(topicsOf)).toEqual([state('0x2000'), state('temperature'), state('0x2000')])
})

test('without any right to read events, the client is disconnected', async () => {
  const client = await subscribed('v1/events/#')
  await identity.putRole('ops', [])
  await fixture.settle()
  expect([client.isClosed, client.take('disconnect').reasonCode]).toEqual([true, 0x87])
})

test.each([
  ['PUMP-1', 0x90],
  ['PUMP-2', 0x87],
])('v1/set to %s is answered by %s', async (device, reason) => {
  const client = await signIn()
  client.publish(`v1/set/${device}/svc/1`, '1', { qos: 1, messageId: 1 })
  await fixture.settle()
  expect(client.take('puback').reasonCode).toBe(reason)
  expect(await fixture.newestAudit()).toMatchObject({
    ...{ name: 'ann', address: '192.0.2.7', method: 'PUBLISH', path: `v1/set/${device}/svc/1` },
    ...{ resourceIdentifier: `crn#device:default/${device}`, status: reason === 0x87 ? 403 : 404 },
  })
})

test.each<[string, readonly ('read' | 'update')[], number, number]>([
  ['neither', [], 0x87, 0x87],
  ['read', ['read'], 0, 0x87],
  ['update', ['update'], 0x87, 0],
])('free topics with the right to %s on service', async (_, service, subscribed, published) => {
  await identity.putRole('ops', [{ permissions: { service }, devices: ['PUMP-1'], services: ['*'] }] as never)
  const client = await signIn()
  const granted = await client.subscribe('a/#')
  client.publish('a/b', 'x', { qos: 1, messageId: 2 })
  expect([granted, client.take('puback').reasonCode]).toEqual([subscribed, published])
})

test('free topics of one tenant are not those of another, and end with the right to read', async () => {
  await identity.addTenant('acme')
  await identity.addUser('eve', { tenant: 'acme', roles: ['admin'] })
  const [client, other] = [await signIn(), await signIn('eve', 'd')]
  for (const each of [client, other]) await each.subscribe('#')
  client.publish('a', '1')
  await fixture.settle()
  await identity.putRole('ops', [{ permissions: { service: ['update'] }, devices: ['*'], services: ['*'] }] as never)
  client.publish('a', '2')
  await fixture.settle()
  expect([topicsOf(client), topicsOf(other)]).toEqual([['a'], []])
})
