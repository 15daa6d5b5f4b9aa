import { expect, test } from 'vitest'
import { storedRequestsMax, storedValue } from '#model/delivery'

test.each([
  [1, 256],
  [60, 256],
  [128, 256],
  [129, 258],
  [2_048, 4_096],
  [1_000_000, 4_096],
])('%i mails an hour keep %i requests', (mailsPerHourMax, kept) => {
  expect(storedRequestsMax(mailsPerHourMax)).toBe(kept)
})

test.each([
  [null, null],
  [true, true],
  [-0.5, -0.5],
  ['offline', 'offline'],
  [{ error: 'sensor broken' }, null],
  [
    [1, 'a', false],
    [1, 'a', false],
  ],
  ['a'.repeat(1_024), 'a'.repeat(1_024)],
  ['a'.repeat(1_025), 'a'.repeat(1_024)],
  [`${'a'.repeat(1_023)}😀`, 'a'.repeat(1_023)],
  [`${'a'.repeat(1_022)}😀b`, `${'a'.repeat(1_022)}😀`],
  [new Array(65).fill('b'.repeat(2_000)), new Array(64).fill('b'.repeat(1_024))],
])('a request has short values without a lone surrogate: %#', (value, kept) => {
  expect(storedValue(value)).toEqual(kept)
})
