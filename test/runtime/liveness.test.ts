import { beforeEach, expect, test } from 'vitest'
import { deadAfterMs, Liveness, pingEveryMs } from '#runtime/liveness'
import type { Socket } from '#runtime/socket'
import { ManualWorld } from '#test/runtime/manual-world'

let world: ManualWorld
let pings: string[]
let reports: string[]
let liveness: Liveness<string>

beforeEach(() => {
  world = new ManualWorld()
  pings = []
  reports = []
  const socketOf = (subject: string) => ({ ping: () => void pings.push(subject) }) as unknown as Socket
  liveness = new Liveness(world, socketOf, {
    unanswered: (subject) => void reports.push(`${subject} unanswered`),
    dead: (subject) => void reports.push(`${subject} dead`),
  })
})

test('every socket is pinged every half minute', async () => {
  liveness.watch('a')
  await world.advance(10_000)
  liveness.watch('b')
  await world.advance(pingEveryMs * 3 - 10_000 + 1_000)
  expect(pings).toEqual(['a', 'b', 'a', 'b', 'a'])
})

test('a socket that answers stays connected', async () => {
  liveness.watch('a')
  for (let pinged = 1; pinged <= 20; pinged++) {
    while (pings.length < pinged) await world.advance(500)
    liveness.touch('a')
  }
  expect(reports).toEqual([])
})

test('a socket that does not answer is reported at the next ping, and is dead after two minutes', async () => {
  liveness.watch('a')
  await world.advance(pingEveryMs + 1_500)
  expect(reports).toEqual([])
  await world.advance(pingEveryMs)
  expect(reports).toEqual(['a unanswered'])
  await world.advance(deadAfterMs - 2 * pingEveryMs + 1_500)
  expect(reports.filter((what) => what === 'a dead')).toHaveLength(1)
  const pinged = pings.length
  await world.advance(10 * pingEveryMs)
  expect(pings).toHaveLength(pinged)
  expect(reports.filter((what) => what === 'a dead')).toHaveLength(1)
})

test('a late sign of life counts', async () => {
  liveness.watch('a')
  await world.advance(deadAfterMs - 5_000)
  liveness.touch('a')
  await world.advance(60_000)
  expect(reports).not.toContain('a dead')
  await world.advance(deadAfterMs)
  expect(reports).toContain('a dead')
})

test('a forgotten socket is not pinged or reported', async () => {
  liveness.watch('a')
  liveness.watch('b')
  await world.advance(pingEveryMs + 1_500)
  liveness.forget('a')
  await world.advance(deadAfterMs * 2)
  expect(pings.filter((subject) => subject === 'a')).toHaveLength(1)
  expect(reports).not.toContain('a dead')
  expect(reports).toContain('b dead')
})

test('thousands of sockets are pinged in slices', async () => {
  const all = Array.from({ length: 2_300 }, (_, index) => `s${index}`)
  for (const subject of all) liveness.watch(subject)
  await world.advance(pingEveryMs + 1_500)
  expect(pings).toEqual(all)
})

test('stop cancels all pings and timers', async () => {
  liveness.watch('a')
  liveness.stop()
  expect(world.timerCount).toBe(0)
  await world.advance(deadAfterMs * 2)
  expect([...pings, ...reports]).toEqual([])
})

test('no timer runs without watched sockets', async () => {
  liveness.watch('a')
  liveness.forget('a')
  await world.advance(5_000)
  expect(world.timerCount).toBe(0)
  liveness.watch('b')
  await world.advance(pingEveryMs + 1_000)
  expect(pings).toEqual(['b'])
})
