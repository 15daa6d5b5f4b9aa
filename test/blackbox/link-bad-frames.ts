import { Packr } from 'msgpackr'
import { expect, test } from 'vitest'
import type { Fields, Protocol } from '#test/blackbox/link-client'
import type { LinkGround } from '#test/blackbox/link-ground'
import { climate, degrees, mode, sensor, shownDegrees, temperature } from '#test/blackbox/sensor'

/** What the ERROR must say: its code, and the number of the message where it could be read. */
interface Expected {
  readonly code: string
  readonly seq?: number
}
type FrameOf = (address: number) => unknown

const badMessage: Expected = { code: 'BAD_MESSAGE' }
const ofSeq = (code: string): Expected => ({ code, seq: 1 })
const long = (changed: Fields) => (flakeAddress: number) => ({
  type: 'UPDATE',
  flakeAddress,
  seq: 1,
  serviceIdentifier: climate,
  updates: [degrees(1)],
  ...changed,
})
const short = (address: number, changed: Readonly<Record<number, unknown>>) =>
  Object.values({ ...['U', address, 1, 0, [temperature, 1]], ...changed })
const hello = (changed: Fields) => () => ({
  type: 'HELLO',
  deviceIdentifier: 'BAD-HELLO',
  services: sensor,
  ...changed,
})
const declaring = (...properties: unknown[]) => hello({ services: [{ serviceIdentifier: climate, properties }] })
const many = (count: number) => Array.from({ length: count }, () => degrees(1))

const nowhere = 4_000_000_000

