import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type FrameCopy, FramePages } from '#link/frame-queue'

test('a frame stays as it was until it is released, whatever comes and goes meanwhile', () => {
  const length = fc.oneof(fc.nat(3_000), fc.constantFrom(0, 16_384, 16_385, 100_000))
  const step = fc.record({ length, byte: fc.nat(255), releases: fc.nat(2), place: fc.nat() })
  fc.assert(
    fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
      const pages = new FramePages()
      const kept: { frame: FrameCopy; length: number; byte: number }[] = []
      for (const { length, byte, releases, place } of steps) {
        kept.push({ frame: pages.keep(new Uint8Array(length).fill(byte)), length, byte })
        for (let count = 0; count < releases; count++) {
          const [gone] = kept.splice(place % Math.max(kept.length, 1), 1)
          if (gone) pages.release(gone.frame)
        }
        for (const { frame, length, byte } of kept) {
          expect(frame.data.length).toBe(length)
          expect(frame.data.every((each) => each === byte)).toBe(true)
        }
      }
    }),
    { numRuns: 50 },
  )
})

test('pages are used again', () => {
  const pages = new FramePages()
  const frame = new Uint8Array(1_000)
  const rooms = new Set<ArrayBufferLike>()
  for (let round = 0; round < 10; round++) {
    const kept = Array.from({ length: 500 }, () => pages.keep(frame))
    for (const { data } of kept) rooms.add(data.buffer)
    for (const each of kept) pages.release(each)
  }
  // 500 frames fill eight of them.
  expect(rooms.size).toBeLessThan(10)
})

test('a frame is copied', () => {
  const pages = new FramePages()
  for (const length of [10, 20_000]) {
    const frame = new Uint8Array(length).fill(1)
    const kept = pages.keep(frame)
    frame.fill(2)
    expect(kept.data.every((each) => each === 1)).toBe(true)
  }
})
