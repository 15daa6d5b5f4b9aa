import { expect, test } from 'vitest'
import { restMsAfter } from '#iam/password-pace'

test.each([
  { tookMs: 8, loopShare: 0, restMs: 0 },
  { tookMs: 8, loopShare: 0.33, restMs: 0 },
  { tookMs: 8, loopShare: 0.34, restMs: 72 },
  { tookMs: 8, loopShare: 1, restMs: 72 },
  { tookMs: 0, loopShare: 1, restMs: 0 },
  { tookMs: 5_000, loopShare: 1, restMs: 150 },
])('after $tookMs ms beside a loop busy for $loopShare of its time, passwords rest for $restMs ms', (line) => {
  expect(restMsAfter(line.tookMs, line.loopShare)).toBe(line.restMs)
})
