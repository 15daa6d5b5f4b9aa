import { beforeEach, expect, test } from 'vitest'
import { hashOf, newSecret, provisioningKeyText, tokenHash } from '#access/secret-text'
import { deviceAddress } from '#actors/device/device'
import { IdentityFixture } from '#test/access/identity-fixture'
import { MqttFixture } from '#test/mqtt/mqtt-fixture'

let identity: IdentityFixture
let fixture: MqttFixture
let secret: string
let keyText: string
const keyId = '2Vb7qYx9Kd'

beforeEach(async () => {
  identity = await IdentityFixture.open()
  fixture = MqttFixture.of(identity)
  const random = (byteCount: number) => identity.world.random(byteCount)
  secret = newSecret(random)
  keyText = provisioningKeyText(keyId, newSecret(random))
  for (const tenant of ['default', 'acme']) {
    if (tenant !== 'default') await identity.addTenant(tenant)
    await identity.tenant(tenant, { type: 'admit_device', device: 'PUMP-1', meta: {}, secretHash: hashOf(secret) })
  }
  await identity.tenant('acme', {
    type: 'add_provisioning_key',
    id: keyId,
    name: 'a gateway',
    hash: hashOf(keyText),
    expiresAt: null,
    maxDevices: null,
  })
})

const services = [{ serviceIdentifier: 'svc', properties: [{ propId: 1, type: 'UINT8' }] }]
const hello = (deviceIdentifier: string) => JSON.stringify({ type: 'HELLO', deviceIdentifier, services })

async function connect(username: string | undefined, password?: string, clientId = 'c') {
  const client = fixture.client()
  const credentials = { ...(username !== undefined && { username }), ...(password !== undefined && { password }) }
  const { reasonCode } = await client.connectByToken({ clientId, ...credentials })
  return { client, reasonCode }
}

test.each<[string, string, () => string, string, number]>([
  ['a device speaks for itself', 'PUMP-1', () => secret, 'PUMP-1', 0],
  ['a device of another tenant speaks for itself', 'acme/pump-1', () => secret, 'PUMP-1', 0],
  ['a device does not speak for another', 'PUMP-1', () => secret, 'PUMP-2', 0x87],
  ['a gateway speaks for many devices', 'acme/*', () => keyText, 'PUMP-2', 0],
  ['a gateway does not speak for a device with a secret', 'acme/*', () => keyText, 'PUMP-1', 0x87],
])('%s', async (_, username, password, device, reason) => {
  const { client, reasonCode } = await connect(username, password())
  expect(reasonCode).toBe(0)
  client.publish('v1/link', hello(device), { qos: 1, messageId: 1 })
  await client.settle()
  expect(client.take('puback').reasonCode).toBe(reason)
})

test('a provisioning key as the user name, without a password, signs in a gateway', async () => {
  const { client, reasonCode } = await connect(keyText)
  expect(reasonCode).toBe(0)
  client.publish('v1/link', hello('PUMP-3'), { qos: 1, messageId: 1 })
  await client.settle()
  expect(client.take('puback').reasonCode).toBe(0)
})

test('a device token as the user name, without a password, signs in its device until the device has another one', async () => {
  const token = 'TOKEN-OF-A-PUMP-1'
  const setToken = (text: string, before?: string) =>
    identity.wait(
      identity.assembly.context.system.ask(deviceAddress('acme', 'PUMP-1'), {
        type: 'set_token',
        hash: tokenHash(text),
        ...(before && { before: tokenHash(before) }),
      }),
    )
  await setToken(token)
  const { client, reasonCode } = await connect(token)
  expect(reasonCode).toBe(0)
  client.publish('v1/link', hello('PUMP-1'), { qos: 1, messageId: 1 })
  await client.settle()
  expect(client.take('puback').reasonCode).toBe(0)
  expect((await connect('PUMP-1', token)).reasonCode).toBe(0x86)
  await setToken('ANOTHER-TOKEN-OF-IT', token)
  expect((await connect(token)).reasonCode).toBe(0x86)
  await identity.wait(
    identity.assembly.context.system.ask(deviceAddress('acme', 'PUMP-1'), {
      type: 'remove',
      token: tokenHash('ANOTHER-TOKEN-OF-IT'),
    }),
  )
  expect((await connect('ANOTHER-TOKEN-OF-IT')).reasonCode).toBe(0x86)
})

test.each<[string, string | undefined, string | undefined]>([
  ['no name', undefined, undefined],
  ['no password', 'PUMP-1', undefined],
  ['a wrong password', 'PUMP-1', 'x'],
  ['an unknown device', 'PUMP-9', 'x'],
  ['an unknown tenant', 'other/PUMP-1', 'x'],
  ['a person', 'root', 'correct horse'],
  ['a text that is not a token', 'token', 'x'],
  ['a text that is not an API key', 'key', 'x'],
  ['no API key', 'key', undefined],
])('wrong credentials are refused: %s', async (_, username, password) => {
  const { client, reasonCode } = await connect(username, password)
  expect([reasonCode, client.isClosed]).toEqual([0x86, true])
})

test.each([
  ['a program by token', 'token', true],
  ['a program by key', 'key', true],
  ['a device', 'PUMP-1', false],
])('wrong credentials are in the audit if they are those of a program: %s', async (_, username, isAudited) => {
  await connect(username, 'wrong')
  const newest = await fixture.newestAudit()
  if (!isAudited) expect(newest).toBeUndefined()
  else expect(newest).toMatchObject({ name: 'anonymous', method: 'CONNECT', path: '/mqtt', status: 401 })
})

test('an access token signs a program in, until its session ends', async () => {
  const { token } = await identity.basic('root')
  const { client, reasonCode } = await connect('token', token)
  expect(reasonCode).toBe(0)
  client.publish('v1/link', hello('PUMP-1'), { qos: 1, messageId: 1 })
  expect(client.take('puback').reasonCode).toBe(0x87)
  const { session } = await identity.bearer(token)
  identity.identity.sockets.endSession(session as never, { code: 4401, reason: 'session over' })
  await client.settle()
  expect([client.isClosed, client.take('disconnect').reasonCode]).toEqual([true, 0x87])
})

test('a device is disconnected when its secret is replaced', async () => {
  const { client } = await connect('PUMP-1', secret)
  identity.assembly.context.devices.links.credentialsChanged('default', 'PUMP-1')
  await client.settle()
  expect([client.isClosed, client.take('disconnect').reasonCode]).toEqual([true, 0x87])
})

test('the same client identifier of another device is another client', async () => {
  const first = await connect('PUMP-1', secret, 'same')
  const other = await connect('acme/PUMP-1', secret, 'same')
  expect([first.client.isClosed, other.client.isClosed]).toEqual([false, false])
})

test('wrong passwords count as failed sign-ins: after ten, wrong ones are rate limited and the right one is not', async () => {
  for (let attempt = 0; attempt < 10; attempt++) await connect('PUMP-1', `wrong ${attempt}`)
  expect((await connect('PUMP-1', 'wrong')).reasonCode).toBe(0x9f)
  expect((await connect('PUMP-1', secret)).reasonCode).toBe(0)
})

test('an address that guessed sixty tokens can sign in with no token for a minute', async () => {
  for (let attempt = 0; attempt < 60; attempt++) expect((await connect(`guess ${attempt}`)).reasonCode).toBe(0x86)
  expect((await connect('guess')).reasonCode).toBe(0x9f)
  expect((await connect(keyText)).reasonCode).toBe(0x9f)
  await identity.world.advance(60_000)
  expect((await connect(keyText)).reasonCode).toBe(0)
})
