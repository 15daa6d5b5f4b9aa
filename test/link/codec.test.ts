import { isUtf8 } from 'node:buffer'
import fc from 'fast-check'
import { Packr, pack, Unpackr } from 'msgpackr'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import {
  deviceFields,
  frameBinariesMax,
  frameDepthMax,
  frameListsMax,
  frameValuesMax,
  unknownFieldsMax,
} from '#link/codec'
import { linkCodecs } from '#link/codecs'
import { readMsgpack, unreadable } from '#link/msgpack-values'
import { propertyTypes } from '#model/property-type'
import { anyText } from '#test/kit/any-text'
import { DeviceMessage } from '#test/kit/link-messages'

const { 'link.v1.json': json, 'link.v1.msgpack': msgpack } = linkCodecs
const utf8 = (text: string) => Buffer.from(text)
const packr = new Packr({ useRecords: false, variableMapSize: true })
const unpackr = new Unpackr({ useRecords: false, int64AsType: 'bigint' })
const codecs = [
  ['json', json, (frame: unknown) => utf8(JSON.stringify(frame))],
  ['msgpack', msgpack, (frame: unknown) => packr.pack(frame)],
] as const

/** The fields of a schema and of the schemas inside it. */
function fieldsOf(schema: unknown): string[] {
  if (typeof schema !== 'object' || schema === null) return []
  const { properties = {}, ...rest } = schema as { properties?: object }
  return [...Object.keys(properties), ...[...Object.values(properties), ...Object.values(rest)].flatMap(fieldsOf)]
}

test('the codec knows every field of device messages', () => {
  const fields = fieldsOf(z.toJSONSchema(DeviceMessage, { unrepresentable: 'any', io: 'input' }))
  expect([...new Set([...fields, 'e'])].sort()).toEqual([...deviceFields].sort())
})

describe.each(codecs)('frames in %s', (name, codec, encoded) => {
  const isBinary = name === 'msgpack'
  const decoded = (data: Uint8Array) => codec.decode(data, isBinary)
  const nested = (depth: number): unknown => (depth === 0 ? 1 : [nested(depth - 1)])
  const bye = (more: object) => ({ type: 'BYE', flakeAddress: 1, ...more })
  const unknown = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, place) => [`x${place}`, 1]))

  test('to a device read back as written', () => {
    const message = fc.record({
      type: fc.constantFrom('WELCOME', 'FIRMWARE'),
      seq: fc.maxSafeInteger(),
      id: fc.string({ unit: 'grapheme', maxLength: 300 }),
    })
    fc.assert(
      fc.property(message, (original) => {
        const frame = codec.encode(original)
        const back = typeof frame === 'string' ? JSON.parse(frame) : unpackr.unpack(frame)
        expect({ ...back, seq: Number(back.seq) }).toEqual(original)
      }),
    )
  })

  test('of the other type are refused', () => {
    expect(() => codec.decode(encoded({}), !isBinary)).toThrow(/^not a frame: this connection uses/)
  })

  test('are copied from a larger buffer', () => {
    const frame = Buffer.concat([utf8('xx'), encoded(bye({ id: 'text' })), utf8('yy')])
    const { message } = decoded(frame.subarray(2, -2)) as { message: unknown }
    frame.fill(0)
    expect(message).toEqual(bye({ id: 'text' }))
  })

  test('are refused if they are nested too deep', () => {
    expect(decoded(encoded(nested(frameDepthMax)))).toEqual({ kind: 'other', message: nested(frameDepthMax) })
    expect(() => decoded(encoded(nested(frameDepthMax + 1)))).toThrow(
      `not a frame: more than ${frameDepthMax} nested lists and objects`,
    )
  })

  test('may have some unknown fields, and are refused with too many', () => {
    expect(decoded(encoded(bye(unknown(unknownFieldsMax))))).toMatchObject({ message: bye({}) })
    const message = `not a frame: more than ${unknownFieldsMax} unknown fields`
    expect(() => decoded(encoded(bye(unknown(unknownFieldsMax + 1))))).toThrow(message)
    const apart = Array.from({ length: unknownFieldsMax + 1 }, (_, place) => ({ [`x${place}`]: 1 }))
    expect(() => decoded(encoded(bye({ services: apart })))).toThrow(message)
    // A field whose 32-bit FNV-1a hash equals that of a known field.
    const alike = Array(unknownFieldsMax + 1).fill({ adNQNq: 1 })
    expect(() => decoded(encoded(bye({ services: alike })))).toThrow(message)
  })

  test('may have as many elements as the longest array value', () => {
    for (const element of [7, '']) {
      const updates = [1, Array(32_767).fill(element)]
      expect(decoded(encoded(['U', 1, 1, 0, updates]))).toMatchObject({ kind: 'update', updates })
    }
  })

  test('are refused with too many values', () => {
    const many = (value: unknown, count: number) => encoded(new Array(count).fill(value))
    for (const value of [1, ''])
      expect(() => decoded(many(value, frameValuesMax + 2))).toThrow(`not a frame: more than ${frameValuesMax} values`)
    for (const value of [[], {}]) {
      expect(() => decoded(many(value, frameListsMax))).toThrow(`more than ${frameListsMax} lists and objects`)
    }
  })

  test('do not change the prototype of objects', () => {
    const before = Object.getOwnPropertyNames(Object.prototype)
    const key = isBinary ? Buffer.concat([Buffer.of(0x81), pack('__proto__'), pack({ type: 'BYE' })]) : undefined
    const { message } = decoded(key ?? utf8('{"__proto__":{"type":"BYE"}}')) as { message: { type?: unknown } }
    expect([message.type, Object.getOwnPropertyNames(Object.prototype)]).toEqual([undefined, before])
  })
})

