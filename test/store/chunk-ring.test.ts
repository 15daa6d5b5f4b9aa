import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { ChunkRing } from '#store/tenant-stream'
import { forAll } from '#test/kit/for-all'

const MIB = 1024 * 1024

/** Adds a chunk of `count` entries, filled with a byte of its own. */
function put(ring: ChunkRing, firstOffset: number, length: number, count = 1): void {
  ring.add({ firstOffset, count, bytes: ring.reserve(firstOffset, length).fill(firstOffset % 251) })
}

const isWhole = (bytes: Uint8Array, firstOffset: number) => bytes.every((byte) => byte === firstOffset % 251)

const lengths = fc.oneof(fc.nat(40_000), fc.constantFrom(0, 1, 16_384, 100_000, 600_000, MIB, MIB + 1, 3 * MIB))

describe('a ring', () => {
  test('finds the latest chunks whole, no overwritten ones, and keeps within its size', () => {
    forAll([fc.array(lengths, { maxLength: 120 })], 30, (asked) => {
      const ring = new ChunkRing(4 * MIB)
      let offset = 1
      for (const length of asked) {
        put(ring, offset, length, 3)
        // A single slab may be larger than the bound.
        expect(ring.bytes).toBeLessThanOrEqual(Math.max(4 * MIB, length + 4 * MIB))
        expect(ring.find(offset + 2)?.firstOffset).toBe(offset)
        offset += 3
      }
      expect(ring.find(offset)).toBeUndefined()
      let kept = 0
      let wasFound = false
      for (let each = 1; each < offset; each += 3) {
        const chunk = ring.find(each)
        if (wasFound) expect(chunk).toBeDefined()
        wasFound = chunk !== undefined
        if (!chunk) continue
        kept += chunk.bytes.length
        expect(chunk.bytes.length).toBe(asked[(each - 1) / 3])
        expect(isWhole(chunk.bytes, each)).toBe(true)
      }
      const all = asked.reduce((sum, length) => sum + length, 0)
      // The ends of slabs stay unused: at worst half of each.
      expect(kept).toBeGreaterThanOrEqual(Math.min(all, MIB / 2))
    })
  })

  test('does not overwrite reserved bytes that are not added yet', () => {
    const ring = new ChunkRing(2 * MIB)
    for (let offset = 1; offset <= 100; offset++) put(ring, offset, 100_000)
    const reserved = Array.from({ length: 100 }, (_, index) => ring.reserve(101 + index, 100_000).fill(index))
    reserved.forEach((bytes, index) => {
      expect(bytes.every((byte) => byte === index)).toBe(true)
      ring.add({ firstOffset: 101 + index, count: 1, bytes })
    })
    expect(ring.bytes).toBeGreaterThan(9 * MIB)
    for (let offset = 201; offset <= 300; offset++) put(ring, offset, 100_000)
    expect(ring.bytes).toBeLessThanOrEqual(2 * MIB)
  })

  test('reuses the same memory once it is full', () => {
    const ring = new ChunkRing(4 * MIB)
    const pieces = new Set<ArrayBufferLike>()
    for (let offset = 1; offset <= 2_000; offset++) put(ring, offset, 10_000)
    for (let offset = 2_001; offset <= 20_000; offset++) {
      put(ring, offset, 10_000)
      pieces.add(ring.find(offset)?.bytes.buffer as ArrayBufferLike)
    }
    expect(pieces.size).toBeLessThanOrEqual(4)
  })

  test('forgets chunks before an offset, frees their memory, and accepts later ones', () => {
    const ring = new ChunkRing(4 * MIB)
    for (let offset = 1; offset <= 300; offset++) put(ring, offset, 10_000)
    const before = ring.bytes
    const ahead = ring.reserve(301, 10_000).fill(301 % 251)
    ring.forgetBefore(301)
    expect(ring.bytes).toBeLessThanOrEqual(before / 2)
    for (let offset = 1; offset <= 300; offset++) expect(ring.find(offset)).toBeUndefined()
    ring.add({ firstOffset: 301, count: 1, bytes: ahead })
    for (let offset = 302; offset <= 2_000; offset++) put(ring, offset, 10_000)
    expect(isWhole(ahead, 301) || ring.find(301) === undefined).toBe(true)
    expect(ring.find(2_000)?.bytes).toHaveLength(10_000)
    expect(ring.bytes).toBeLessThanOrEqual(4 * MIB)
    ring.forgetBefore(2_001)
    expect(ring.bytes).toBe(0)
    put(ring, 2_001, 100)
    expect(ring.find(2_001)?.firstOffset).toBe(2_001)
  })

  test('uses separate buffers, because native code may read beyond views of shared memory', () => {
    const ring = new ChunkRing(4 * MIB)
    for (let offset = 1; offset <= 300; offset++) put(ring, offset, 10_000)
    expect(ring.find(300)?.bytes.buffer).toBeInstanceOf(ArrayBuffer)
    put(ring, 301, 2 * MIB)
    expect(ring.find(301)?.bytes.buffer).toBeInstanceOf(ArrayBuffer)
  })

  test('uses little memory for few chunks', () => {
    const ring = new ChunkRing(64 * MIB)
    put(ring, 1, 100)
    expect(ring.bytes).toBe(16 * 1024)
  })
})
