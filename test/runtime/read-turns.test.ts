import { expect, test } from 'vitest'
import { readTurnsOf } from '#runtime/slices'
import { ManualWorld } from '#test/runtime/manual-world'

test('long answers continue one slice per turn of the loop, in the order of their requests', async () => {
  const world = new ManualWorld()
  const turns: string[] = []
  const read = async (name: string) => {
    for (let piece = 0; piece < 3; piece++) {
      await readTurnsOf(world).next({ tenant: 't', user: name[0] ?? '' })
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

test('a user with many long answers does not slow down the answers of others', async () => {
  const world = new ManualWorld()
  const turns: string[] = []
  const wait = (user: string) =>
    readTurnsOf(world)
      .next({ tenant: 't', user })
      .then(() => turns.push(user))
  for (let count = 0; count < 100; count++) void wait('mallory')
  void wait('ann')
  for (let step = 0; step < 2; step++) {
    world.step()
    await Promise.resolve()
  }
  await Promise.resolve()
  expect(turns).toEqual(['mallory', 'ann'])
})
