import { createHash } from 'node:crypto'
import { expect, test } from 'vitest'
import { randomId, seededRandom } from '#model/identifier'

const seed = Uint8Array.from({ length: 16 }, (_, index) => index)

test('the same seed gives the same bytes, and another seed gives others', () => {
  const other = Uint8Array.from(seed, (byte, index) => (index === 15 ? byte ^ 1 : byte))
  const idsOf = (of: Uint8Array) => {
    const random = seededRandom(of)
    return Array.from({ length: 1000 }, () => randomId(random))
  }
  expect(idsOf(seed)).toEqual(idsOf(Uint8Array.from(seed)))
  expect(new Set([...idsOf(seed), ...idsOf(other)]).size).toBe(2000)
})

test('the bytes are SHA-256 of the seed and a counter, one call after the other', () => {
  const block = (count: number) =>
    createHash('sha256')
      .update(seed)
      .update(Uint8Array.of(0, 0, 0, count))
      .digest()
  const random = seededRandom(seed)
  expect(Buffer.from(random(5))).toEqual(block(0).subarray(0, 5))
  expect(Buffer.from(random(70))).toEqual(Buffer.concat([block(1), block(2), block(3).subarray(0, 6)]))
  expect(random(0)).toHaveLength(0)
  expect(Buffer.from(random(32))).toEqual(block(4))
})