test.each(['', '{', 'undefined', '\ufeff{}'])('%j is refused as invalid JSON', (text) => {
  expect(() => json.decode(utf8(text), false)).toThrow('not a frame: it is not JSON')
})

describe('msgpack', () => {
  test.each([
    ...[[], [0x92, 1], [0xd9, 5, 65], [0xcd, 1], [0xdd, 0xff, 0xff, 0xff, 0xff], [0xdf, 0xff, 0xff, 0xff, 0xff]].map(
      (bytes) => [bytes, 'it ends too soon'] as const,
    ),
    [[1, 0x02, 0x41], '2 bytes after the message'] as const,
    [[0x91, 0xc1], 'the byte 0xc1 is not defined in msgpack'] as const,
  ])('%j is refused: %s', (bytes, reason) => {
    expect(() => readMsgpack(Uint8Array.from(bytes))).toThrow(`not a frame: ${reason}`)
  })

  test.each([
    ['ext 8', [0xc7, 0, 5]],
    ['ext 16', [0xc8, 0, 0, 5]],
    ['ext 32', [0xc9, 0, 0, 0, 0, 5]],
    ...[0xd4, 0xd5, 0xd6, 0xd7, 0xd8].flatMap((tag) =>
      [0x00, 0x42, 0x62, 0x65, 0x69, 0x70, 0x72, 0x73, 0x74, 0x78, 0xff].map(
        (type) =>
          [
            `extension ${type.toString(16)} in ${tag.toString(16)}`,
            [tag, type, ...Array(2 ** (tag - 0xd4)).fill(1)],
          ] as const,
      ),
    ),
  ] as const)('%s is not decoded, and no property type accepts it', (_, bytes) => {
    expect(readMsgpack(Uint8Array.from([0x93, 1, ...bytes, 2]))).toEqual([1, unreadable, 2])
    for (const type of propertyTypes.values()) {
      for (const value of [unreadable, [unreadable]]) expect(type.accept(value)).toBeUndefined()
    }
  })

  test('is refused with too many binary values', () => {
    const binaries = (count: number) => packr.pack(Array(count).fill(Buffer.alloc(0)))
    expect(readMsgpack(binaries(frameBinariesMax))).toHaveLength(frameBinariesMax)
    const message = `not a frame: more than ${frameBinariesMax} binary values`
    expect(() => readMsgpack(binaries(frameBinariesMax + 1))).toThrow(message)
  })

  test('reads texts in strict UTF-8 only', () => {
    const strict = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
    const piece = fc.oneof(
      anyText({ maxLength: 12 }).map(utf8),
      fc.constantFrom('\ufffd', '\ufeff', '\ud7ff', '\ue000', '\u{10ffff}').map(utf8),
      fc.constantFrom([0xed, 0xa0, 0x80], [0xf4, 0x90, 0x80, 0x80], [0xc0, 0x80], [0xe0, 0x9f, 0xbf]).map(Buffer.from),
      fc.uint8Array({ maxLength: 3 }),
    )
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 6 }), (pieces) => {
        const text = Buffer.concat(pieces)
        expect(readMsgpack(Buffer.concat([Buffer.of(0xd9, text.length), text]))).toBe(
          isUtf8(text) ? strict.decode(text) : unreadable,
        )
      }),
      { numRuns: 200 },
    )
  })

  /** Seven levels of 100 pointers each: a reader that follows pointers never ends. */
  test('with shared lists is refused', () => {
    const id = (number: number) => [0xd6, 0x69, 0, 0, 0, number]
    const pointer = (number: number) => [0xd6, 0x70, 0, 0, 0, number]
    const levels = Array.from({ length: 7 }, (_, level) => [
      ...id(level + 1),
      0xdc,
      0,
      100,
      ...Array.from({ length: 100 }, () => (level === 0 ? [1] : pointer(level))).flat(),
    ])
    const bomb = Uint8Array.from([0x82, ...pack('type'), ...pack('BYE'), ...pack('x'), 0x97, ...levels.flat()])
    expect(bomb.length).toBeLessThan(4_000)
    expect(() => msgpack.decode(bomb, true)).toThrow('bytes after the message')
  })

  test('reads the same as another reader, without unknown fields', () => {
    const key = fc.oneof(fc.constantFrom(...deviceFields), fc.string({ maxLength: 40 }))
    const { value } = fc.letrec<{ value: unknown }>((tie) => ({
      value: fc.oneof(
        { maxDepth: 4 },
        fc.oneof(
          fc.constantFrom(null, true, false, 2 ** 40, -0),
          fc.integer(),
          fc.double(),
          fc.bigInt({ min: -(2n ** 63n), max: 2n ** 64n - 1n }),
          fc.string({ unit: 'grapheme', maxLength: 300 }),
          fc.uint8Array({ maxLength: 300 }),
        ),
        fc.array(tie('value')),
        fc.dictionary(key, tie('value'), { noNullPrototype: true }),
      ),
    }))
    fc.assert(
      fc.property(value, (each) => {
        const bytes = packr.pack(each)
        expect(readMsgpack(bytes)).toEqual(known(unpackr.unpack(bytes)))
      }),
      { numRuns: 300 },
    )
  })

  test('reads keys in any encoding', () => {
    for (const head of [
      [0xd9, 4],
      [0xda, 0, 4],
      [0xdb, 0, 0, 0, 4],
    ]) {
      expect(readMsgpack(Uint8Array.from([0x82, ...head, ...utf8('type'), 1, 0x92, 1, 2, 3]))).toEqual({ type: 1 })
    }
  })
})

