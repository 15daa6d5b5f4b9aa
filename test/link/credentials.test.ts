import { createHash } from 'node:crypto'
import { beforeEach, describe, expect, test } from 'vitest'
import { deviceAddress } from '#actors/device/device'
import { tenantAddress } from '#actors/tenant/commands'
import { LinkStage, type TestLink } from '#test/link/link-stage'

let room: LinkStage

beforeEach(async () => {
  room = await LinkStage.open()
})

const sessionOver = 4401
const gate = 'KEYgateway'
const other = 'KEYanother'

async function hello(link: TestLink, ...devices: string[]): Promise<void> {
  for (const device of devices) link.hello(device)
  await room.settle()
}

/** The secret that was told with the last WELCOME. */
function told(link: TestLink): string | undefined {
  return link.heard.findLast(({ type }) => type === 'WELCOME')?.secret as string | undefined
}

const hashed = (secret: string | undefined) => createHash('sha256').update(String(secret)).digest('hex')

describe('who may speak for which device', () => {
  /** How a device is before somebody says HELLO for it. */
  const devices = {
    'nobody knows': async () => {},
    'has a secret': () => room.made('A'),
    'has none': () => room.made('A', {}),
    'this key let in': () => room.made('A', { key: gate, secretHash: new Uint8Array(32) }),
    'this key let in by POST': () => room.made('A', { key: gate }),
    'another key let in': () => room.made('A', { key: other, secretHash: new Uint8Array(32) }),
    'another key let in by POST': () => room.made('A', { key: other }),
    'this key let in, with a newer secret': async () => {
      await room.made('A', { key: gate, secretHash: new Uint8Array(32) })
      room.stage.ask(deviceAddress('default', 'A'), { type: 'set_secret', hash: new Uint8Array(32).fill(1) })
      await room.settle()
    },
    'was removed': async () => {
      await room.made('A')
      room.stage.ask(deviceAddress('default', 'A'), { type: 'remove' })
      await room.settle()
    },
  }
  const credentials = {
    none: {},
    'its own': { device: 'A' },
    'those of another': { device: 'B' },
    'a provisioning key': { key: gate },
  }
  const yes = 'WELCOME'
  const made = 'WELCOME with a secret'
  const no = 'NOT_ALLOWED'
  const expected: Record<keyof typeof devices, Record<keyof typeof credentials, string>> = {
    // With credentials of its own there is one, unless it was removed just now.
    'nobody knows': { none: yes, 'its own': no, 'those of another': no, 'a provisioning key': made },
    'has a secret': { none: yes, 'its own': yes, 'those of another': no, 'a provisioning key': no },
    'has none': { none: yes, 'its own': yes, 'those of another': no, 'a provisioning key': yes },
    'this key let in': { none: yes, 'its own': yes, 'those of another': no, 'a provisioning key': yes },
    'this key let in by POST': { none: yes, 'its own': yes, 'those of another': no, 'a provisioning key': yes },
    'another key let in': { none: yes, 'its own': yes, 'those of another': no, 'a provisioning key': no },
    'another key let in by POST': { none: yes, 'its own': yes, 'those of another': no, 'a provisioning key': yes },
    'this key let in, with a newer secret': {
      none: yes,
      'its own': yes,
      'those of another': no,
      'a provisioning key': yes,
    },
    'was removed': { none: yes, 'its own': no, 'those of another': no, 'a provisioning key': made },
  }
  const rows = Object.entries(expected).flatMap(([device, by]) =>
    Object.entries(by).map(([credential, outcome]) => [device, credential, outcome] as const),
  )

  test.each(rows)('one that %s, with %s: %s', async (device, credential, outcome) => {
    await room.key(gate)
    await room.key(other)
    await devices[device as keyof typeof devices]()
    const before = room.kept('A')
    const link = room.connect(credentials[credential as keyof typeof credentials])
    await hello(link, 'A')
    const [heard, ...more] = link.heard
    expect(more).toEqual([])
    expect(link.closedWith).toBeUndefined()
    if (outcome === no) {
      expect(heard).toMatchObject({ type: 'ERROR', code: 'NOT_ALLOWED' })
      expect(heard).not.toHaveProperty('flakeAddress')
      expect(room.links.deviceCount).toBe(0)
    } else {
      expect(heard).toMatchObject({ type: 'WELCOME', deviceIdentifier: 'A' })
      expect(room.links.deviceCount).toBe(1)
    }
    expect(room.kept('A')).toEqual(outcome === made ? { secret: hashed(told(link)), registrar: gate } : before)
    if (outcome !== made) expect(told(link)).toBeUndefined()
  })

  test('no name that was refused stays awake', async () => {
    await room.key(gate, { maxDevices: 0 })
    const awake = room.stage.system.registry.awakeCount
    await hello(room.connect({ device: 'A' }), 'A', 'B')
    await hello(room.connect({ key: gate }), 'C')
    expect(room.stage.system.registry.awakeCount).toBe(awake)
  })
})

