import { beforeEach, expect, test } from 'vitest'
import { deadAfterMs, Liveness, pingEveryMs } from '#runtime/liveness'
import type { Socket } from '#runtime/socket'
import { ManualWorld } from '#test/runtime/manual-world'

let world: ManualWorld
let pings: string[]
let said: string[]
let liveness: Liveness<string>

beforeEach(() => {
  world = new ManualWorld()
  pings = []
  said = []
  const socketOf = (subject: string) => ({ ping: () => void pings.push(subject) }) as unknown as Socket
  liveness = new Liveness(world, socketOf, {
    unanswered: (subject) => void said.push(`${subject} unanswered`),
    dead: (subject) => void said.push(`${subject} dead`),
  })
})

test('everybody is pinged every half minute', async () => {
  liveness.watch('a')
  await world.advance(10_000)
  liveness.watch('b')
  await world.advance(pingEveryMs * 3 - 10_000 + 1_000)
  expect(pings).toEqual(['a', 'b', 'a', 'b', 'a'])
})

test('who answers stays', async () => {
  liveness.watch('a')
  for (let pinged = 1; pinged <= 20; pinged++) {
    while (pings.length < pinged) await world.advance(500)
    liveness.touch('a')
  }
  expect(said).toEqual([])
})

test('who does not answer is told of at the next ping, and is dead after two minutes', async () => {
  liveness.watch('a')
  await world.advance(pingEveryMs + 1_500)
  expect(said).toEqual([])
  await world.advance(pingEveryMs)
  expect(said).toEqual(['a unanswered'])
  await world.advance(deadAfterMs - 2 * pingEveryMs + 1_500)
  expect(said.filter((what) => what === 'a dead')).toHaveLength(1)
  const pinged = pings.length
  await world.advance(10 * pingEveryMs)
  expect(pings).toHaveLength(pinged)
  expect(said.filter((what) => what === 'a dead')).toHaveLength(1)
})

test('any sign of life counts, however late', async () => {
  liveness.watch('a')
  await world.advance(deadAfterMs - 5_000)
  liveness.touch('a')
  await world.advance(60_000)
  expect(said).not.toContain('a dead')
  await world.advance(deadAfterMs)
  expect(said).toContain('a dead')
})

test('who is forgotten is neither pinged nor missed', async () => {
  liveness.watch('a')
  liveness.watch('b')
  await world.advance(pingEveryMs + 1_500)
  liveness.forget('a')
  await world.advance(deadAfterMs * 2)
  expect(pings.filter((subject) => subject === 'a')).toHaveLength(1)
  expect(said).not.toContain('a dead')
  expect(said).toContain('b dead')
})

test('thousands are pinged in slices, all of them', async () => {
  const all = Array.from({ length: 2_300 }, (_, index) => `s${index}`)
  for (const subject of all) liveness.watch(subject)
  await world.advance(pingEveryMs + 1_500)
  expect(pings).toEqual(all)
})

test('nothing is done after stop, and no timer is left', async () => {
  liveness.watch('a')
  liveness.stop()
  expect(world.timerCount).toBe(0)
  await world.advance(deadAfterMs * 2)
  expect([...pings, ...said]).toEqual([])
})

test('no timer runs when nobody is watched', async () => {
  liveness.watch('a')
  liveness.forget('a')
  await world.advance(5_000)
  expect(world.timerCount).toBe(0)
  liveness.watch('b')
  await world.advance(pingEveryMs + 1_000)
  expect(pings).toEqual(['b'])
})
