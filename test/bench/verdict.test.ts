import { describe, expect, test } from 'vitest'
import type { CaseResult } from '#bench/harness/measure'
import { judge } from '#bench/harness/verdict'

const speed = { median: 50, min: 10, max: 90 }
const ratio = { median: 0.7, min: 0.6, max: 0.9 }
const results: readonly CaseResult[] = [
  {
    name: 'a',
    baseline: 'bare',
    variants: [{ name: 'ours', rounds: [], figures: { speed }, ratios: { speed: ratio } }],
  },
]
const aimed = { case: 'a', variant: 'ours', figure: 'speed' }

describe('the median decides', () => {
  test.each([
    ['at least, above', { atLeast: 49 }, true],
    ['at least, just so', { atLeast: 50 }, true],
    ['at least, below', { atLeast: 51 }, false],
    ['at most, below', { atMost: 51 }, true],
    ['at most, just so', { atMost: 50 }, true],
    ['at most, above', { atMost: 49 }, false],
    ['between', { atLeast: 40, atMost: 60 }, true],
    ['not between', { atLeast: 10, atMost: 40 }, false],
    ['nothing wanted', {}, true],
    ['a ratio, held', { isRatio: true, atLeast: 0.7 }, true],
    ['a ratio, not held', { isRatio: true, atLeast: 0.71 }, false],
  ])('%s', (_, wanted, isHeld) => {
    const target = { ...aimed, ...wanted }
    const reached = 'isRatio' in wanted ? ratio : speed
    expect(judge([target], results)).toEqual([{ target, reached, isHeld }])
  })
})

describe('a target that nothing was measured for is a mistake', () => {
  test.each([
    ['no such case', { ...aimed, case: 'b' }],
    ['no such variant', { ...aimed, variant: 'bare' }],
    ['no such figure', { ...aimed, figure: 'size' }],
    ['no ratio of it', { ...aimed, figure: 'size', isRatio: true }],
  ])('%s', (_, target) => {
    expect(() => judge([target], results)).toThrow(/has no/)
  })
})
