import { describe, expect, test } from 'vitest'
import type { CaseResult } from '#bench/harness/measure'
import { judge } from '#bench/harness/measure'

const speed = { median: 50, min: 10, max: 90 }
const ratio = { median: 0.7, min: 0.6, max: 0.9 }
const results: readonly CaseResult[] = [
  {
    name: 'a',
    baseline: 'bare',
    variants: [{ name: 'ours', rounds: [], figures: { speed }, ratios: { speed: ratio }, isLoadFull: false }],
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
    expect(judge([target], results)).toEqual([{ target, figure: 'speed', isLoadFull: false, reached, isHeld }])
  })
})

test('a ratio may be to another than the baseline', () => {
  const of = (name: string, speeds: readonly number[]) => {
    const rounds = speeds.map((speed) => ({ speed }))
    return { name, rounds, figures: { speed }, ratios: {}, isLoadFull: false }
  }
  const several = [{ name: 'a', baseline: undefined, variants: [of('ours', [10, 30, 20]), of('theirs', [5, 10, 5])] }]
  const target = { ...aimed, comparedWith: 'theirs', isRatio: true, atLeast: 3 }
  const reached = { median: 3, min: 2, max: 4 }
  expect(judge([target], several)).toEqual([{ target, figure: 'speed', isLoadFull: false, reached, isHeld: true }])
  expect(() => judge([{ ...target, comparedWith: 'nobody' }], several)).toThrow(/has no/)
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

describe('what could not be measured', () => {
  test('is not held', () => {
    const target = { ...aimed, figure: 'size', atMost: 1 }
    expect(judge([target], results, true)).toEqual([
      { target, figure: 'size', isLoadFull: false, reached: undefined, isHeld: false },
    ])
  })

  test('is a mistake where there is no such variant', () => {
    expect(() => judge([{ ...aimed, variant: 'other' }], results, true)).toThrow(/has no/)
  })
})

describe('where the load was full', () => {
  const spread = (median: number) => ({ median, min: median, max: median })
  /** The rate's ratio is the load's; a CPU second of ours buys four fifths. */
  const loaded = (isOursFull: boolean, isBareFull: boolean): readonly CaseResult[] => [
    {
      name: 'a',
      baseline: 'bare',
      variants: [
        { name: 'bare', rounds: [], figures: { speed: spread(100) }, ratios: {}, isLoadFull: isBareFull },
        {
          name: 'ours',
          rounds: [],
          figures: { speed: spread(100), perCpu: spread(8) },
          ratios: { speed: spread(1), perCpu: spread(0.8) },
          isLoadFull: isOursFull,
        },
      ],
    },
  ]
  const ratioWanted = { ...aimed, isRatio: true, atLeast: 0.9 }
  const figureWanted = { ...aimed, atLeast: 9 }
  const whenLoadIsFull = 'perCpu'

  test.each([
    [
      'with ours: the other figure, by the same bounds',
      { ...ratioWanted, whenLoadIsFull },
      true,
      false,
      'perCpu',
      false,
    ],
    ['with the baseline: the other figure too', { ...ratioWanted, whenLoadIsFull }, false, true, 'perCpu', false],
    ['with neither: the figure itself', { ...ratioWanted, whenLoadIsFull }, false, false, 'speed', true],
    ['and no other figure is named: itself', ratioWanted, true, true, 'speed', true],
    ['a figure that is no ratio', { ...figureWanted, whenLoadIsFull }, true, false, 'perCpu', false],
    ['with the baseline, of what is no ratio: itself', { ...figureWanted, whenLoadIsFull }, false, true, 'speed', true],
  ])('%s', (_, target, isOursFull, isBareFull, figure, isHeld) => {
    const [verdict] = judge([target], loaded(isOursFull, isBareFull))
    expect(verdict).toMatchObject({ figure, isHeld })
    expect(verdict?.isLoadFull).toBe(isOursFull || ('isRatio' in target && isBareFull))
  })
})
