import { describe, expect, test } from 'vitest'
import {
  type Benchmark,
  type Case,
  type CaseResult,
  type Figures,
  judge,
  type MeasureOptions,
  measure,
  type Round,
} from '#bench/harness/benchmark'
import { markdownOf } from '#bench/harness/report'
import { spreadOf } from '#bench/harness/statistics'

const form = { title: 'speed', digits: 0, isCompared: true }

/** A benchmark that records its measurements and returns the figures of `answer`. */
function benchmarkOf(
  cases: readonly (Omit<Case, 'variants'> & { readonly variants: readonly string[] })[],
  answer: (key: string, round: Round) => Figures | Promise<Figures> = () => ({ speed: 1 }),
): { readonly benchmark: Benchmark; readonly measured: string[] } {
  const measured: string[] = []
  const benchmark: Benchmark = {
    figures: { speed: form, size: { title: 'size', digits: 0 } },
    targets: [],
    cases: cases.map((each) => ({
      ...each,
      variants: each.variants.map((name) => ({
        name,
        async measure(round) {
          const key = `${each.name}/${name}`
          measured.push(`${round.number} ${key}`)
          return await answer(key, round)
        },
      })),
    })),
  }
  return { benchmark, measured }
}

function options(rounds: number, more: Partial<MeasureOptions> = {}): MeasureOptions {
  return { rounds, isQuick: false, print: () => {}, ...more }
}

test('every variant is measured in every round, in alternating order', async () => {
  const { benchmark, measured } = benchmarkOf([
    { name: 'a', variants: ['x', 'y', 'z'] },
    { name: 'b', variants: ['x', 'y'] },
  ])
  await measure(benchmark, options(3))
  expect(measured).toEqual([
    ...['0 a/x', '0 a/y', '0 a/z', '0 b/x', '0 b/y'],
    ...['1 a/z', '1 a/y', '1 a/x', '1 b/y', '1 b/x'],
    ...['2 a/x', '2 a/y', '2 a/z', '2 b/x', '2 b/y'],
  ])
})

test('figures have a spread over the rounds, and ratios compare each round with the baseline of the same round', async () => {
  const { benchmark } = benchmarkOf(
    [{ name: 'a', variants: ['bare', 'ours'], baseline: 'bare' }],
    (key, { number }) => ({ speed: (key === 'a/bare' ? 100 : 50) * (number + 1), size: number }),
  )
  const { results } = await measure(benchmark, options(3))
  const [bare, ours] = results[0]?.variants ?? []
  expect(ours).toEqual({
    name: 'ours',
    rounds: [
      { speed: 50, size: 0 },
      { speed: 100, size: 1 },
      { speed: 150, size: 2 },
    ],
    figures: { speed: { median: 100, min: 50, max: 150 }, size: { median: 1, min: 0, max: 2 } },
    // `size` is not compared.
    ratios: { speed: { median: 0.5, min: 0.5, max: 0.5 } },
    isLoadFull: false,
  })
  expect(bare?.ratios).toEqual({})
})

describe('a failed measurement', () => {
  const both: Parameters<typeof benchmarkOf>[0] = [
    { name: 'a', variants: ['bare', 'ours'], baseline: 'bare' },
    { name: 'b', variants: ['ours'] },
  ]
  const wrong = new Error('the server ended')

  test('does not stop the others, and a round without both measurements has no ratio', async () => {
    const { benchmark, measured } = benchmarkOf(both, (key, { number }) => {
      if (key === 'a/ours' && number === 1) throw wrong
      if (key === 'a/bare' && number === 3) throw wrong
      // Each round has another ratio, so that the result shows which rounds were compared.
      return { speed: key === 'a/bare' ? 10 : 10 * (number + 1) }
    })
    const { results, failures } = await measure(benchmark, options(4))
    expect(measured).toHaveLength(12)
    expect(failures).toEqual([
      { what: 'round 2  a / ours', error: wrong.stack },
      { what: 'round 4  a / bare', error: wrong.stack },
    ])
    const [bare, ours] = results[0]?.variants ?? []
    expect(ours?.rounds).toEqual([{ speed: 10 }, null, { speed: 30 }, { speed: 40 }])
    expect(ours?.figures.speed).toEqual({ median: 30, min: 10, max: 40 })
    expect(ours?.ratios.speed).toEqual({ median: 2, min: 1, max: 3 })
    expect(bare?.figures.speed).toEqual({ median: 10, min: 10, max: 10 })
    expect(results[1]?.variants[0]?.rounds).toHaveLength(4)
  })
})

test.each([
  ['an odd number', [9, 1, 5], { median: 5, min: 1, max: 9 }],
  ['an even number', [10, 1, 2, 4], { median: 3, min: 1, max: 10 }],
])('the spread of %s of values has their median, minimum and maximum', (_, values, spread) => {
  expect(spreadOf(values)).toEqual(spread)
})

describe('a target', () => {
  const flat = (median: number) => ({ median, min: median, max: median })
  const aimed = { case: 'a', variant: 'ours', figure: 'speed' }
  const results: readonly CaseResult[] = [
    {
      name: 'a',
      baseline: 'bare',
      variants: [
        {
          name: 'bare',
          rounds: [{ speed: 40 }],
          figures: { speed: flat(40), size: flat(1) },
          ratios: {},
          isLoadFull: false,
        },
        {
          name: 'ours',
          rounds: [{ speed: 50 }],
          figures: { speed: { median: 50, min: 10, max: 90 } },
          ratios: { speed: flat(1) },
          isLoadFull: false,
        },
      ],
    },
  ]

  test.each([
    [{ atLeast: 50 }, true],
    [{ atLeast: 51 }, false],
    [{ atMost: 50 }, true],
    [{ atMost: 49 }, false],
    [{ isRatio: true, atLeast: 1 }, true],
    [{ isRatio: true, atLeast: 1.01 }, false],
  ])('is compared with the median: %j', (limits, isHeld) => {
    expect(judge([{ ...aimed, ...limits }], results)).toMatchObject([{ isHeld }])
  })

  test.each([
    [50, true],
    [49, false],
  ])('without a variant is a bound for every variant: %j', (atMost, isHeld) => {
    expect(judge([{ case: 'a', figure: 'speed', atMost }], results)).toMatchObject([
      { reached: { median: 50 }, isHeld },
    ])
  })

  test.each([
    [aimed, 'a / ours has no weight'],
    [{ case: 'a' }, 'a has no weight'],
  ])('for a figure that was not measured is an error: %j', (target, message) => {
    expect(() => judge([{ ...target, figure: 'weight', atMost: 1 }], results)).toThrow(new RegExp(`^${message}$`))
  })

  test.each([
    [50, 'held'],
    [49, '**not held**: ours'],
    [39, '**not held**: bare; ours'],
  ])('without a variant is reported with the variants that missed it: %j', (atMost, text) => {
    const targets = [{ case: 'a', figure: 'speed', atMost }]
    const verdicts = judge(targets, results)
    const report = { name: 'worst', about: '', machine: '', rounds: 1, results, failures: [], repeats: [], verdicts }
    expect(markdownOf(report, { figures: { speed: form } })).toContain(
      `| a: every variant, speed | ≤ ${atMost} | 50 (10–90) | ${text} |`,
    )
  })

  test('is missed if a measurement failed', () => {
    const target = { figure: 'size', atMost: 1 }
    expect(judge([{ ...aimed, ...target }], results, true)).toMatchObject([{ reached: undefined, isHeld: false }])
    expect(judge([{ case: 'a', ...target }], results, true)).toMatchObject([{ reached: { median: 1 }, isHeld: false }])
  })
})
