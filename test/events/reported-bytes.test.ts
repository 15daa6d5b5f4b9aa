import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { reportedBytes } from '#events/object-updated'
import { encode } from '#events/wire-format'
import type { Items, Reported } from '#model/entry'
import { deviceName, entryOf, shape } from '#test/store/entry-arbitrary'

const value = fc
  .oneof(
    fc.integer(),
    fc.maxSafeInteger(),
    fc.double({ noNaN: true, noDefaultInfinity: true }),
    fc.float({ noNaN: true, noDefaultInfinity: true }),
    // Typical decimal numbers, and the next numbers in binary.
    fc
      .tuple(fc.maxSafeInteger(), fc.nat(17), fc.constantFrom(-1, 0, 0, 0, 1))
      .map(([digits, places, next]) => (digits / 10 ** places) * (1 + next * Number.EPSILON)),
    fc.constantFrom(999_999_999.999999, 999_999_999.9999999, 1e9 + 0.1, 0.000001, 0.0000001, -0.5, 1e15 + 0.5),
    fc.constantFrom(0, 9, 10, 99, 100, 0x7fffffff, 0x80000000, 0xffffffff, 1e21, 1.5e-300, -1.2345678901234568e-300),
  )
  .map((number) => number + 0)
const natural = fc.oneof(fc.nat(), fc.maxSafeInteger().map(Math.abs), fc.constantFrom(0, 1, 9, 10, 0x7fffffff, 2 ** 31))

/** Reports of numbers only. */
const numeric = fc
  .tuple(shape, deviceName, fc.nat({ max: 0xffffffff }), natural, natural, fc.array(fc.tuple(fc.nat(), value)))
  .map(([shape, device, flakeAddress, at, timestamp, pairs]): Reported => {
    const items = pairs.flatMap(([place, number]) => [place % shape.properties.length, number])
    return { kind: 'reported', device, flakeAddress, shape, at, timestamp, seq: 1, items }
  })

describe('the bytes of a report', () => {
  test('of numbers equal its text', () => {
    let byHand = 0
    fc.assert(
      fc.property(numeric, natural, (entry, offset) => {
        const bytes = reportedBytes(entry, offset)
        if (entry.device.includes('"')) expect(bytes).toBeUndefined()
        if (!bytes) return
        byHand++
        expect(Buffer.from(bytes).toString()).toBe(encode(entry, offset))
      }),
      { numRuns: 500 },
    )
    expect(byHand).toBeGreaterThan(100)
  })

  test('of any values equal its text, or are undefined so that the text encoder is used', () => {
    fc.assert(
      fc.property(entryOf.reported as fc.Arbitrary<Reported>, natural, (entry, offset) => {
        const bytes = reportedBytes(entry, offset)
        if (bytes) expect(Buffer.from(bytes).toString()).toBe(encode(entry, offset))
        else expect(entry.device.includes('"') || hasOthers(entry.items)).toBe(true)
      }),
      { numRuns: 500 },
    )
  })

  test('of many numbers equal its text too, but are undefined for 10 000 numbers', () => {
    const [anyShape] = fc.sample(shape, { numRuns: 1, seed: 3 })
    if (!anyShape) throw new Error('no sample')
    const about = { kind: 'reported', device: 'A', flakeAddress: 1, at: 1, timestamp: 1, seq: 1 } as const
    const entryOf = (count: number): Reported => ({
      ...about,
      shape: anyShape,
      items: Array.from({ length: count }, (_, at) => [0, at / 7]).flat(),
    })
    for (const count of [1, 1_024, 1]) {
      const isSame = Buffer.from(reportedBytes(entryOf(count), 5) ?? []).equals(Buffer.from(encode(entryOf(count), 5)))
      expect(isSame).toBe(true)
    }
    expect(reportedBytes(entryOf(10_000), 5)).toBeUndefined()
  })
})

function hasOthers(items: Items): boolean {
  return items.some((item) => typeof item !== 'number')
}
