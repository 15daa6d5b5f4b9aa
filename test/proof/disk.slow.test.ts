import { spawnSync } from 'node:child_process'
import { expect, test } from 'vitest'
import { proveDisk } from '#bench/proof/disk'
import { faultAt } from '#bench/proof/disk-faults'

const hasStrace = spawnSync('strace', ['--version']).status === 0

test('of what is refused two thirds hit a server that serves, and half of that is one call alone at least', () => {
  const faults = Array.from({ length: 36 }, (_, place) => faultAt(place))
  const serving = faults.filter(({ moment }) => moment === 'serving')
  expect(serving).toHaveLength(24)
  expect(serving.filter(({ isOnce }) => isOnce).length).toBeGreaterThanOrEqual(12)
  const calls = new Set(faults.flatMap(({ call }) => call.split(',')))
  expect([...calls].sort()).toEqual(['fdatasync', 'fsync', 'mmap', 'openat', 'pread64', 'read', 'rename', 'write'])
})

/** Against the built server, as `npm run proof -- disk` is: a start, and then writes of one that serves. */
test('a disk that refuses a write, once or from then on, costs nothing that was acknowledged', {
  timeout: 240_000,
}, async (context) => {
  if (!hasStrace) {
    if (process.env.CI) throw new Error('strace is not there')
    return context.skip('strace is not there')
  }
  const seed = Date.now() % 1_000_000_000
  const report = await proveDisk({ seed, refusals: 3, fillings: 0, print: () => {} })
  expect(report.problems, `seed ${seed}`).toEqual([])
  expect(report.serving).toBeGreaterThanOrEqual(2)
  expect(report.once).toBe(1)
  expect(report.acknowledged).toBeGreaterThan(0)
})
