import { beforeEach, expect, test } from 'vitest'
import { hashOf, newSecret, provisioningKeyText } from '#access/secret-text'
import { IdentityFixture } from '#test/access/identity-fixture'
import { TestLink } from '#test/link/link-fixture'

let fixture: IdentityFixture
let secret: string
let keyText: string
const id = '2Vb7qYx9Kd'

beforeEach(async () => {
  fixture = await IdentityFixture.open()
  const random = (byteCount: number) => fixture.world.random(byteCount)
  secret = newSecret(random)
  keyText = provisioningKeyText(id, newSecret(random))
  for (const tenant of ['default', 'acme']) {
    if (tenant !== 'default') await fixture.addTenant(tenant)
    const device = 'SENSOR-1'
    await fixture.tenant(tenant, { type: 'admit_device', device, meta: {}, secretHash: hashOf(secret) })
    await fixture.tenant(tenant, { type: 'admit_device', device: 'BARE-1', meta: {} })
    await fixture.tenant(tenant, {
      type: 'add_provisioning_key',
      id,
      name: 'a gateway',
      hash: hashOf(keyText),
      expiresAt: fixture.world.now() + 60_000,
      maxDevices: null,
    })
  }
  fixture.engine.calls.length = 0
})

const basic = (text: string) => `Basic ${Buffer.from(text).toString('base64')}`
const wrong = 'unauthorized invalid credentials'

test('a device signs in with its own secret, and a gateway with its key; the name of tenant default is optional', () => {
  const { linkCaller } = fixture.identity
  expect(linkCaller(basic(`SENSOR-1:${secret}`))).toEqual({ tenant: 'default', device: 'SENSOR-1' })
  expect(linkCaller(basic(`default/sensor-1:${secret}`))).toEqual({ tenant: 'default', device: 'SENSOR-1' })
  expect(linkCaller(basic(`acme/SENSOR-1:${secret}`))).toEqual({ tenant: 'acme', device: 'SENSOR-1' })
  expect(linkCaller(basic(`*:${keyText}`))).toEqual({ tenant: 'default', key: id })
  expect(linkCaller(basic(`acme/*:${keyText}`))).toEqual({ tenant: 'acme', key: id })
  expect(fixture.engine.calls).toEqual([])
})

test.each<[string, () => string, string?]>([
  ['nothing', () => '', 'unauthorized authentication required'],
  ['a bearer', () => 'Bearer abc'],
  ['a text that is not Base64', () => 'Basic ***'],
  ['bytes that are not UTF-8', () => `Basic ${Buffer.from([0xff, 0x3a, 0xff]).toString('base64')}`],
  ['two headers', () => `${basic(`SENSOR-1:${secret}`)}, ${basic(`SENSOR-1:${secret}`)}`],
  ['a wrong secret', () => basic(`SENSOR-1:${secret}x`)],
  ['no secret', () => basic('SENSOR-1:')],
  ['a device without a secret', () => basic('BARE-1:')],
  ['an unknown device', () => basic(`OTHER-1:${secret}`)],
  ['an impossible device', () => basic(`a b:${secret}`)],
  ['another tenant', () => basic(`other/SENSOR-1:${secret}`)],
  ['an impossible tenant', () => basic(`../SENSOR-1:${secret}`)],
  ['a device with the key of a gateway', () => basic(`SENSOR-1:${keyText}`)],
  ['a gateway with the secret of a device', () => basic(`*:${secret}`)],
  ['a wrong key', () => basic(`*:${keyText.slice(0, -1)}`)],
  ['a user', () => basic('root:correct horse')],
])('a device connection is refused: %s', async (_, header, refusal = wrong) => {
  expect(await fixture.judge(() => fixture.identity.linkCaller(header()))).toBe(refusal)
  expect(await fixture.judge(() => fixture.caller({ headers: { authorization: header() } }, 'link'))).toBe(refusal)
  expect(fixture.engine.calls).toEqual([])
})

test('a key is valid until it expires or is deleted, and the secret of a device until its tenant is deleted', async () => {
  const ask = (tenant: string) => fixture.judge(() => fixture.identity.linkCaller(basic(`${tenant}/*:${keyText}`)))
  await fixture.tenant('default', { type: 'delete_key', kind: 'provisioning_key', id })
  expect([await ask('default'), await ask('acme')]).toEqual([wrong, undefined])
  await fixture.world.advance(60_000)
  expect(await ask('acme')).toBe(wrong)
  expect(await fixture.judge(() => fixture.identity.linkCaller(basic(`acme/SENSOR-1:${secret}`)))).toBeUndefined()
  await fixture.directory({ type: 'delete_tenant', tenant: 'acme' })
  expect(await fixture.judge(() => fixture.identity.linkCaller(basic(`acme/SENSOR-1:${secret}`)))).toBe(wrong)
})

test('two thousand devices reconnect with their own secrets without a password hash', async () => {
  const { context } = fixture.assembly
  const names = Array.from({ length: 2_000 }, (_, index) => `STORM-${index}`)
  const secretOf = (name: string) => `${name}${secret.slice(name.length)}`
  const made = names.map((device) => {
    const add = { type: 'admit_device', device, meta: {}, secretHash: hashOf(secretOf(device)) }
    return context.system.ask({ kind: 'tenant', tenant: 'default', id: 'default' }, add)
  })
  await fixture.wait(Promise.all(made))
  const connectDevice = (name: string, shown: string) => {
    const authorization = basic(`${name}:${shown}`)
    void fixture.caller({ headers: { authorization }, path: '/api/v1/link' }, 'link').catch(() => {})
    return new TestLink(context.devices.links, { ...fixture.identity.linkCaller(authorization), protocol: 'json' })
  }
  const awake = context.system.registry.awakeCount
  const links = names.map((name) => connectDevice(name, secretOf(name)))
  for (const name of names.slice(0, 100)) expect(await fixture.judge(() => connectDevice(name, secret))).toBe(wrong)
  expect(context.devices.links.linkCount).toBe(2_000)
  expect(context.system.registry.awakeCount).toBe(awake)
  for (const [index, name] of names.entries()) links[index]?.hello(name)
  await fixture.world.settle()
  expect(links.filter(({ lines }) => lines[0]?.startsWith('WELCOME'))).toHaveLength(2_000)
  expect(fixture.engine.calls).toEqual([])
})
