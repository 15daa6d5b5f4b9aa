import { expect, test } from 'vitest'
import { plainValue, readableValue, storedRequestsMax, storedValue } from '#model/delivery'

test.each([
  [1, 256],
  [60, 256],
  [128, 256],
  [129, 258],
  [2_048, 4_096],
  [1_000_000, 4_096],
])('with a limit of %i mails an hour, %i requests are kept', (mailsPerHourMax, kept) => {
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
  ['a'.repeat(1_025), `${'a'.repeat(1_023)}…`],
  [`${'a'.repeat(1_022)}😀b`, `${'a'.repeat(1_022)}…`],
  [`${'a'.repeat(1_021)}😀bc`, `${'a'.repeat(1_021)}😀…`],
  [new Array(70).fill('b'.repeat(2_000)), new Array(65).fill(`${'b'.repeat(1_023)}…`)],
])('a request has short values without a lone surrogate, marked if they are cut: %#', (value, kept) => {
  expect(storedValue(value)).toEqual(kept)
})

const numbers = (count: number) => Array.from({ length: count }, (_, index) => index)

test.each([
  ['a text', 'a'.repeat(1_024), 'a'.repeat(1_024), 'a'.repeat(1_024), false],
  ['a long text', 'a'.repeat(1_025), `${'a'.repeat(1_023)}…`, `${'a'.repeat(1_023)}…`, true],
  ['a short text that ends with the mark', 'wait…', 'wait…', 'wait…', false],
  ['a list', numbers(64), numbers(64), numbers(64), false],
  ['a long list', numbers(65), [...numbers(64), '…'], numbers(64), true],
  ['a list with a long text', ['a'.repeat(2_000)], [`${'a'.repeat(1_023)}…`], [`${'a'.repeat(1_023)}…`], true],
])('%s is shown to people and to programs with a sign when it is cut', (_, value, readable, plain, isCut) => {
  expect(readableValue(storedValue(value))).toEqual(readable)
  expect(plainValue(storedValue(value))).toEqual({ value: plain, isCut })
})