describe('64-bit integers', () => {
  const int64 = (value: bigint) => {
    const bytes = Buffer.alloc(9)
    bytes[0] = value < 0n ? 0xd3 : 0xcf
    if (value < 0n) bytes.writeBigInt64BE(value, 1)
    else bytes.writeBigUInt64BE(value, 1)
    return bytes
  }

  test.each([0n, 1n, -1n, 2n ** 53n - 1n, -(2n ** 53n) + 1n, 2n ** 53n, 2n ** 53n + 1n, 2n ** 64n - 1n, -(2n ** 63n)])(
    '%d is read as a number if that is exact, otherwise as a bigint',
    (value) => {
      const isExact = Number.isSafeInteger(Number(value))
      expect(readMsgpack(int64(value))).toBe(isExact ? Number(value) : value)
    },
  )

  test('times are written as integers', () => {
    const time = 1_700_000_000_000
    const frame = msgpack.encode({ type: 'WELCOME', timestamp: time }) as Uint8Array
    expect(unpackr.unpack(frame)).toEqual({ type: 'WELCOME', timestamp: BigInt(time) })
  })
})

/** The value with exact numbers instead of bigints, and without unknown fields. */
function known(value: unknown): unknown {
  if (typeof value === 'bigint') return Number.isSafeInteger(Number(value)) ? Number(value) : value
  if (typeof value !== 'object' || value === null) return value
  if (value instanceof Uint8Array) return new Uint8Array(value)
  if (Array.isArray(value)) return value.map(known)
  const fields = Object.entries(value).filter(([key]) => (deviceFields as readonly string[]).includes(key))
  return Object.fromEntries(fields.map(([key, inner]) => [key, known(inner)]))
}
