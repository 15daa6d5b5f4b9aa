import { expect, test } from 'vitest'
import { FrameQueue, queuedBytesMax } from '#link/frame-queue'
import type { Link } from '#link/link'
import { ManualWorld } from '#test/runtime/manual-world'

const linkNamed = (name: string) => ({ name, isTaking: true }) as unknown as Link & { name: string; isTaking: boolean }

/** A queue whose every frame takes this long. */
function queueOf(frameMs: number) {
  const world = new ManualWorld()
  const taken: string[] = []
  const queue = new FrameQueue(world, (link, frame) => {
    taken.push(`${(link as unknown as { name: string }).name}${frame}`)
    world.spend(frameMs)
  })
  return { world, taken, queue }
}

test('takes at once what does not hold the loop, and the rest in slices, each link in turn and in its order', () => {
  const { world, taken, queue } = queueOf(1.5)
  const [a, b] = [linkNamed('a'), linkNamed('b')]
  for (let frame = 1; frame <= 4; frame++) queue.add(a, frame, 100)
  for (let frame = 1; frame <= 2; frame++) queue.add(b, frame, 100)
  expect(taken).toEqual(['a1', 'a2'])
  expect([queue.has(a), queue.has(b)]).toEqual([true, true])
  const slices: number[] = []
  while (queue.has(a) || queue.has(b)) {
    const before = taken.length
    world.step()
    slices.push(taken.length - before)
  }
  expect(Math.max(...slices)).toBeLessThanOrEqual(2)
  expect(taken.filter((frame) => frame.startsWith('a'))).toEqual(['a1', 'a2', 'a3', 'a4'])
  expect(taken.filter((frame) => frame.startsWith('b'))).toEqual(['b1', 'b2'])
  expect(taken.indexOf('b1')).toBeLessThan(taken.indexOf('a4'))
})

test('refuses what is too much, and forgets a link that is gone or takes no more', () => {
  const { world, taken, queue } = queueOf(3)
  const [a, b, c] = [linkNamed('a'), linkNamed('b'), linkNamed('c')]
  queue.add(a, 1, 100)
  expect(queue.add(a, 2, queuedBytesMax)).toBe(true)
  expect(queue.add(a, 3, 1)).toBe(false)
  queue.add(b, 1, 100)
  queue.add(c, 1, 100)
  queue.forget(a)
  b.isTaking = false
  for (let step = 0; step < 10; step++) world.step()
  expect(taken).toEqual(['a1', 'c1'])
})
