import { createHash } from 'node:crypto'
import { beforeEach, describe, expect, test } from 'vitest'
import { deviceAddress } from '#actors/device/device'
import { tenantAddress } from '#actors/tenant/commands'
import { LinkFixture, type TestLink } from '#test/link/link-fixture'

let setup: LinkFixture

beforeEach(async () => {
  setup = await LinkFixture.open()
})

const sessionOver = 4401
const gate = 'KEYgateway'
const other = 'KEYanother'

async function hello(link: TestLink, ...devices: string[]): Promise<void> {
  for (const device of devices) link.hello(device)
  await setup.settle()
}

/** The secret in the last WELCOME. */
function secretOf(link: TestLink): string | undefined {
  return link.received.findLast(({ type }) => type === 'WELCOME')?.secret as string | undefined
}

const hashed = (secret: string | undefined) => createHash('sha256').update(String(secret)).digest('hex')

describe('HELLO for a device', () => {
  /** The state of a device before HELLO. */
  const devices = {
    'is unknown': async () => {},
    'has a secret': () => setup.addDevice('A'),
    'has no secret': () => setup.addDevice('A', {}),
    'this key registered': () => setup.addDevice('A', { key: gate, secretHash: new Uint8Array(32) }),
    'this key registered by POST': () => setup.addDevice('A', { key: gate }),
    'another key registered': () => setup.addDevice('A', { key: other, secretHash: new Uint8Array(32) }),
    'another key registered by POST': () => setup.addDevice('A', { key: other }),
    'this key registered, newer secret': async () => {
      await setup.addDevice('A', { key: gate, secretHash: new Uint8Array(32) })
      setup.runtime.ask(deviceAddress('default', 'A'), { type: 'set_secret', hash: new Uint8Array(32).fill(1) })
      await setup.settle()
    },
    'was removed': async () => {
      await setup.addDevice('A')
      setup.runtime.ask(deviceAddress('default', 'A'), { type: 'remove' })
      await setup.settle()
    },
  }
  const credentials = {
    none: {},
    'own secret': { device: 'A' },
    'another secret': { device: 'B' },
    'a key': { key: gate },
  }
  const yes = 'WELCOME'
  const made = 'WELCOME with a secret'
  const no = 'NOT_ALLOWED'
  const expected: Record<keyof typeof devices, Record<keyof typeof credentials, string>> = {
    // A connection with the secret of A finds A unknown only if A was just removed.
    'is unknown': { none: yes, 'own secret': no, 'another secret': no, 'a key': made },
    'has a secret': { none: yes, 'own secret': yes, 'another secret': no, 'a key': no },
    'has no secret': { none: yes, 'own secret': yes, 'another secret': no, 'a key': yes },
    'this key registered': { none: yes, 'own secret': yes, 'another secret': no, 'a key': yes },
    'this key registered by POST': { none: yes, 'own secret': yes, 'another secret': no, 'a key': yes },
    'another key registered': { none: yes, 'own secret': yes, 'another secret': no, 'a key': no },
    'another key registered by POST': { none: yes, 'own secret': yes, 'another secret': no, 'a key': yes },
    'this key registered, newer secret': { none: yes, 'own secret': yes, 'another secret': no, 'a key': yes },
    'was removed': { none: yes, 'own secret': no, 'another secret': no, 'a key': made },
  }
  const rows = Object.entries(expected).flatMap(([device, by]) =>
    Object.entries(by).map(([credential, outcome]) => [device, credential, outcome] as const),
  )

  test.each(rows)('that %s, with %s: %s', async (device, credential, outcome) => {
    await setup.addKey(gate)
    await setup.addKey(other)
    await devices[device as keyof typeof devices]()
    const before = setup.credentialsOf('A')
    const link = setup.connect(credentials[credential as keyof typeof credentials])
    await hello(link, 'A')
    const [frame, ...more] = link.received
    expect(more).toEqual([])
    expect(link.closedWith).toBeUndefined()
    if (outcome === no) {
      expect(frame).toMatchObject({ type: 'ERROR', code: 'NOT_ALLOWED' })
      expect(frame).not.toHaveProperty('flakeAddress')
      expect(setup.links.deviceCount).toBe(0)
    } else {
      expect(frame).toMatchObject({ type: 'WELCOME', deviceIdentifier: 'A' })
      expect(setup.links.deviceCount).toBe(1)
    }
    expect(setup.credentialsOf('A')).toEqual(
      outcome === made ? { secret: hashed(secretOf(link)), registrar: gate } : before,
    )
    if (outcome !== made) expect(secretOf(link)).toBeUndefined()
  })

  test('that is refused leaves no actor awake', async () => {
    await setup.addKey(gate, { maxDevices: 0 })
    const awake = setup.runtime.system.registry.awakeCount
    await hello(setup.connect({ device: 'A' }), 'A', 'B')
    await hello(setup.connect({ key: gate }), 'C')
    expect(setup.runtime.system.registry.awakeCount).toBe(awake)
  })
})

