import { expect, test } from 'vitest'
import { allQueuedBytesMax, FrameQueue, queuedBytesMax } from '#link/frame-queue'
import type { Link } from '#link/link'
import { ManualWorld } from '#test/runtime/manual-world'

type NamedLink = Link & { readonly name: string; isTaking: boolean }

const linkNamed = (name: string) => ({ name, isTaking: true }) as unknown as NamedLink
const frame = (text: string | number) => Buffer.from(String(text))

/** A queue whose every frame takes this long; the frame `!` throws. */
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

test('lets be done at once what does not hold the loop', () => {
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

test('works off the rest in slices, each link in turn and in its order, of copies', () => {
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

test('refuses what is too much of one link or of all, and forgets a link that is gone or takes no more', () => {
  const { world, taken, queue } = queueOf(3)
  const [a, b, c] = [linkNamed('a'), linkNamed('b'), linkNamed('c')]
  expect(queue.add(a, Buffer.alloc(queuedBytesMax), false)).toBe(true)
  expect(queue.add(a, frame(3), false)).toBe(false)
  const others = Array.from({ length: allQueuedBytesMax / queuedBytesMax - 1 }, (_, number) => linkNamed(`x${number}`))
  for (const other of others) expect(queue.add(other, Buffer.alloc(queuedBytesMax), false)).toBe(true)
  expect(queue.add(b, frame(1), false)).toBe(false)
  for (const gone of [a, ...others]) queue.forget(gone)
  expect([queue.add(b, frame(1), false), queue.add(c, frame(1), false)]).toEqual([true, true])
  b.isTaking = false
  for (let step = 0; step < 10; step++) world.step()
  expect(taken).toEqual(['c1'])
})

test('a frame that makes us throw costs its link, and nobody else', () => {
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
