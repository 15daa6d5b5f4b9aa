import fc from 'fast-check'
import { Packr } from 'msgpackr'
import { describe, expect, test } from 'vitest'
import { jsonCodec } from '#link/codecs'
import { isUpdate, readUpdate, type UpdateFrame } from '#link/device-frame'
import { msgpackCodec, readShortUpdate } from '#link/msgpack-codec'
import { readMsgpack } from '#link/msgpack-values'
import { Problem } from '#model/problem'

const packr = new Packr({ useRecords: false, variableMapSize: true, moreTypes: false })

/** The frame that the general decoder reads, or undefined. */
function generally(bytes: Uint8Array): UpdateFrame | undefined {
  let frame: unknown
  try {
    frame = readMsgpack(bytes)
  } catch {
    return undefined
  }
  const read = isUpdate(frame) ? readUpdate(frame) : undefined
  return read instanceof Problem ? undefined : read
}

const edges = [0, 1, 0x7f, 0x80, 0xff, 0x100, 0xffff, 0x10000, 0x7fffffff, 0x80000000, 0xffffffff, 0x100000000]
const integer = fc.oneof(fc.constantFrom(...edges, ...edges.map((edge) => -edge)), fc.integer(), fc.maxSafeInteger())
const number = fc.oneof(integer, fc.double(), fc.float())
const natural = fc.oneof(fc.constantFrom(...edges), fc.nat())
const value = fc.oneof({ weight: 8, arbitrary: number }, { weight: 2, arbitrary: fc.boolean() })
const oddValue = fc.oneof(
  fc.constantFrom(null, 'text', [1], { e: 'broken' }, new Uint8Array([1, 2]), 2n ** 63n, -(2n ** 62n), 7n),
  value,
)
const pairs = (of: fc.Arbitrary<unknown>) => fc.array(fc.tuple(natural, of), { maxLength: 20 }).map((all) => all.flat())
const usual = fc
  .tuple(fc.constant('U'), natural, natural, fc.nat(70), pairs(value), fc.option(natural, { nil: undefined }))
  .map((parts) => (parts[5] === undefined ? parts.slice(0, 5) : parts))
const odd = fc.oneof(
  fc.tuple(fc.constant('U'), oddValue, oddValue, oddValue, pairs(oddValue)),
  fc.tuple(fc.constant('U'), natural, natural, fc.nat(70), fc.array(oddValue), oddValue),
  fc.tuple(fc.constantFrom('A', 'UU', 1), natural, natural, fc.nat(3), pairs(value)),
  fc.array(oddValue),
)

describe('the fast reader of short UPDATEs', () => {
  test('reads the same as the general decoder, or leaves the frame to it', () => {
    let read = 0
    fc.assert(
      fc.property(fc.oneof({ weight: 3, arbitrary: usual }, { weight: 1, arbitrary: odd }), (frame) => {
        const bytes = packr.pack(frame)
        const byHand = readShortUpdate(bytes)
        if (byHand === undefined) return
        read++
        expect(byHand).toStrictEqual(generally(bytes))
      }),
      { numRuns: 800 },
    )
    expect(read).toBeGreaterThan(100)
  })

  test('reads damaged frames as the general decoder does', () => {
    fc.assert(
      fc.property(usual, fc.nat(), fc.integer({ min: 0, max: 255 }), fc.boolean(), (frame, place, byte, isCut) => {
        const bytes = Uint8Array.from(packr.pack(frame))
        const at = place % bytes.length
        const changed = isCut
          ? bytes.subarray(0, at)
          : Uint8Array.from([...bytes.with(at, byte), ...(at % 2 ? [] : [0])])
        const byHand = readShortUpdate(changed)
        if (byHand !== undefined) expect(byHand).toStrictEqual(generally(changed))
      }),
      { numRuns: 800 },
    )
  })

  test('reads a common frame', () => {
    const frame = ['U', 4_294_967_295, 70_000, 63, [1, 21.5, 300, true, 70_000, -5], 1_700_000_000_000]
    expect(readShortUpdate(packr.pack(frame))).toEqual({
      kind: 'update',
      flakeAddress: 4_294_967_295,
      seq: 70_000,
      isShort: true,
      service: 63,
      updates: [1, 21.5, 300, true, 70_000, -5],
      timestamp: 1_700_000_000_000,
    })
  })
})

describe('the fast writer of ACKs', () => {
  test('writes the bytes of the general encoder', () => {
    fc.assert(
      fc.property(fc.oneof(fc.constantFrom(...edges.slice(1, -1)), fc.nat()), natural, (flakeAddress, seq) => {
        const bytes = msgpackCodec.acknowledge(flakeAddress, seq, true) as Uint8Array
        const wanted = packr.pack(['A', flakeAddress, seq > 0xffffffff ? BigInt(seq) : seq])
        expect(Buffer.from(bytes).toString('hex')).toBe(wanted.toString('hex'))
      }),
      { numRuns: 500 },
    )
  })

  test('is not used for other forms', () => {
    expect(jsonCodec.acknowledge(5, 7, true)).toBe('["A",5,7]')
    expect(jsonCodec.acknowledge(5, 7, false)).toBe('{"type":"ACK","flakeAddress":5,"seq":7}')
    expect(readMsgpack(msgpackCodec.acknowledge(5, 7, false) as Uint8Array)).toEqual({
      type: 'ACK',
      flakeAddress: 5,
      seq: 7,
    })
  })
})
