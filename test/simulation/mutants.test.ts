import { describe, expect, test } from 'vitest'
import { checkMutant, expectationOf, isAsExpected, lineOf, type MutantReport, mutantNames } from '#bench/proof/mutants'

/** `npm run proof -- mutants` shows that the simulation detects these mistakes. */
describe.each(mutantNames())('the mistake "%s"', (name) => {
  test('can be planted in the sources as they are', () => {
    expect(() => checkMutant(name)).not.toThrow()
  })

  test('names the error to expect', () => {
    const expectation = expectationOf(name)
    // A shorter text could be part of almost any fault.
    expect(expectation.replaceAll(/[^a-z]/gi, '').length).toBeGreaterThan(10)
    expect(isAsExpected({ seed: 1, fault: expectation }, expectation)).toBe(true)
    expect(isAsExpected({ seed: 1, fault: 'a bug: a turn of device D0' }, expectation)).toBe(false)
  })
})

test('there are at least 7 mutants', () => {
  expect(mutantNames().length).toBeGreaterThanOrEqual(7)
})

describe('the expected error', () => {
  const expectation = 'receives …, without permission'
  test.each([
    ['is reported', 'Error: seed 7, step 3: user 1 receives {"a":1}, without permission. Again: SEED=7', true],
    [
      'is the cause of the reported error',
      'Error: refused\n    at x (a.ts:1:2)\nbecause of Error: B receives it, without permission',
      true,
    ],
    ['is incomplete', 'Error: user 1 receives {"a":1}, by a permission that was never stored', false],
    ['has its parts in reverse order', 'Error: , without permission: receives ', false],
    ['spans two lines', 'Error: user 1 receives {\n}, without permission', false],
    ['is the name of a function', 'Error: it broke\n    at receives x, without permission (a.ts:1:2)', false],
    ['is not reported', 'Error: it broke', false],
    ['is missing, without any error', undefined, false],
  ])('%s', (_, fault, isIt) => {
    expect(isAsExpected({ seed: 7, ...(fault !== undefined && { fault }) }, expectation)).toBe(isIt)
  })

  test('is never that a process died', () => {
    const fault = 'its process died: 3'
    expect(isAsExpected({ seed: 7, fault }, 'its process died')).toBe(true)
    expect(isAsExpected({ seed: 7, fault, isDead: true }, 'its process died')).toBe(false)
  })
})

const report: MutantReport = {
  ...{ name: 'a-mistake', found: undefined, other: undefined, broken: undefined },
  ...{ seeds: 12, seconds: 3.4 },
}
const other = { seed: 4, fault: 'its process died: 3\nand more', isDead: true } as const
const missed = 'a-mistake: NOT FOUND (12 seeds, 3 s): '

test.each<[string, Partial<MutantReport>, string]>([
  [
    'that was found',
    { found: { seed: 5, fault: 'X\nand more' }, other },
    'a-mistake: found by seed 5 (12 seeds, 3 s): X',
  ],
  ['of which nothing was seen', {}, `${missed}nothing was wrong`],
  ['with another error only', { other }, `${missed}the expected fault was not reported; seed 4: its process died: 3`],
  ['that does not compile', { broken: 'it was not compiled' }, `${missed}there is nothing to run, it was not compiled`],
])('the report line of a mutant %s', (_, more, line) => {
  expect(lineOf({ ...report, ...more })).toBe(line)
})
