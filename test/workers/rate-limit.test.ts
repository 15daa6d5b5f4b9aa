import { expect, test } from 'vitest'
import { ManualWorld } from '#test/runtime/manual-world'
import { RateLimit } from '#workers/rate-limit'

const times = <T>(count: number, take: () => T) => Array.from({ length: count }, take)

test('many requests are spread over time, and a single request does not wait', async () => {
  const world = new ManualWorld()
  const rate = new RateLimit(world, { countMax: 3, withinMs: 4 })
  const take = () => rate.take()
  expect(times(8, take)).toEqual([0, 0, 0, 4, 4, 4, 8, 8])
  // The last period has one place left, and the next one begins after it.
  await world.advance(3)
  expect(times(2, take)).toEqual([5, 9])
  await world.advance(9)
  expect(times(3, take)).toEqual([0, 0, 4])
  await world.advance(100)
  expect(times(4, take)).toEqual([0, 0, 0, 4])
})
