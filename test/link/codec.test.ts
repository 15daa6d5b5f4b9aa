import fc from 'fast-check'
import { Packr, pack } from 'msgpackr'
import { describe, expect, test } from 'vitest'
import { decodeFrame, encodeFrame, integerFor, isPlain, numberOf, withNumbers } from '#link/codec'

const utf8 = (text: string) => Buffer.from(text)

describe('frames', () => {
  const message = fc.record(
    {
      type: fc.constantFrom('ACK', 'WELCOME'),
      seq: fc.nat(),
      text: fc.string({ unit: 'grapheme', maxLength: 300 }),
      list: fc.array(fc.oneof(fc.boolean(), fc.double({ noNaN: true, noDefaultInfinity: true }), fc.constant(null))),
    },
    { noNullPrototype: true },
  )

  test.each(['json', 'msgpack'] as const)('come back as they went in %s', (protocol) => {
    fc.assert(
      fc.property(message, (said) => {
        const frame = encodeFrame(protocol, said)
        const data = typeof frame === 'string' ? utf8(frame) : frame
        const back = decodeFrame(protocol, data, protocol === 'msgpack')
        expect(JSON.stringify(back)).toBe(JSON.stringify(said))
      }),
    )
  })

  test('of the other kind are refused', () => {
    expect(() => decodeFrame('json', utf8('{}'), true)).toThrow('JSON in text frames')
    expect(() => decodeFrame('msgpack', pack({}), false)).toThrow('msgpack in binary frames')
  })

  test.each(['', '{', 'undefined', '\ufeff{}'])('%j is no JSON', (text) => {
    expect(() => decodeFrame('json', utf8(text), false)).toThrow()
  })

  test.each([[], [0x92, 1], [0xd9, 5, 65], [0x01, 0x02]])('%j is no msgpack', (...bytes) => {
    expect(() => decodeFrame('msgpack', Uint8Array.from(bytes.flat()), true)).toThrow()
  })

  test('are read where they lie in a larger buffer', () => {
    const frame = utf8('xx{"a":1}yy')
    expect(decodeFrame('json', frame.subarray(2, 9), false)).toEqual({ a: 1 })
  })

  test('random bytes throw or are data, and never harm', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 60 }), (bytes) => {
        let frame: unknown
        try {
          frame = decodeFrame('msgpack', bytes, true)
        } catch {
          return
        }
        if (isPlain(frame))
          JSON.stringify(withNumbers(frame), (_, value) => (typeof value === 'bigint' ? 'big' : value))
      }),
      { numRuns: 2_000 },
    )
    expect({}).not.toHaveProperty('polluted')
  })
})

describe('plain is', () => {
  const nested = (depth: number): unknown => (depth === 0 ? 1 : [nested(depth - 1)])

  test.each([
    ['nothing', null],
    ['a number', 1],
    ['a big integer', 1n],
    ['a text', ''],
    ['bytes', new Uint8Array(2)],
    ['a buffer', Buffer.alloc(2)],
    ['a map', { a: [1, { b: null }] }],
    ['a map without a prototype', Object.assign(Object.create(null), { a: 1 })],
    ['what is nested as deep as may be', nested(8)],
    ['nothing given', undefined],
  ])('%s', (_, value) => {
    expect(isPlain(value)).toBe(true)
  })

  test.each([
    ['a date', { a: new Date(0) }],
    ['a set', [new Set([1])]],
    ['a map of the language', new Map([[1, 1]])],
    ['a regular expression', /a/],
    ['an error', new Error('a')],
    ['an array of floats', new Float32Array(2)],
    ['a function', () => 1],
    ['a symbol', { a: Symbol('a') }],
    ['what is nested deeper', nested(9)],
  ])('not %s', (_, value) => {
    expect(isPlain(value)).toBe(false)
  })

  test('not the byte that msgpack never uses', () => {
    expect(isPlain(decodeFrame('msgpack', Uint8Array.of(0xc1), true))).toBe(false)
  })

  test('never what msgpack has extensions for', () => {
    const packr = new Packr({ moreTypes: true, structuredClone: true } as never)
    for (const value of [new Date(5), new Set([1]), /a/, new Error('x'), new Float64Array(2)]) {
      let frame: unknown
      try {
        frame = decodeFrame('msgpack', packr.pack({ a: value }), true)
      } catch {
        continue
      }
      expect(isPlain(frame), String(value)).toBe(false)
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

  test.each([0n, 1n, -1n, 2n ** 53n - 1n, -(2n ** 53n) + 1n])('%d is a number', (value) => {
    expect(numberOf(decodeFrame('msgpack', int64(value), true))).toBe(Number(value))
  })

  test.each([2n ** 53n, 2n ** 53n + 1n, 2n ** 64n - 1n, -(2n ** 63n)])('%d stays whole', (value) => {
    expect(numberOf(decodeFrame('msgpack', int64(value), true))).toBe(value)
  })

  test('inside are numbers too, and bytes stay bytes', () => {
    const bytes = Uint8Array.of(1)
    expect(withNumbers({ a: [1n, { b: 2n ** 60n }], bytes })).toEqual({ a: [1, { b: 2n ** 60n }], bytes })
  })

  test('times leave as integers', () => {
    const time = 1_700_000_000_000
    expect(integerFor('json', time)).toBe(time)
    const bytes = encodeFrame('msgpack', integerFor('msgpack', time)) as Uint8Array
    expect([0xcf, 0xd3]).toContain(bytes[0])
    expect(numberOf(decodeFrame('msgpack', bytes, true))).toBe(time)
  })
})
