import fc from 'fast-check'
import { expect, test } from 'vitest'
import { Slabs } from '#store/slabs'

test('what is kept stays as it was, whatever is kept after it', () => {
  const part = fc.tuple(fc.oneof(fc.nat(40_000), fc.constantFrom(0, 16_384, 262_144, 262_145, 600_000)), fc.nat(255))
  fc.assert(
    fc.property(fc.array(part, { maxLength: 80 }), (parts) => {
      const slabs = new Slabs()
      const kept = parts.map(([length, byte]) => slabs.keep(new Uint8Array(length).fill(byte)))
      kept.forEach((bytes, index) => {
        const [length, byte] = parts[index] ?? [0, 0]
        expect(bytes.length).toBe(length)
        expect(bytes.every((each) => each === byte)).toBe(true)
      })
    }),
    { numRuns: 50 },
  )
})

test('little that is kept takes little room, much of it pieces of a mebibyte', () => {
  const slabs = new Slabs()
  const roomOf = (bytes: Uint8Array) => bytes.buffer.byteLength
  expect(roomOf(slabs.keep(new Uint8Array(100)))).toBe(16 * 1024)
  const rooms = Array.from({ length: 100 }, () => roomOf(slabs.keep(new Uint8Array(100_000))))
  expect(rooms.at(-1)).toBe(1024 * 1024)
  expect(Math.max(...rooms)).toBe(1024 * 1024)
})
