import { expect, test } from 'vitest'
import { stolenSince } from '#bench/harness/stolen-time'

test.each([
  ['a tenth of it', 'cpu  100 0 50 800 0 0 0 50 7 0', 'cpu  150 0 60 910 0 0 10 70 9 0', 0.1],
  ['nothing of none', 'cpu  1 2 3 4 5 6 7 8 0 0', 'cpu  1 2 3 4 5 6 7 8 0 0', 0],
  ['what an old kernel does not tell', 'cpu  1 2 3 4', 'cpu  2 3 4 5', undefined],
  ['what is not Linux', '', '', undefined],
])('the share of the time that the host took: %s', (_, before, after, share) => {
  const texts = [before, after]
  const since = stolenSince(() => `${texts.shift()}\ncpu0 9 9 9 9 9 9 9 9\n`)
  expect(since()).toBe(share)
})

test.skipIf(process.platform !== 'linux')('is read of this machine', () => {
  const share = stolenSince()()
  expect(share).toBeGreaterThanOrEqual(0)
  expect(share).toBeLessThanOrEqual(1)
})