describe('a device that a provisioning key registers', () => {
  test('receives its own secret of 256 bits once', async () => {
    await setup.addKey(gate)
    const link = setup.connect({ key: gate })
    await hello(link, 'A', 'B')
    const secrets = link.received.map(({ secret }) => String(secret))
    expect(new Set(secrets).size).toBe(2)
    for (const secret of secrets) expect(Buffer.from(secret, 'base64url')).toHaveLength(32)
    expect(setup.credentialsOf('A').secret).toBe(hashed(secrets[0]))
    await hello(link, 'A')
    expect(secretOf(link)).toBeUndefined()
    await hello(setup.connect({ key: gate }), 'A')
    expect(setup.credentialsOf('A').secret).toBe(hashed(secrets[0]))
  })

  test('counts against the limit of the key, and the connection stays open', async () => {
    await setup.addKey(gate, { maxDevices: 3 })
    const link = setup.connect({ key: gate })
    const second = setup.connect({ key: gate })
    for (let index = 0; index < 5; index++) {
      link.hello(`A${index}`)
      second.hello(`B${index}`)
    }
    await setup.settle()
    const outcomes = [...link.lines, ...second.lines].map((line) => line.split(' ', 2).join(' '))
    expect(outcomes.filter((line) => line.startsWith('WELCOME'))).toHaveLength(3)
    expect(outcomes.filter((line) => line === 'ERROR NOT_ALLOWED')).toHaveLength(7)
    expect([link.closedWith, second.closedWith]).toEqual([undefined, undefined])
    expect(setup.notAdmitted).toEqual(Array(7).fill('forbidden'))
  })

  test('is refused above the limit, and ten refusals in a row close the connection', async () => {
    await setup.addKey(gate, { maxDevices: 0 })
    const link = setup.connect({ key: gate })
    await hello(link, ...Array.from({ length: 10 }, (_, index) => `A${index}`))
    expect(link.closedWith).toBe(4400)
  })

  test('no longer counts when it is removed', async () => {
    await setup.addKey(gate, { maxDevices: 1 })
    const link = setup.connect({ key: gate })
    await hello(link, 'A', 'B')
    expect(link.lines[1]).toBe('ERROR NOT_ALLOWED')
    setup.runtime.ask(deviceAddress('default', 'A'), { type: 'remove', registrar: gate })
    await hello(link, 'B')
    expect(link.lines[2]).toMatch(/^WELCOME/)
  })

  test('is refused after the key is deleted, but earlier devices are not', async () => {
    await setup.addKey(gate)
    const link = setup.connect({ key: gate })
    await hello(link, 'A')
    setup.runtime.ask(tenantAddress('default'), { type: 'delete_key', kind: 'provisioning_key', id: gate })
    await hello(link, 'A', 'B')
    expect(link.lines.slice(1)).toEqual(['WELCOME @1 0', 'ERROR NOT_ALLOWED'])
  })

  test('keeps its secret if the connection closed before WELCOME', async () => {
    await setup.addKey(gate)
    const link = setup.connect({ key: gate })
    link.hello('A')
    link.close()
    await setup.settle()
    expect(link.received).toEqual([])
    const { secret } = setup.credentialsOf('A')
    expect(secret).toBeDefined()
    const again = setup.connect({ key: gate })
    await hello(again, 'A')
    expect(again.lines).toEqual(['WELCOME @1 0'])
    expect(secretOf(again)).toBeUndefined()
    expect(setup.credentialsOf('A').secret).toBe(secret)
  })
})

describe('a device with its own secret', () => {
  beforeEach(() => setup.addDevice('A'))

  test('loses its connections when it is removed, with or without HELLO', async () => {
    const links = [1, 2, 3].map(() => setup.connect({ device: 'A' }))
    const stranger = setup.connect({ device: 'B' })
    const [first] = links as [TestLink, TestLink, TestLink]
    await hello(first, 'A')
    setup.links.removed('default', 'A', 1)
    await setup.settle()
    expect(links.map(({ closedWith }) => closedWith)).toEqual([sessionOver, sessionOver, sessionOver])
    expect(first.lines.slice(1)).toEqual(['ERROR UNKNOWN_DEVICE @1'])
    expect(stranger.closedWith).toBeUndefined()
  })

  test('is not created again by a HELLO during its removal', async () => {
    const link = setup.connect({ device: 'A' })
    setup.runtime.ask(deviceAddress('default', 'A'), { type: 'remove' })
    await hello(link, 'A')
    expect(link.lines).toEqual(['ERROR NOT_ALLOWED'])
    expect(setup.device('A').exists).toBe(false)
  })

  test('loses the connections of its old secret, with or without HELLO', async () => {
    const links = [1, 2].map(() => setup.connect({ device: 'A' }))
    const elsewhere = setup.connect({ device: 'A', tenant: 'other' })
    await hello(links[0] as TestLink, 'A')
    setup.links.credentialsChanged('default', 'A')
    await setup.settle()
    expect(links.map(({ closedWith }) => closedWith)).toEqual([sessionOver, sessionOver])
    expect(elsewhere.closedWith).toBeUndefined()
    const again = setup.connect({ device: 'A' })
    await hello(again, 'A')
    expect(again.lines).toEqual(['WELCOME @1 0'])
  })
})