describe('a device that a provisioning key lets in', () => {
  test('is told its secret once: 256 bits, and nobody else the same', async () => {
    await room.key(gate)
    const link = room.connect({ key: gate })
    await hello(link, 'A', 'B')
    const secrets = link.heard.map(({ secret }) => String(secret))
    expect(new Set(secrets).size).toBe(2)
    for (const secret of secrets) expect(Buffer.from(secret, 'base64url')).toHaveLength(32)
    expect(room.kept('A').secret).toBe(hashed(secrets[0]))
    await hello(link, 'A')
    expect(told(link)).toBeUndefined()
    await hello(room.connect({ key: gate }), 'A')
    expect(room.kept('A').secret).toBe(hashed(secrets[0]))
  })

  test('is told so over msgpack as well', async () => {
    await room.key(gate)
    const link = room.connect({ key: gate, protocol: 'msgpack' })
    await hello(link, 'A')
    expect(hashed(told(link))).toBe(room.kept('A').secret)
  })

  test('of a burst so many are let in as may be, and the link stays', async () => {
    await room.key(gate, { maxDevices: 3 })
    const link = room.connect({ key: gate })
    const second = room.connect({ key: gate })
    for (let index = 0; index < 5; index++) {
      link.hello(`A${index}`)
      second.hello(`B${index}`)
    }
    await room.settle()
    const outcomes = [...link.lines, ...second.lines].map((line) => line.split(' ', 2).join(' '))
    expect(outcomes.filter((line) => line.startsWith('WELCOME'))).toHaveLength(3)
    expect(outcomes.filter((line) => line === 'ERROR NOT_ALLOWED')).toHaveLength(7)
    expect([link.closedWith, second.closedWith]).toEqual([undefined, undefined])
    expect(room.notAdmitted).toEqual(Array(7).fill('forbidden'))
  })

  test('too many is its mistake: ten in a row close the link', async () => {
    await room.key(gate, { maxDevices: 0 })
    const link = room.connect({ key: gate })
    await hello(link, ...Array.from({ length: 10 }, (_, index) => `A${index}`))
    expect(link.closedWith).toBe(4400)
  })

  test('leaves room for another when it is removed', async () => {
    await room.key(gate, { maxDevices: 1 })
    const link = room.connect({ key: gate })
    await hello(link, 'A', 'B')
    expect(link.lines[1]).toBe('ERROR NOT_ALLOWED')
    room.stage.ask(deviceAddress('default', 'A'), { type: 'remove', registrar: gate })
    await hello(link, 'B')
    expect(link.lines[2]).toMatch(/^WELCOME/)
  })

  test('is refused where the key is no more, and those it let in before are not', async () => {
    await room.key(gate)
    const link = room.connect({ key: gate })
    await hello(link, 'A')
    room.stage.ask(tenantAddress('default'), { type: 'delete_key', kind: 'provisioning_key', id: gate })
    await hello(link, 'A', 'B')
    expect(link.lines.slice(1)).toEqual(['WELCOME @1 0', 'ERROR NOT_ALLOWED'])
  })

  test('and dies before it was told: it is there, the key speaks for it, and no secret is made up again', async () => {
    await room.key(gate)
    const link = room.connect({ key: gate })
    link.hello('A')
    link.close()
    await room.settle()
    expect(link.heard).toEqual([])
    const { secret } = room.kept('A')
    expect(secret).toBeDefined()
    const again = room.connect({ key: gate })
    await hello(again, 'A')
    expect(again.lines).toEqual(['WELCOME @1 0'])
    expect(told(again)).toBeUndefined()
    expect(room.kept('A').secret).toBe(secret)
  })
})

describe('a device with credentials of its own', () => {
  beforeEach(() => room.made('A'))

  test('that is removed: its links are closed, whether it said HELLO on them or not', async () => {
    const links = [1, 2, 3].map(() => room.connect({ device: 'A' }))
    const stranger = room.connect({ device: 'B' })
    const [first] = links as [TestLink, TestLink, TestLink]
    await hello(first, 'A')
    room.links.removed('default', 'A', 1)
    await room.settle()
    expect(links.map(({ closedWith }) => closedWith)).toEqual([sessionOver, sessionOver, sessionOver])
    expect(first.lines.slice(1)).toEqual(['ERROR UNKNOWN_DEVICE @1'])
    expect(stranger.closedWith).toBeUndefined()
  })

  test('says HELLO while it is being removed: it is not made anew', async () => {
    const link = room.connect({ device: 'A' })
    room.stage.ask(deviceAddress('default', 'A'), { type: 'remove' })
    await hello(link, 'A')
    expect(link.lines).toEqual(['ERROR NOT_ALLOWED'])
    expect(room.device('A').isThere).toBe(false)
  })

  test('that is given a new secret: links of the old one are closed, whether it said HELLO on them or not', async () => {
    const links = [1, 2].map(() => room.connect({ device: 'A' }))
    const elsewhere = room.connect({ device: 'A', tenant: 'other' })
    await hello(links[0] as TestLink, 'A')
    room.links.credentialsChanged('default', 'A')
    await room.settle()
    expect(links.map(({ closedWith }) => closedWith)).toEqual([sessionOver, sessionOver])
    expect(elsewhere.closedWith).toBeUndefined()
    const again = room.connect({ device: 'A' })
    await hello(again, 'A')
    expect(again.lines).toEqual(['WELCOME @1 0'])
  })
})