const frames: readonly (readonly [name: string, frame: FrameOf, expected: Expected])[] = [
  ['null', () => null, badMessage],
  ['a number', () => 7, badMessage],
  ['a text', () => 'UPDATE', badMessage],
  ['true', () => true, badMessage],
  ['an empty object', () => ({}), badMessage],
  ['an empty array', () => [], badMessage],
  ['a type that is none', () => ({ type: 'NOPE' }), badMessage],
  ['a type of ours', () => ({ type: 'WELCOME', flakeAddress: 1 }), badMessage],
  ['an inherited type', () => ({ type: 'toString' }), badMessage],
  ['a type that is no text', () => ({ type: ['UPDATE'] }), badMessage],
  ['a letter that is none', () => ['X', 1, 2], badMessage],
  ['an ACK from the wrong side', (address) => ['A', address, 1], badMessage],

  ['an UPDATE of nobody', long({ flakeAddress: nowhere }), { code: 'UNKNOWN_DEVICE', seq: 1 }],
  ['an UPDATE without an address', long({ flakeAddress: undefined }), badMessage],
  ['an UPDATE of address 0', long({ flakeAddress: 0 }), badMessage],
  ['an UPDATE of an address beyond 32 bits', long({ flakeAddress: 2 ** 32 }), badMessage],
  ['an UPDATE of an address as text', (address) => long({ flakeAddress: String(address) })(address), badMessage],
  ['an UPDATE without seq', long({ seq: undefined }), badMessage],
  ['seq 0', long({ seq: 0 }), badMessage],
  ['seq −1', long({ seq: -1 }), badMessage],
  ['seq 1.5', long({ seq: 1.5 }), badMessage],
  ['seq as text', long({ seq: '1' }), badMessage],
  ['a seq beyond what numbers hold', long({ seq: 2 ** 53 }), badMessage],
  ['a service not declared', long({ serviceIdentifier: 'other' }), ofSeq('UNKNOWN_SERVICE')],
  ['a service in another case', long({ serviceIdentifier: 'CLIMATE' }), ofSeq('UNKNOWN_SERVICE')],
  ['a service by an inherited name', long({ serviceIdentifier: 'constructor' }), ofSeq('UNKNOWN_SERVICE')],
  ['a service that is no text', long({ serviceIdentifier: 5 }), ofSeq('BAD_MESSAGE')],
  ['no service', long({ serviceIdentifier: undefined }), ofSeq('BAD_MESSAGE')],
  ['no updates', long({ updates: undefined }), ofSeq('BAD_MESSAGE')],
  ['empty updates', long({ updates: [] }), ofSeq('BAD_MESSAGE')],
  ['updates as an object', long({ updates: { [temperature]: 1 } }), ofSeq('BAD_MESSAGE')],
  ['more than 1 024 updates', long({ updates: many(1025) }), ofSeq('BAD_MESSAGE')],
  ['an update that is null', long({ updates: [null] }), ofSeq('BAD_MESSAGE')],
  ['an update that is a number', long({ updates: [5] }), ofSeq('BAD_MESSAGE')],
  ['an update without propId', long({ updates: [{ value: 1 }] }), ofSeq('BAD_MESSAGE')],
  ['a propId as text', long({ updates: [{ propId: '8192', value: 1 }] }), ofSeq('BAD_MESSAGE')],
  ['a propId of −1', long({ updates: [{ propId: -1, value: 1 }] }), ofSeq('BAD_MESSAGE')],
  ['a property not declared', long({ updates: [degrees(1), { propId: 9, value: 1 }] }), ofSeq('UNKNOWN_PROPERTY')],
  ['neither value nor error', long({ updates: [{ propId: temperature }] }), ofSeq('BAD_MESSAGE')],
  ['value and error', long({ updates: [{ ...degrees(1), error: 'x' }] }), ofSeq('BAD_MESSAGE')],
  ['an error that is no text', long({ updates: [{ propId: temperature, error: 5 }] }), ofSeq('BAD_MESSAGE')],
  ['an error too long', long({ updates: [{ propId: temperature, error: 'x'.repeat(1025) }] }), ofSeq('BAD_MESSAGE')],
  ['a value out of range', long({ updates: [{ propId: mode, value: 256 }] }), ofSeq('BAD_VALUE')],
  ['a good and a bad value', long({ updates: [degrees(1), { propId: mode, value: -1 }] }), ofSeq('BAD_VALUE')],
  ['a time as text', long({ timestamp: '2026-01-01' }), ofSeq('BAD_MESSAGE')],
  ['a time before 1970', long({ timestamp: -1 }), ofSeq('BAD_MESSAGE')],
  ['half a millisecond', long({ timestamp: 0.5 }), ofSeq('BAD_MESSAGE')],
  ['a time that is null', long({ timestamp: null }), ofSeq('BAD_MESSAGE')],

  ['short: too short', (address) => ['U', address, 1, 0], ofSeq('BAD_MESSAGE')],
  ['short: too long', (address) => [...short(address, {}), 1_000, 2_000], ofSeq('BAD_MESSAGE')],
  ['short: of nobody', () => short(nowhere, {}), { code: 'UNKNOWN_DEVICE', seq: 1 }],
  ['short: seq 0', (address) => short(address, { 2: 0 }), badMessage],
  ['short: a place without service', (address) => short(address, { 3: 1 }), ofSeq('UNKNOWN_SERVICE')],
  ['short: a place out of range', (address) => short(address, { 3: 64 }), ofSeq('BAD_MESSAGE')],
  ['short: a place of −1', (address) => short(address, { 3: -1 }), ofSeq('BAD_MESSAGE')],
  ['short: a name for a place', (address) => short(address, { 3: climate }), ofSeq('BAD_MESSAGE')],
  ['short: no pairs', (address) => short(address, { 4: [] }), ofSeq('BAD_MESSAGE')],
  ['short: half a pair', (address) => short(address, { 4: [temperature, 1, mode] }), ofSeq('BAD_MESSAGE')],
  ['short: pairs as an object', (address) => short(address, { 4: { 8192: 1 } }), ofSeq('BAD_MESSAGE')],
  ['short: a property not declared', (address) => short(address, { 4: [9, 1] }), ofSeq('UNKNOWN_PROPERTY')],
  ['short: a propId as text', (address) => short(address, { 4: ['8192', 1] }), ofSeq('BAD_MESSAGE')],
  ['short: a bad value', (address) => short(address, { 4: [mode, 'x'] }), ofSeq('BAD_VALUE')],
  ['short: an error that is no text', (address) => short(address, { 4: [mode, { e: 1 }] }), ofSeq('BAD_VALUE')],
  ['short: a time that is null', (address) => short(address, { 5: null }), ofSeq('BAD_MESSAGE')],

  ['HELLO without a name', hello({ deviceIdentifier: undefined }), badMessage],
  ['HELLO with an empty name', hello({ deviceIdentifier: '' }), badMessage],
  ['HELLO with a space in its name', hello({ deviceIdentifier: 'A B C' }), badMessage],
  ['HELLO of everybody', hello({ deviceIdentifier: '*' }), badMessage],
  ['HELLO with a name too long', hello({ deviceIdentifier: 'A'.repeat(65) }), badMessage],
  ['HELLO with an empty session', hello({ session: '' }), badMessage],
  ['HELLO with a session too long', hello({ session: 'x'.repeat(37) }), badMessage],
  ['HELLO without services', hello({ services: undefined }), badMessage],
  ['HELLO with services as an object', hello({ services: {} }), badMessage],
  ['HELLO with a service twice', hello({ services: [...sensor, ...sensor] }), badMessage],
  ['HELLO with a service without a name', hello({ services: [{ properties: [] }] }), badMessage],
  [
    'HELLO with a service of a bad name',
    hello({ services: [{ serviceIdentifier: 'a/b', properties: [] }] }),
    badMessage,
  ],
  [
    'HELLO with a service __proto__',
    hello({ services: [{ serviceIdentifier: '__proto__', properties: [] }] }),
    badMessage,
  ],
  ['HELLO with a property twice', declaring({ propId: 1, type: 'BOOL' }, { propId: 1, type: 'BOOL' }), badMessage],
  ['HELLO with a propId of 2³²', declaring({ propId: 2 ** 32, type: 'BOOL' }), badMessage],
  ['HELLO with a type that is none', declaring({ propId: 1, type: 'UINT128' }), badMessage],
  ['HELLO with arrays of binaries', declaring({ propId: 1, type: 'BINARY-ARRAY' }), badMessage],
  ['HELLO without a type', declaring({ propId: 1 }), badMessage],
  ['HELLO with a bad value', declaring({ propId: 1, type: 'BOOL', value: 1 }), { code: 'BAD_VALUE' }],
  ['HELLO with a bad modifier', declaring({ propId: 1, type: 'BOOL', modifier: { isReadOnly: 1 } }), badMessage],
  ['HELLO with a firmware that is no version', hello({ firmwares: [{ firmware: 'v1', index: 0 }] }), badMessage],
  ['HELLO with a firmware without index', hello({ firmwares: [{ firmware: '1.0.0' }] }), badMessage],
  ['HELLO with a bad project', hello({ project: 'a/b' }), badMessage],
  ['HELLO with autoUpdate as text', hello({ autoUpdate: 'yes' }), badMessage],

  ['BYE without an address', () => ({ type: 'BYE' }), badMessage],
  ['RESULT without an id', (address) => ({ type: 'RESULT', flakeAddress: address, results: [] }), badMessage],
]

