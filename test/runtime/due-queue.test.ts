import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type Due, DueQueue, unplaced } from '#runtime/due-queue'
import { forAllAsync } from '#test/kit/for-all'
import { ManualWorld } from '#test/runtime/manual-world'

interface Thing extends Due {
  readonly name: string
}

function open(then: (name: string, put: (key: string, name: string, waitMs: number) => void) => void = () => {}) {
  const world = new ManualWorld()
  const due: string[] = []
  const from = world.monotonic()
  const queue: DueQueue<Thing> = new DueQueue(world, 'monotonic', ({ name }) => {
    due.push(`${name} ${world.monotonic() - from}`)
    then(name, put)
  })
  const put = (key: string, name: string, waitMs: number) =>
    queue.put({ key, name, ...unplaced }, world.monotonic() + waitMs)
  return { world, due, queue, put }
}

test('each item is due at its time, with one timer', async () => {
  const { world, due, queue, put } = open()
  put('b', 'B', 200)
  put('a', 'A', 100)
  put('c', 'C', 300)
  expect(world.timerCount).toBe(1)
  expect([...queue].map(({ name }) => name)).toEqual(['B', 'A', 'C'])
  await world.advance(250)
  expect(due).toEqual(['A 100', 'B 200'])
  expect([queue.get('a')?.name, queue.get('c')?.name]).toEqual([undefined, 'C'])
  await world.advance(1_000)
  expect(due).toEqual(['A 100', 'B 200', 'C 300'])
  expect(world.timerCount).toBe(0)
})

test('an item is due once at its latest time, or never if it was deleted', async () => {
  const { world, due, queue, put } = open()
  put('a', 'A', 100)
  put('a', 'A', 500)
  put('b', 'B', 500)
  put('b', 'B', 100)
  put('c', 'C', 50)
  queue.delete('c')
  await world.advance(1_000)
  expect(due).toEqual(['B 100', 'A 500'])
})

test('cleared items are never due, later ones are', async () => {
  const { world, due, queue, put } = open()
  put('a', 'A', 100)
  queue.clear()
  expect(world.timerCount).toBe(0)
  put('b', 'B', 200)
  await world.advance(1_000)
  expect(due).toEqual(['B 200'])
})

test('an item may add another item when it is due', async () => {
  const { world, due, put } = open((name, put) => {
    if (name.length < 3) put('a', `${name}A`, 0)
  })
  put('a', 'A', 10)
  await world.advance(10)
  expect(due).toEqual(['A 10', 'AA 10', 'AAA 10'])
})

test('items with the same time are due in the order in which they were put', async () => {
  const change = fc.record({ key: fc.nat(30), waitMs: fc.option(fc.nat(5)) })
  await forAllAsync([fc.array(change, { maxLength: 150 })], 60, async (changes) => {
    const { world, due, queue, put } = open()
    let left: { key: string; waitMs: number }[] = []
    for (const { key: number, waitMs } of changes) {
      const key = `${number}`
      const known = queue.get(key)
      left = left.filter((other) => other.key !== key)
      if (waitMs === null) queue.delete(key)
      else if (known && number % 2) queue.put(known, world.monotonic() + waitMs)
      else put(key, key, waitMs)
      if (waitMs !== null) left.push({ key, waitMs })
    }
    await world.advance(5)
    const sorted = left.sort((one, other) => one.waitMs - other.waitMs)
    expect(due).toEqual(sorted.map(({ key, waitMs }) => `${key} ${waitMs}`))
  })
})
