import { describe, expect, test } from 'vitest'
import { ManualWorld } from '#test/runtime/manual-world'
import { during } from '#test/runtime/runtime-fixture'
import { Pace, Stopped } from '#workers/pace'

const items = Array.from({ length: 100 }, (_, index) => index)

describe('a pace', () => {
  test('gives the loop back after each slice, and leaves nothing out', async () => {
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
      await new Promise((told) => setImmediate(told))
    }
    await over
    // Four of 3 ms each: the fourth ends the slice.
    expect([done, longest]).toEqual([items, 4])
  })

  test('waits for what it began, and begins no more than may be under way', async () => {
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

  test('ends with the first failure, after what was under way', async () => {
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

  test('takes what comes later, and stops where it is told to', async () => {
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
    await expect(during(world, all)).rejects.toBeInstanceOf(Stopped)
    expect(done).toEqual(items.slice(0, 21))
  })
})