const packr = new Packr({ useRecords: false })
const pack = (value: unknown) => packr.pack(value)
const isTextFrame = (data: string | Uint8Array) => typeof data === 'string'

const unknownFields = Object.fromEntries(Array.from({ length: 24_000 }, (_, place) => [`x${place}`, 1]))
const badHello = {
  type: 'HELLO',
  deviceIdentifier: 'BAD-HELLO',
  services: Array.from({ length: 64 }, (_, place) => ({
    serviceIdentifier: `s${place}`,
    properties: Array(1_024).fill({}),
  })),
}

/** Lists of a hundred times the one before, by the extensions of structured clone. */
function sharedLists(levels: number): Buffer {
  const list = (level: number) => {
    const named = [0xd6, 0x69, 0, 0, 0, level, 0xdc, 0, 100]
    return [
      ...named,
      ...Array.from({ length: 100 }, () => (level === 1 ? [1] : [0xd6, 0x70, 0, 0, 0, level - 1])).flat(),
    ]
  }
  return Buffer.from([0x90 + levels, ...Array.from({ length: levels }, (_, index) => list(index + 1)).flat()])
}

/** Frames that are not even values. */
const rawFrames: Readonly<Record<Protocol, readonly (readonly [name: string, data: string | Uint8Array])[]>> = {
  json: [
    ['nothing', ''],
    ['no JSON', 'hello'],
    ['half a JSON', '{"type":"UPDATE"'],
    ['two at once', '{"type":"BYE","flakeAddress":4000000000}{}'],
    ['NaN', '{"type":"UPDATE","flakeAddress":NaN}'],
    ['nested too deep', '['.repeat(200_000)],
    ['nested too deep, and closed', `${'['.repeat(100_000)}${']'.repeat(100_000)}`],
    ['a prototype', '{"__proto__":{"type":"HELLO","deviceIdentifier":"PROTO","services":[]}}'],
    ['24 000 unknown fields', JSON.stringify({ type: 'BYE', flakeAddress: nowhere, ...unknownFields })],
    ['as many empty objects as fit', `[${'{},'.repeat(87_000)}{}]`],
    ['a HELLO of nothing but bad properties', JSON.stringify(badHello)],
    ['a binary frame', Buffer.from('{"type":"BYE","flakeAddress":1}')],
  ],
  msgpack: [
    ['nothing', Buffer.alloc(0)],
    ['a byte that is never used', Buffer.from([0xc1])],
    ['half a map', pack({ type: 'UPDATE', seq: 1 }).subarray(0, -1)],
    ['two at once', Buffer.concat([pack({ type: 'BYE', flakeAddress: nowhere }), pack({})])],
    ['an array of four thousand million', Buffer.from([0xdd, 0xff, 0xff, 0xff, 0xff])],
    ['a map of four thousand million', Buffer.from([0xdf, 0xff, 0xff, 0xff, 0xff])],
    ['a text of four thousand million', Buffer.from([0xdb, 0xff, 0xff, 0xff, 0xff])],
    ['bytes of four thousand million', Buffer.from([0xc6, 0xff, 0xff, 0xff, 0xff])],
    ['an extension of four thousand million', Buffer.from([0xc9, 0xff, 0xff, 0xff, 0xff, 1])],
    ['nested too deep', Buffer.alloc(200_000, 0x91)],
    ['nested too deep, and closed', Buffer.concat([Buffer.alloc(200_000, 0x91), Buffer.from([0xc0])])],
    ['a time', pack(new Date(0))],
    ['a map with a time inside', pack({ type: 'HELLO', deviceIdentifier: 'D', services: [], project: new Date(0) })],
    ['an extension nobody knows', Buffer.from([0xd4, 0x05, 0x00])],
    ['a regular expression', Buffer.from([0xc7, 0x05, 0x78, 0x92, 0xa1, 0x61, 0xa1, 0x67])],
    [
      'a record definition',
      Buffer.from([0xd4, 0x72, 0x40, 0x91, 0xa4, 0x74, 0x79, 0x70, 0x65, 0xa3, 0x42, 0x59, 0x45]),
    ],
    ['a record nobody defined', Buffer.from([0xd4, 0x72, 0x41])],
    ['lists that share others, 10¹⁴ in all', sharedLists(7)],
    ['nothing but empty maps', Buffer.concat([Buffer.from([0xdd, 0, 3, 0xff, 0]), Buffer.alloc(0x3ff00, 0x80)])],
    ['24 000 unknown fields', pack({ type: 'BYE', flakeAddress: nowhere, ...unknownFields })],
    [
      'bytes behind the message',
      Buffer.concat([pack({ type: 'BYE', flakeAddress: nowhere }), Buffer.alloc(200_000, 1)]),
    ],
    ['a HELLO of nothing but bad properties', pack(badHello)],
    ['a prototype', Buffer.concat([Buffer.from([0x81]), pack('__proto__'), pack({ type: 'HELLO', services: [] })])],
    ['bytes', pack(Buffer.from('UPDATE'))],
    ['a text frame', '{"type":"BYE","flakeAddress":1}'],
  ],
}

