import { expect, test } from 'vitest'
import { DelayQueue } from '#notifications/delay-queue'
import { ManualWorld } from '#test/runtime/manual-world'

function open() {
  const world = new ManualWorld()
  const due: string[] = []
  const from = world.monotonic()
  const waiting = new DelayQueue<string>(world, (thing) => due.push(`${thing} ${world.monotonic() - from}`))
  return { world, due, waiting }
}

test('each comes back at its time, by one timer', async () => {
  const { world, due, waiting } = open()
  waiting.add('b', 'B', 200)
  waiting.add('a', 'A', 100)
  waiting.add('c', 'C', 300)
  expect(world.timerCount).toBe(1)
  expect([...waiting]).toEqual(['B', 'A', 'C'])
  await world.advance(250)
  expect(due).toEqual(['A 100', 'B 200'])
  expect([waiting.get('a'), waiting.get('c')]).toEqual([undefined, 'C'])
  await world.advance(1_000)
  expect(due).toEqual(['A 100', 'B 200', 'C 300'])
  expect(world.timerCount).toBe(0)
})

test('once, at the time that it was given last, or never when it was taken away', async () => {
  const { world, due, waiting } = open()
  waiting.add('a', 'A', 100)
  waiting.add('a', 'A', 500)
  waiting.add('b', 'B', 500)
  waiting.add('b', 'B', 100)
  waiting.add('c', 'C', 50)
  waiting.delete('c')
  await world.advance(1_000)
  expect(due).toEqual(['B 100', 'A 500'])
})

test('nothing comes back of what was cleared, and what is added then does', async () => {
  const { world, due, waiting } = open()
  waiting.add('a', 'A', 100)
  waiting.clear()
  expect(world.timerCount).toBe(0)
  waiting.add('b', 'B', 200)
  await world.advance(1_000)
  expect(due).toEqual(['B 200'])
})

test('what adds another while it comes back is heard at its own time', async () => {
  const world = new ManualWorld()
  const due: string[] = []
  const waiting: DelayQueue<string> = new DelayQueue<string>(world, (thing) => {
    due.push(thing)
    if (due.length < 3) waiting.add('a', `A${due.length}`, 0)
  })
  waiting.add('a', 'A0', 10)
  await world.advance(10)
  expect(due).toEqual(['A0', 'A1', 'A2'])
})