describe('a gateway', () => {
  beforeEach(async () => {
    await setup.addKey(gate)
    await setup.addDevice('A', {})
  })

  test('loses a device that gets its first secret, and stays connected', async () => {
    const link = setup.connect({ key: gate })
    await hello(link, 'A', 'B')
    setup.runtime.ask(deviceAddress('default', 'A'), { type: 'set_secret', hash: new Uint8Array(32) })
    await setup.settle()
    setup.links.credentialsChanged('default', 'A')
    link.update(1, 1)
    link.update(2, 1)
    await hello(link, 'A')
    await setup.world.advance(1_000)
    expect(link.lines.slice(2)).toEqual(['ERROR NOT_ALLOWED @1', 'A @2 1', 'ERROR NOT_ALLOWED'])
    expect(link.closedWith).toBeUndefined()
    expect(setup.device('A')).toMatchObject({ seq: 0, status: 'offline' })
    expect(setup.device('B').status).toBe('online')
  })

  test('keeps a device that it registered when the secret is rotated', async () => {
    const link = setup.connect({ key: gate })
    await hello(link, 'A', 'B')
    setup.links.credentialsChanged('default', 'B')
    link.update(2, 1)
    await setup.settle()
    expect(link.lines.slice(2)).toEqual(['A @2 1'])
  })

  test('without other devices is disconnected', async () => {
    const link = setup.connect({ key: gate })
    await hello(link, 'B')
    setup.links.credentialsChanged('default', 'B')
    await setup.settle()
    expect(link.closedWith).toBe(sessionOver)
  })
})

describe('ended credentials close connections', () => {
  test('of a provisioning key: frames are refused at once, closing takes several slices, and other connections stay', async () => {
    await setup.addKey(gate)
    const mine = Array.from({ length: 350 }, () => setup.connect({ key: gate }))
    const rest = [
      setup.connect(),
      setup.connect({ key: other }),
      setup.connect({ key: gate, tenant: 'other' }),
      // A device with the name of the key.
      setup.connect({ device: gate.toUpperCase() }),
    ]
    await hello(mine[349] as TestLink, 'A')
    setup.links.keyEnded('default', gate)
    ;(mine[349] as TestLink).update(1, 1)
    setup.world.step()
    const closed = () => mine.filter(({ closedWith }) => closedWith === sessionOver).length
    expect(closed()).toBeLessThanOrEqual(100)
    await setup.settle()
    expect(closed()).toBe(350)
    expect(rest.map(({ closedWith }) => closedWith)).toEqual([undefined, undefined, undefined, undefined])
    expect(setup.device('A').seq).toBe(0)
    expect(setup.links.linkCount).toBe(4)
  })

  test('of a tenant, for any credentials', async () => {
    const mine = [setup.connect({ key: gate }), setup.connect({ device: 'A' }), setup.connect({ device: 'A' })]
    const rest = [setup.connect({ tenant: 'other', key: gate }), setup.connect({ tenant: 'other', device: 'A' })]
    setup.links.tenantEnded('default')
    setup.links.tenantEnded('unknown')
    await setup.settle()
    expect(mine.map(({ closedWith }) => closedWith)).toEqual([sessionOver, sessionOver, sessionOver])
    expect(rest.map(({ closedWith }) => closedWith)).toEqual([undefined, undefined])
  })

  test('and waiting frames are dropped', async () => {
    await setup.addKey(gate)
    const link = setup.connect({ key: gate })
    const { monotonic } = setup.world
    // Each HELLO takes time, so later ones wait for the next slice.
    setup.world.monotonic = () => {
      setup.world.spend(1)
      return monotonic.call(setup.world)
    }
    for (let index = 0; index < 50; index++) link.hello(`A${index}`)
    setup.world.monotonic = monotonic
    setup.links.keyEnded('default', gate)
    await setup.settle()
    expect(setup.device('A0').exists).toBe(true)
    expect(setup.device('A49').exists).toBe(false)
    expect(link.closedWith).toBe(sessionOver)
  })

  test('but not connections that are already closed', async () => {
    const links = [setup.connect({ device: 'A' }), setup.connect({ device: 'A' }), setup.connect({ key: gate })]
    for (const link of links) link.close()
    setup.links.tenantEnded('default')
    setup.links.keyEnded('default', gate)
    setup.links.removed('default', 'A', 1)
    await setup.settle()
    expect(links.map(({ closedWith }) => closedWith)).toEqual([1006, 1006, 1006])
  })
})
