import fc from 'fast-check'
import { expect, test } from 'vitest'
import { allQueuedBytesMax, type FrameCopy, FramePages, FrameQueue, queuedBytesMax } from '#link/frame-queue'
import type { Link } from '#link/link'
import { ManualWorld } from '#test/runtime/manual-world'

type NamedLink = Link & { readonly name: string; isAccepting: boolean }

const linkNamed = (name: string) => ({ name, isAccepting: true }) as unknown as NamedLink
const frame = (text: string | number) => Buffer.from(String(text))

/** A queue in which each frame takes `frameMs`; the frame `!` throws. */
function queueOf(frameMs: number) {
  const world = new ManualWorld()
  const taken: string[] = []
  const failed: string[] = []
  const queue = new FrameQueue({
    world,
    take: (link, data) => {
      world.spend(frameMs)
      if (String(data) === '!') throw new Error('a bug')
      taken.push((link as NamedLink).name + String(data))
    },
    failed: (link) => failed.push((link as NamedLink).name),
  })
  return { world, taken, failed, queue }
}

test('the queue runs work at once within the time slice', () => {
  const { world, queue } = queueOf(1)
  const work = () => world.spend(1.5)
  expect([queue.now(work), queue.now(work), queue.now(work)]).toEqual([true, true, false])
  world.step()
  expect(queue.now(work)).toBe(true)
  queue.add(linkNamed('a'), frame(1), false)
  world.step()
  expect(queue.now(work)).toBe(false)
  world.step()
  expect(queue.now(work)).toBe(true)
})

test('the queue processes copies of frames in slices, one connection after the other, in order', () => {
  const { world, taken, queue } = queueOf(1.5)
  const [a, b] = [linkNamed('a'), linkNamed('b')]
  const lent = frame(1)
  queue.add(a, lent, false)
  lent.fill(0)
  for (let number = 2; number <= 4; number++) queue.add(a, frame(number), false)
  for (let number = 1; number <= 2; number++) queue.add(b, frame(number), false)
  expect(taken).toEqual([])
  const slices: number[] = []
  while (queue.has(a) || queue.has(b)) {
    const before = taken.length
    world.step()
    slices.push(taken.length - before)
  }
  expect(Math.max(...slices)).toBeLessThanOrEqual(2)
  expect(taken).toEqual(['a1', 'b1', 'a2', 'b2', 'a3', 'a4'])
})

test('the queue refuses too many bytes of one connection or of all, and drops the frames of closed connections', () => {
  const { world, taken, queue } = queueOf(3)
  const [a, b, c] = [linkNamed('a'), linkNamed('b'), linkNamed('c')]
  expect(queue.add(a, Buffer.alloc(queuedBytesMax), false)).toBe(true)
  expect(queue.add(a, frame(3), false)).toBe(false)
  const others = Array.from({ length: allQueuedBytesMax / queuedBytesMax - 1 }, (_, number) => linkNamed(`x${number}`))
  for (const other of others) expect(queue.add(other, Buffer.alloc(queuedBytesMax), false)).toBe(true)
  expect(queue.add(b, frame(1), false)).toBe(false)
  for (const gone of [a, ...others]) queue.forget(gone)
  expect([queue.add(b, frame(1), false), queue.add(c, frame(1), false)]).toEqual([true, true])
  b.isAccepting = false
  for (let step = 0; step < 10; step++) world.step()
  expect(taken).toEqual(['c1'])
})

test('a frame that throws fails its own connection only', () => {
  const { world, taken, failed, queue } = queueOf(1)
  const [a, b] = [linkNamed('a'), linkNamed('b')]
  for (const text of ['!', '2']) queue.add(a, frame(text), false)
  for (const text of ['1', '2']) queue.add(b, frame(text), false)
  for (let step = 0; step < 10; step++) world.step()
  expect([taken, failed]).toEqual([['b1', 'b2'], ['a']])
  queue.add(b, frame(3), false)
  world.step()
  expect(taken).toEqual(['b1', 'b2', 'b3'])
})

test('a frame stays unchanged until it is released', () => {
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

test('pages of memory are reused', () => {
  const pages = new FramePages()
  const frame = new Uint8Array(1_000)
  const buffers = new Set<ArrayBufferLike>()
  for (let round = 0; round < 10; round++) {
    const kept = Array.from({ length: 500 }, () => pages.keep(frame))
    for (const { data } of kept) buffers.add(data.buffer)
    for (const each of kept) pages.release(each)
  }
  // 500 frames fill eight pages.
  expect(buffers.size).toBeLessThan(10)
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
