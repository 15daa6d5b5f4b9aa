import { expect, test } from 'vitest'
import { DelayQueue } from '#notifications/delay-queue'
import { ManualWorld } from '#test/runtime/manual-world'

function open() {
  const world = new ManualWorld()
  const due: string[] = []
  const from = world.monotonic()
  const queue = new DelayQueue<string>(world, (thing) => due.push(`${thing} ${world.monotonic() - from}`))
  return { world, due, queue }
}

test('each item is due at its time, with one timer', async () => {
  const { world, due, queue } = open()
  queue.add('b', 'B', 200)
  queue.add('a', 'A', 100)
  queue.add('c', 'C', 300)
  expect(world.timerCount).toBe(1)
  expect([...queue]).toEqual(['B', 'A', 'C'])
  await world.advance(250)
  expect(due).toEqual(['A 100', 'B 200'])
  expect([queue.get('a'), queue.get('c')]).toEqual([undefined, 'C'])
  await world.advance(1_000)
  expect(due).toEqual(['A 100', 'B 200', 'C 300'])
  expect(world.timerCount).toBe(0)
})

test('an item is due once at its latest time, or never if it was deleted', async () => {
  const { world, due, queue } = open()
  queue.add('a', 'A', 100)
  queue.add('a', 'A', 500)
  queue.add('b', 'B', 500)
  queue.add('b', 'B', 100)
  queue.add('c', 'C', 50)
  queue.delete('c')
  await world.advance(1_000)
  expect(due).toEqual(['B 100', 'A 500'])
})

test('cleared items are never due, later ones are', async () => {
  const { world, due, queue } = open()
  queue.add('a', 'A', 100)
  queue.clear()
  expect(world.timerCount).toBe(0)
  queue.add('b', 'B', 200)
  await world.advance(1_000)
  expect(due).toEqual(['B 200'])
})

test('an item may add another item when it is due', async () => {
  const world = new ManualWorld()
  const due: string[] = []
  const queue: DelayQueue<string> = new DelayQueue<string>(world, (thing) => {
    due.push(thing)
    if (due.length < 3) queue.add('a', `A${due.length}`, 0)
  })
  queue.add('a', 'A0', 10)
  await world.advance(10)
  expect(due).toEqual(['A0', 'A1', 'A2'])
})
