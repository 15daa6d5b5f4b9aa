import { expect, test } from 'vitest'
import { Problem } from '#model/problem'
import { ManualWorld } from '#test/runtime/manual-world'
import { runWithRetries } from '#workers/stored-entries'

/** Runs work that fails with these errors, one after the other, and then succeeds. */
function run(errors: readonly Error[], stopAfter = Number.POSITIVE_INFINITY) {
  const world = new ManualWorld()
  const failures: unknown[] = []
  let runs = 0
  const parts = { system: { world }, failed: (error: unknown) => failures.push(error) }
  const work = async () => {
    const error = errors[runs++]
    if (error) throw error
  }
  void runWithRetries(parts as never, () => runs >= stopAfter, work)
  return {
    failures,
    runsAfter: async (ms: number) => {
      await world.advance(ms)
      return runs
    },
  }
}

const unreadable = new Error('unreadable')

test('work that cannot read the store is run again after a second, until it succeeds', async () => {
  const { failures, runsAfter } = run([unreadable, unreadable])
  expect(await runsAfter(999)).toBe(1)
  expect(await runsAfter(1)).toBe(2)
  expect(await runsAfter(60_000)).toBe(3)
  expect(failures).toEqual([unreadable, unreadable])
})

test('work that meets a failed write is not run again', async () => {
  const { failures, runsAfter } = run([new Problem('storage')])
  expect(await runsAfter(60_000)).toBe(1)
  expect(failures).toEqual([])
})

test('work that fails after the stop is neither reported nor run again', async () => {
  const { failures, runsAfter } = run([unreadable, unreadable], 2)
  expect(await runsAfter(60_000)).toBe(2)
  expect(failures).toEqual([unreadable])
})
