import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { LinkClient } from '#test/blackbox/link-client'
import { basicHeader, newName, Person, startWithIdentity, told } from '#test/blackbox/people'
import { climate, degrees, sensor } from '#test/blackbox/sensor'
import type { StartedServer } from '#test/blackbox/started-server'
import { until } from '#test/blackbox/until'

/** By what devices and gateways are known. Contract 7, credentials; 3.11. */
describe('credentials of the device link', () => {
  let server: StartedServer
  let admin: Person
  const links: LinkClient[] = []

  beforeAll(async () => {
    server = await startWithIdentity()
    admin = await Person.signIn(server)
  })
  afterEach(() => {
    for (const link of links.splice(0)) link.cut()
  })
  afterAll(() => server?.finish())

  const as = (name: string, password: string) => basicHeader({ name, password })

  function connect(headers: Readonly<Record<string, string>>): LinkClient {
    const link = new LinkClient(server, 'json', undefined, headers)
    links.push(link)
    return link
  }

  const open = (headers: Readonly<Record<string, string>>) => connect(headers).opened()

  async function makeDevice(): Promise<{ readonly device: string; readonly secret: string }> {
    const device = newName('LINKED')
    const answer = await admin.post('/devices', { deviceIdentifier: device })
    expect(answer.status).toBe(201)
    return { device, secret: (answer.json as { secret: string }).secret }
  }

  async function makeKey(more: object = {}): Promise<{ readonly id: string; readonly key: string }> {
    const answer = await admin.post('/iam/provisioning-keys', { name: 'gateway', ...more })
    expect(answer.status).toBe(201)
    return answer.json as { id: string; key: string }
  }

  const post = (headers: Readonly<Record<string, string>>, deviceIdentifier: string) =>
    server.ask('/link', {
      method: 'POST',
      headers,
      body: { deviceIdentifier, services: sensor, updates: [{ serviceIdentifier: climate, ...degrees(20) }] },
    })

  describe('what is wrong is told at the upgrade: 401', () => {
    const encoded = (bytes: Uint8Array | string) => ({
      authorization: `Basic ${Buffer.from(bytes).toString('base64')}`,
    })
    interface Known {
      readonly device: string
      readonly secret: string
      readonly key: string
    }
    const wrong: readonly (readonly [name: string, headers: (known: Known) => Readonly<Record<string, string>>])[] = [
      ['none', () => ({})],
      ['empty', () => ({ authorization: '' })],
      ['a scheme alone', () => ({ authorization: 'Basic' })],
      [
        'another secret',
        ({ device, secret }) => as(device, `${secret.slice(0, -1)}${secret.endsWith('A') ? 'E' : 'A'}`),
      ],
      ['no secret', ({ device }) => as(device, '')],
      ['a secret with more behind it', ({ device, secret }) => as(device, `${secret} `)],
      ['a device that nobody knows', ({ secret }) => as('NOBODY', secret)],
      ['the secret of another', ({ secret }) => as('GIVEN', secret)],
      ['a tenant that is not there', ({ device, secret }) => as(`nowhere/${device}`, secret)],
      ['no tenant before the slash', ({ device, secret }) => as(`/${device}`, secret)],
      ['a tenant too many', ({ device, secret }) => as(`default/default/${device}`, secret)],
      ['a gateway without a key', () => as('*', '')],
      ['a gateway with a secret', ({ secret }) => as('*', secret)],
      ['a device with a key', ({ device, key }) => as(device, key)],
      ['a key of another id', ({ key }) => as('*', `1111111111${key.slice(key.indexOf('.'))}`)],
      ['a key cut short', ({ key }) => as('*', key.slice(0, -1))],
      ['a key in a tenant that is not its own', ({ key }) => as('nowhere/*', key)],
      ['a person', ({ device }) => as('root', device)],
      ['a token', () => admin.headers],
      ['no colon', ({ device }) => encoded(device)],
      ['no Base64', ({ device, secret }) => ({ authorization: `Basic ${device}:${secret}` })],
      ['no UTF-8', () => encoded(Uint8Array.of(0xff, 0x3a, 0xfe))],
      ['a null character', ({ device, secret }) => encoded(`${device}\0:${secret}`)],
    ]

    test.each(wrong)('%s', async (_, headersOf) => {
      const { device, secret } = await makeDevice()
      const { key } = await makeKey()
      await admin.post('/devices', { deviceIdentifier: 'GIVEN' })
      const headers = headersOf({ device, secret, key })
      expect(await connect(headers).refused()).toBe(401)
      expect((await post(headers, device)).status).toBe(401)
      const { json } = await admin.get(`/devices/${device}/services`)
      expect(json).toEqual([])
    })
  })

  test('a device is known by its secret, with its tenant or without, in any case, and speaks for itself alone', async () => {
    const { device, secret } = await makeDevice()
    for (const name of [device, `default/${device}`, device.toLowerCase()]) {
      const link = await open(as(name, secret))
      expect(await link.hello(device, sensor)).not.toHaveProperty('secret')
      link.send({ type: 'HELLO', deviceIdentifier: newName('STRANGER'), services: sensor })
      await link.take({ type: 'ERROR', code: 'NOT_ALLOWED' })
    }
    expect(told(await post(as(device, secret), device))).toEqual([204, undefined])
    expect(told(await post(as(device, secret), newName('STRANGER')))).toEqual([403, undefined])
  })

  test('a gateway registers devices, which are told their secrets once and go on by themselves', async () => {
    const { id, key } = await makeKey()
    const gateway = await open(as('default/*', key))
    const device = newName('LINKED')
    const { secret = '' } = await gateway.hello(device, sensor)
    expect(Buffer.from(secret, 'base64url')).toHaveLength(32)
    expect(await gateway.hello(device, sensor)).not.toHaveProperty('secret')
    expect(await (await open(as(device, secret))).hello(device, sensor)).not.toHaveProperty('secret')
    expect((await admin.get('/iam/provisioning-keys')).json).toContainEqual(expect.objectContaining({ id, devices: 1 }))
  })

  test('a gateway speaks for no device that has a secret of its own and that it did not register', async () => {
    const { device } = await makeDevice()
    const [mine, others] = [await makeKey(), await makeKey()]
    const registered = newName('LINKED')
    await (await open(as('*', others.key))).hello(registered, sensor)
    const gateway = await open(as('*', mine.key))
    for (const deviceIdentifier of [device, registered]) {
      gateway.send({ type: 'HELLO', deviceIdentifier, services: sensor })
      await gateway.take({ type: 'ERROR', code: 'NOT_ALLOWED' })
      expect((await post(as('*', mine.key), deviceIdentifier)).status).toBe(403)
    }
    const posted = newName('LINKED')
    expect((await post(as('*', others.key), posted)).status).toBe(204)
    expect(await gateway.hello(posted, sensor)).not.toHaveProperty('secret')
  })

  test('a key registers so many devices as it may, and one more for each that is removed', async () => {
    const { key } = await makeKey({ maxDevices: 2 })
    const gateway = await open(as('*', key))
    const [first, second, third] = [newName('LINKED'), newName('LINKED'), newName('LINKED')]
    for (const deviceIdentifier of [first, second, third]) {
      gateway.send({ type: 'HELLO', deviceIdentifier, services: sensor })
    }
    await gateway.take({ type: 'WELCOME', deviceIdentifier: second })
    await gateway.take({ type: 'ERROR', code: 'NOT_ALLOWED' })
    expect((await post(as('*', key), third)).status).toBe(403)
    expect((await admin.delete(`/devices/${first}`)).status).toBe(204)
    expect((await gateway.hello(third, sensor)).secret).toBeDefined()
  })

  test.each([
    ['rotated', (device: string) => admin.post(`/devices/${device}/secret`)],
    ['removed with its device', (device: string) => admin.delete(`/devices/${device}`)],
  ])('a secret that is %s is good for nothing, and its links are closed', async (_, end) => {
    const { device, secret } = await makeDevice()
    const [speaking, silent] = [await open(as(device, secret)), await open(as(device, secret))]
    await speaking.hello(device, sensor)
    expect((await end(device)).status).toBeLessThan(300)
    for (const link of [speaking, silent]) expect(await link.closed()).toMatchObject({ code: 4401 })
    expect(await connect(as(device, secret)).refused()).toBe(401)
    expect((await post(as(device, secret), device)).status).toBe(401)
  })

  test('a key that is deleted closes its links, and no others', async () => {
    const [deleted, staying] = [await makeKey(), await makeKey()]
    const gateways = await Promise.all(Array.from({ length: 20 }, () => open(as('*', deleted.key))))
    const other = await open(as('*', staying.key))
    expect((await admin.delete(`/iam/provisioning-keys/${deleted.id}`)).status).toBe(204)
    for (const link of gateways) expect(await link.closed()).toMatchObject({ code: 4401 })
    expect(await connect(as('*', deleted.key)).refused()).toBe(401)
    await other.hello(newName('LINKED'), sensor)
  })

  test('what was registered and not heard of before the process died: the key still speaks for it', async () => {
    const { key } = await makeKey()
    const gateway = await open(as('*', key))
    const device = newName('LINKED')
    await gateway.hello(device, sensor)
    await server.kill()
    await server.startAgain()
    admin = await Person.signIn(server)
    const again = await open(as('*', key))
    expect(await again.hello(device, sensor)).not.toHaveProperty('secret')
  })

  test('two thousand devices that come back at once cost no password hash', async () => {
    const { key } = await makeKey()
    const gateway = await open(as('*', key))
    const devices = Array.from({ length: 2_000 }, () => newName('STORM'))
    const secrets = new Map<string, string>()
    for (let from = 0; from < devices.length; from += 200) {
      for (const deviceIdentifier of devices.slice(from, from + 200)) {
        gateway.send({ type: 'HELLO', deviceIdentifier, services: sensor })
      }
      for (const deviceIdentifier of devices.slice(from, from + 200)) {
        const { secret } = await gateway.take({ type: 'WELCOME', deviceIdentifier })
        secrets.set(deviceIdentifier, String(secret))
      }
    }
    const began = performance.now()
    const storm = [...secrets].map(([device, secret]) => connect(as(device, secret)))
    await until(
      () => storm.every(({ isOpen, refusal }) => isOpen || refusal !== undefined),
      () => `${storm.filter(({ isOpen }) => isOpen).length} of ${storm.length} to be open`,
      25_000,
    )
    expect(storm.filter(({ isOpen }) => !isOpen)).toEqual([])
    // With one at 20 ms each, one after the other, it would be forty seconds.
    expect(performance.now() - began).toBeLessThan(20_000)
  })
})
