import { expect, test } from 'vitest'
import { readTurnsOf } from '#routes/read-turns'
import { ManualWorld } from '#test/runtime/manual-world'

test('long answers go on one in each turn of the loop, in the order in which they asked', async () => {
  const world = new ManualWorld()
  const turns: string[] = []
  const read = async (name: string) => {
    for (let piece = 0; piece < 3; piece++) {
      await readTurnsOf(world).next()
      turns.push(`${name}${piece}`)
    }
  }
  const all = Promise.all(['a', 'b', 'c'].map(read))
  const seen: number[] = []
  while (world.soonCount > 0) {
    world.step()
    for (let microtask = 0; microtask < 4; microtask++) await Promise.resolve()
    seen.push(turns.length)
  }
  await all
  expect(seen).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9])
  expect(turns).toEqual(['a0', 'b0', 'c0', 'a1', 'b1', 'c1', 'a2', 'b2', 'c2'])
})