/** Each is refused with its code and number, and costs nobody else a thing. */
export function badFrameSuite(ground: LinkGround): void {
  test.each(frames)('%s', async (_, frameOf, { code, seq }) => {
    const { link, heardOf, goesOn } = await twoDevices()
    link.send(withoutUndefined(frameOf(heardOf.address)))
    const error = await link.take({ type: 'ERROR' })
    expect(error).toMatchObject({ code, message: expect.stringMatching(/./) })
    if (seq !== undefined) expect(error).toMatchObject({ seq, flakeAddress: expect.any(Number) })
    await goesOn()
  })

  test.each(rawFrames[ground.protocol])('raw: %s', async (_, data) => {
    const { link, goesOn } = await twoDevices()
    link.socket.send(data, { binary: !isTextFrame(data) })
    expect(await link.take({ type: 'ERROR' })).toMatchObject({
      code: 'BAD_MESSAGE',
      message: expect.stringMatching(/./),
    })
    await goesOn()
  })

  test('nothing of all that was stored', async () => {
    for (const device of ['BAD-HELLO', 'PROTO', 'D']) {
      expect((await ground.server.get(`/devices/${device}`)).status).toBe(404)
    }
  })

  test('a refused number is behind us: what follows is acknowledged past it', async () => {
    const { link, device, address } = await ground.sensor()
    const send = (seq: number, value: unknown) =>
      link.send({
        type: 'UPDATE',
        flakeAddress: address,
        seq,
        serviceIdentifier: climate,
        updates: [{ propId: temperature, value }],
      })
    for (const [seq, value] of [1, 'x', 3, 'x', 5].entries()) send(seq + 1, value)
    await link.acknowledged(address, 5)
    await link.take({ type: 'ERROR', code: 'BAD_VALUE', seq: 2 })
    await link.take({ type: 'ERROR', code: 'BAD_VALUE', seq: 4 })
    const { seq } = await link.hello(device, sensor, { session: 'boot-1' })
    expect(seq).toBe(5)
  })

  test('what was stored before a refused frame is acknowledged before its ERROR', async () => {
    const { link, address } = await ground.sensor()
    link.send(['U', address, 1, 0, [temperature, 1]], ['U', address, 2, 0, [temperature, 'x']])
    await link.take({ type: 'ERROR', seq: 2 })
    expect(link.waiting).toEqual([['A', address, 1]])
  })

  async function twoDevices() {
    const link = await ground.link()
    const heardOf = await ground.sensor({ link })
    const untouched = await ground.sensor({ link })
    const events = await ground.events({
      offset: 'now',
      devices: `${heardOf.device},${untouched.device}`,
      types: 'OBJECT_UPDATED',
    })
    /** Both devices are heard as if nothing had been, and no more was answered. */
    async function goesOn() {
      await link.report(untouched.address, 1, climate, [degrees(7)])
      await link.report(heardOf.address, 2, climate, [degrees(8)])
      expect(link.waiting).toEqual([])
      expect(await events.caughtUp(ground.server)).toMatchObject([
        { deviceIdentifier: untouched.device, updates: [shownDegrees(7)] },
        { deviceIdentifier: heardOf.device, updates: [shownDegrees(8)] },
      ])
    }
    return { link, heardOf, goesOn }
  }
}

/** JSON leaves them out, msgpack would say them. */
function withoutUndefined(frame: unknown): unknown {
  return typeof frame === 'object' && frame !== null && !Array.isArray(frame)
    ? Object.fromEntries(Object.entries(frame).filter(([, value]) => value !== undefined))
    : frame
}
