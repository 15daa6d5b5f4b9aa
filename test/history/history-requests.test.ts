import { expect, test } from 'vitest'
import { HistoryRequests } from '#history/history-requests'
import { Problem } from '#model/problem'
import { ManualWorld } from '#test/runtime/manual-world'

const service = {
  query: async () => 'unknown' as const,
  fleetAggregate: async () => 'unknown' as const,
  importPoints: async () => ({ old: 0, stored: 0 }),
  flush: async () => 0,
  compact: async () => {},
  confirm: async () => {},
  reuse: () => {},
}
const sync = async () => {}
const compactionFailed = () => {}
const lag = { entries: 0, ms: 0 }

test('a limited number of requests runs at once; others wait, with users taking turns, and the rest is refused', async () => {
  const reads = new HistoryRequests({
    world: new ManualWorld(),
    service,
    follower: { lag, whenReached: () => () => {} },
    positionOf: () => ({ epoch: 'e', offset: 1 }),
    sync,
    compactionFailed,
  })
  const begun: string[] = []
  const ends: (() => void)[] = []
  const ask = (group: string) =>
    reads.ask(group, async () => {
      begun.push(group)
      await new Promise<void>((end) => ends.push(end))
    })
  const asked = Array.from({ length: 68 }, () => ask('greedy'))
  const settled = Promise.allSettled([...asked, ask('modest')])
  await expect(ask('greedy')).rejects.toMatchObject({ code: 'overloaded' })
  expect(begun.length).toBe(4)
  for (let index = 0; index < 8; index++) {
    ends.shift()?.()
    await new Promise((resolve) => setImmediate(resolve))
  }
  expect(begun.slice(4, 7)).toContain('modest')
  while (ends.length > 0) {
    ends.shift()?.()
    await new Promise((resolve) => setImmediate(resolve))
  }
  const results = await settled
  // One request of the user with many was refused, so that the user with one has a place.
  const refused = results.flatMap((each) => (each.status === 'rejected' ? [each.reason] : []))
  expect(refused).toEqual([expect.any(Problem)])
  expect(begun.filter((group) => group === 'greedy').length).toBe(67)
})

test('requests that wait for a position take no place of others, and fail after five seconds', async () => {
  const world = new ManualWorld()
  const waits: (() => void)[] = []
  const reads = new HistoryRequests({
    world,
    service,
    follower: {
      lag,
      whenReached: (_tenant, _offset, reached) => {
        waits.push(reached)
        return () => {}
      },
    },
    positionOf: () => ({ epoch: 'e', offset: waits.length }),
    sync,
    compactionFailed,
  })
  const reached = Array.from({ length: 100 }, () => reads.reach('default'))
  expect(await reads.ask('other', async () => 'answered')).toBe('answered')
  for (const wait of waits.slice(0, 99)) wait()
  await Promise.all(reached.slice(0, 99))
  const late = expect(reached[99]).rejects.toMatchObject({ code: 'history_behind' })
  world.advance(5_000)
  await late
})

test.each(['flush', 'sync', 'compact'])('a compaction whose %s fails can be repeated', async (step) => {
  const done: string[] = []
  const failures: unknown[] = []
  const failure = new Error('disk error')
  let isFailing = true
  const run = async (name: string) => {
    done.push(name)
    if (isFailing && name === step) throw failure
  }
  const requests = new HistoryRequests({
    world: new ManualWorld(),
    service: { ...service, flush: () => run('flush').then(() => 0), compact: () => run('compact') },
    follower: { lag, whenReached: () => () => {} },
    positionOf: () => ({ epoch: 'e', offset: 1 }),
    sync: () => run('sync'),
    compactionFailed: (error) => failures.push(error),
  })
  requests.compact()
  await new Promise((resolve) => setImmediate(resolve))
  // History itself reports a failed merge.
  expect(failures).toEqual(step === 'compact' ? [] : [failure])
  isFailing = false
  done.length = 0
  requests.compact()
  await new Promise((resolve) => setImmediate(resolve))
  expect(done).toEqual(['flush', 'sync', 'compact'])
})
