import { tmpdir } from 'node:os'
import { expect, test } from 'vitest'
import { ProcessMetrics } from '#app/metrics/process-metrics'
import type { World } from '#runtime/world'

/** A world with one timer, which the test fires. */
function oneTimerWorld() {
  let now = 0
  let waiting: (() => void) | undefined
  const world = {
    now: () => now,
    monotonic: () => now,
    after(_: number, task: () => void) {
      waiting = task
      return () => {
        waiting = undefined
      }
    },
  } as Partial<World> as World
  return {
    world,
    fireAfter(ms: number) {
      now += ms
      waiting?.()
    },
    isWaiting: () => waiting !== undefined,
  }
}

test('the delay of the event loop is measured until it is stopped', () => {
  const late = oneTimerWorld()
  const metrics = new ProcessMetrics(late.world, tmpdir())
  metrics.start()
  for (const ms of [20, 21, 19.5, 120, 5020]) late.fireAfter(ms)
  const { bounds, counts, count, sum } = metrics.loopDelay
  expect(Object.fromEntries(bounds.map((bound, place) => [bound, counts[place]]))).toEqual({
    0.002: 3,
    0.005: 0,
    0.01: 0,
    0.025: 0,
    0.05: 0,
    0.1: 1,
    0.25: 0,
    1: 0,
  })
  expect([counts.at(-1), count]).toEqual([1, 5])
  expect(sum).toBeCloseTo(5.101)
  metrics.stop()
  expect(late.isWaiting()).toBe(false)
})

test('the disk of the data folder is measured, and a missing folder has no values', async () => {
  const { world } = oneTimerWorld()
  const disk = await new ProcessMetrics(world, tmpdir()).disk()
  expect(disk?.sizeBytes).toBeGreaterThan(0)
  expect(disk?.freeBytes).toBeLessThanOrEqual(disk?.sizeBytes ?? 0)
  expect(await new ProcessMetrics(world, '/there/is/no/such/folder').disk()).toBeUndefined()
})
