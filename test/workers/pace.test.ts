import { describe, expect, test } from 'vitest'
import { ManualWorld } from '#test/runtime/manual-world'
import { during } from '#test/runtime/runtime-fixture'
import { Pace, WorkStopped } from '#workers/pace'

const items = Array.from({ length: 100 }, (_, index) => index)

describe('a pace', () => {
  test('yields after each slice and processes all items', async () => {
    const world = new ManualWorld()
    const pace = new Pace(world, { sliceMs: 10, underWayMax: 1 })
    const done: number[] = []
    let sinceTurn = 0
    let longest = 0
    const all = pace.each(items, (item) => {
      done.push(item)
      world.spend(3)
      longest = Math.max(longest, ++sinceTurn)
    })
    let isOver = false
    const over = all.finally(() => {
      isOver = true
    })
    while (!isOver) {
      sinceTurn = 0
      world.step()
      await new Promise((resolve) => setImmediate(resolve))
    }
    await over
    // Four of 3 ms each: the fourth ends the slice.
    expect([done, longest]).toEqual([items, 4])
  })

  test('runs at most the given number of tasks at once, and waits for all', async () => {
    const world = new ManualWorld()
    let underWay = 0
    let most = 0
    const done: number[] = []
    await during(
      world,
      new Pace(world, { sliceMs: 1, underWayMax: 7 }).each(items, async (item) => {
        most = Math.max(most, ++underWay)
        await new Promise<void>((resolve) => world.soon(resolve))
        underWay--
        done.push(item)
      }),
    )
    expect([done, most, underWay]).toEqual([items, 7, 0])
  })

  test('ends with the first failure, after running tasks', async () => {
    const world = new ManualWorld()
    const begun: number[] = []
    const ended: number[] = []
    const all = new Pace(world, { sliceMs: 1, underWayMax: 3 }).each(items, async (item) => {
      begun.push(item)
      await new Promise<void>((resolve) => world.soon(resolve))
      if (item === 4) throw new Error('four')
      ended.push(item)
    })
    await expect(during(world, all)).rejects.toThrow('four')
    expect(ended).toEqual(begun.filter((item) => item !== 4))
    expect(begun.length).toBeLessThan(10)
  })

  test('processes later items, and can be stopped', async () => {
    const world = new ManualWorld()
    const pace = new Pace(world, { sliceMs: 1, underWayMax: 3 })
    const done: number[] = []
    const later = async function* () {
      for (const item of items) {
        await new Promise<void>((resolve) => world.soon(resolve))
        yield item
      }
    }
    const all = pace.each(later(), (item) => {
      done.push(item)
      if (item === 20) pace.stop()
    })
    await expect(during(world, all)).rejects.toBeInstanceOf(WorkStopped)
    expect(done).toEqual(items.slice(0, 21))
  })
})
