import { spawnSync } from 'node:child_process'
import { expect, test } from 'vitest'
import { proveDisk } from '#bench/proof/disk'

const hasStrace = spawnSync('strace', ['--version']).status === 0

/** A short run of `npm run proof -- disk`. */
test('a disk that refuses writes, or is full, loses no acknowledged change', {
  timeout: 240_000,
}, async (context) => {
  if (!hasStrace) {
    if (process.env.CI) throw new Error('strace is not installed')
    return context.skip('strace is not installed')
  }
  const seed = Date.now() % 1_000_000_000
  const report = await proveDisk({ seed, refusals: 3, fillings: 2, print: () => {} })
  expect(report.problems, `seed ${seed}`).toEqual([])
  if (process.env.CI) expect(report.skipReason).toBeUndefined()
  if (report.skipReason === undefined) expect([report.continued, report.killed]).toEqual([1, 1])
  expect(report.serving).toBeGreaterThanOrEqual(2)
  expect(report.once).toBe(1)
  expect(report.acknowledged).toBeGreaterThan(0)
})