describe('a gateway', () => {
  beforeEach(async () => {
    await room.key(gate)
    await room.made('A', {})
  })

  test('that carries a device which is given its first secret by somebody: goes on without it', async () => {
    const link = room.connect({ key: gate })
    await hello(link, 'A', 'B')
    room.stage.ask(deviceAddress('default', 'A'), { type: 'set_secret', hash: new Uint8Array(32) })
    await room.settle()
    room.links.credentialsChanged('default', 'A')
    link.update(1, 1)
    link.update(2, 1)
    await hello(link, 'A')
    await room.world.advance(1_000)
    expect(link.lines.slice(2)).toEqual(['ERROR NOT_ALLOWED @1', 'A @2 1', 'ERROR NOT_ALLOWED'])
    expect(link.closedWith).toBeUndefined()
    expect(room.device('A')).toMatchObject({ seq: 0, status: 'offline' })
    expect(room.device('B').status).toBe('online')
  })

  test('that carries one it let in, whose secret is rotated: goes on with it', async () => {
    const link = room.connect({ key: gate })
    await hello(link, 'A', 'B')
    room.links.credentialsChanged('default', 'B')
    link.update(2, 1)
    await room.settle()
    expect(link.lines.slice(2)).toEqual(['A @2 1'])
  })

  test('that carries nothing else: its link is closed', async () => {
    const link = room.connect({ key: gate })
    await hello(link, 'B')
    room.links.credentialsChanged('default', 'B')
    await room.settle()
    expect(link.closedWith).toBe(sessionOver)
  })
})

describe('when credentials end, so do links', () => {
  test('of a provisioning key, all at once for what comes, some at a time for closing; others stay', async () => {
    await room.key(gate)
    const mine = Array.from({ length: 350 }, () => room.connect({ key: gate }))
    const rest = [
      room.connect(),
      room.connect({ key: other }),
      room.connect({ key: gate, tenant: 'other' }),
      // Whose name is that of the key.
      room.connect({ device: gate.toUpperCase() }),
    ]
    await hello(mine[349] as TestLink, 'A')
    room.links.keyEnded('default', gate)
    ;(mine[349] as TestLink).update(1, 1)
    room.world.step()
    const closed = () => mine.filter(({ closedWith }) => closedWith === sessionOver).length
    expect(closed()).toBeLessThanOrEqual(100)
    await room.settle()
    expect(closed()).toBe(350)
    expect(rest.map(({ closedWith }) => closedWith)).toEqual([undefined, undefined, undefined, undefined])
    expect(room.device('A').seq).toBe(0)
    expect(room.links.linkCount).toBe(4)
  })

  test('of a tenant, whatever they were opened with', async () => {
    const mine = [room.connect({ key: gate }), room.connect({ device: 'A' }), room.connect({ device: 'A' })]
    const rest = [room.connect({ tenant: 'other', key: gate }), room.connect({ tenant: 'other', device: 'A' })]
    room.links.tenantEnded('default')
    room.links.tenantEnded('nobody')
    await room.settle()
    expect(mine.map(({ closedWith }) => closedWith)).toEqual([sessionOver, sessionOver, sessionOver])
    expect(rest.map(({ closedWith }) => closedWith)).toEqual([undefined, undefined])
  })

  test('a frame that waits is not taken any more', async () => {
    await room.key(gate)
    const link = room.connect({ key: gate })
    const { monotonic } = room.world
    // Each HELLO takes a while, so that those behind it wait for the next slice.
    room.world.monotonic = () => {
      room.world.spend(1)
      return monotonic.call(room.world)
    }
    for (let index = 0; index < 50; index++) link.hello(`A${index}`)
    room.world.monotonic = monotonic
    room.links.keyEnded('default', gate)
    await room.settle()
    expect(room.device('A0').isThere).toBe(true)
    expect(room.device('A49').isThere).toBe(false)
    expect(link.closedWith).toBe(sessionOver)
  })

  test('links that closed by themselves are not held on to', async () => {
    const links = [room.connect({ device: 'A' }), room.connect({ device: 'A' }), room.connect({ key: gate })]
    for (const link of links) link.close()
    room.links.tenantEnded('default')
    room.links.keyEnded('default', gate)
    room.links.removed('default', 'A', 1)
    await room.settle()
    expect(links.map(({ closedWith }) => closedWith)).toEqual([1006, 1006, 1006])
  })
})
