import { expect, test } from 'vitest'
import { LagClock } from '#cluster/nats-nodes'

test('a node that has everything has no lag', () => {
  const clock = new LagClock()
  expect(clock.behind(0, 10)).toEqual({ entries: 0, ms: 0 })
  clock.reached(5, 20)
  expect(clock.behind(5, 30)).toEqual({ entries: 0, ms: 0 })
  expect(clock.behind(7, 40)).toEqual({ entries: 0, ms: 0 })
})

test('the lag is the number of missing messages, and the age of the oldest', () => {
  const clock = new LagClock()
  clock.reached(5, 100)
  // A node that has fewer messages does not change the lag.
  clock.reached(3, 150)
  clock.reached(9, 200)
  expect(clock.behind(4, 300)).toEqual({ entries: 5, ms: 200 })
  expect(clock.behind(5, 300)).toEqual({ entries: 4, ms: 100 })
  expect(clock.behind(9, 400)).toEqual({ entries: 0, ms: 0 })
  clock.reached(12, 1_000)
  expect(clock.behind(9, 1_001)).toEqual({ entries: 3, ms: 1 })
})

test('a lag of thousands of messages still has the age of the oldest one', () => {
  const clock = new LagClock()
  for (let sequence = 1; sequence <= 5_000; sequence++) clock.reached(sequence, sequence)
  expect(clock.behind(0, 5_000)).toEqual({ entries: 5_000, ms: 4_999 })
  expect(clock.behind(4_999, 5_000)).toEqual({ entries: 1, ms: 0 })
})
