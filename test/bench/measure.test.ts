import { describe, expect, test } from 'vitest'
import { type MeasureOptions, measure } from '#bench/harness/measure'
import type { Case, Figures, Question, Round } from '#bench/harness/question'
import { ReadTooSlowly } from '#bench/harness/read-too-slowly'

const form = { title: 'speed', digits: 0, isCompared: true }

/** A question whose variants note that they were asked, and answer by `answer`. */
function question(
  cases: readonly (Omit<Case, 'variants'> & { readonly variants: readonly string[] })[],
  answer: (key: string, round: Round) => Figures | Promise<Figures> = () => ({ speed: 1 }),
): { readonly question: Question; readonly asked: string[] } {
  const asked: string[] = []
  const made: Question = {
    figures: { speed: form, size: { title: 'size', digits: 0 } },
    targets: [],
    cases: cases.map((each) => ({
      ...each,
      variants: each.variants.map((name) => ({
        name,
        async measure(round) {
          const key = `${each.name}/${name}`
          asked.push(`${round.number} ${key}`)
          return await answer(key, round)
        },
      })),
    })),
  }
  return { question: made, asked }
}

function options(rounds: number, more: Partial<MeasureOptions> = {}): MeasureOptions {
  return { rounds, isQuick: false, print: () => {}, ...more }
}

test('every variant is measured in every round, and the order turns round each time', async () => {
  const { question: asking, asked } = question([
    { name: 'a', variants: ['x', 'y', 'z'] },
    { name: 'b', variants: ['x', 'y'] },
  ])
  await measure(asking, options(3))
  expect(asked).toEqual([
    ...['0 a/x', '0 a/y', '0 a/z', '0 b/x', '0 b/y'],
    ...['1 a/z', '1 a/y', '1 a/x', '1 b/y', '1 b/x'],
    ...['2 a/x', '2 a/y', '2 a/z', '2 b/x', '2 b/y'],
  ])
})

test('a case that takes long is measured in its rounds only', async () => {
  const { question: asking, asked } = question([
    { name: 'long', variants: ['x'], roundsMax: 2 },
    { name: 'short', variants: ['x'] },
  ])
  const { results } = await measure(asking, options(4))
  expect(asked.filter((line) => line.endsWith('long/x'))).toEqual(['0 long/x', '1 long/x'])
  expect(results.map(({ variants }) => variants[0]?.rounds.length)).toEqual([2, 4])
})

test('one variant after the other, never two at once', async () => {
  let running = 0
  const { question: asking } = question([{ name: 'a', variants: ['x', 'y'] }], async () => {
    running++
    await new Promise((resolve) => setTimeout(resolve, 2))
    expect(running).toBe(1)
    running--
    return { speed: 1 }
  })
  await measure(asking, options(2))
})

test('figures are spread over the rounds, ratios are paired with the baseline of the same round', async () => {
  const { question: asking } = question(
    [{ name: 'a', variants: ['bare', 'ours'], baseline: 'bare' }],
    (key, { number }) => ({ speed: (key === 'a/bare' ? 100 : 50) * (number + 1), size: number }),
  )
  const { results } = await measure(asking, options(3))
  const [bare, ours] = results[0]?.variants ?? []
  expect(ours).toEqual({
    name: 'ours',
    rounds: [
      { speed: 50, size: 0 },
      { speed: 100, size: 1 },
      { speed: 150, size: 2 },
    ],
    figures: { speed: { median: 100, min: 50, max: 150 }, size: { median: 1, min: 0, max: 2 } },
    // Not of `size`: it is not compared.
    ratios: { speed: { median: 0.5, min: 0.5, max: 0.5 } },
    isLoadFull: false,
  })
  expect(bare?.ratios).toEqual({})
})

test('a figure that a variant does not have is left out, of it and of the ratios to it', async () => {
  const { question: asking } = question([{ name: 'a', variants: ['bare', 'ours'], baseline: 'bare' }], (key) =>
    key === 'a/bare' ? { size: 3 } : { speed: 5 },
  )
  const { results } = await measure(asking, options(2))
  expect(results[0]?.variants.map(({ figures, ratios }) => [Object.keys(figures), ratios])).toEqual([
    [['size'], {}],
    [['speed'], {}],
  ])
})

describe('what was measured before', () => {
  test('is that of the same round, else the median of the others', async () => {
    const seen: (number | undefined)[] = []
    const { question: asking } = question(
      [
        { name: 'a', variants: ['x'], roundsMax: 3 },
        { name: 'b', variants: ['y'] },
      ],
      (key, { number, earlier }) => {
        if (key === 'b/y') seen.push(earlier('a', 'x', 'speed'))
        return { speed: [10, 30, 20][number] ?? 0 }
      },
    )
    await measure(asking, options(5))
    expect(seen).toEqual([10, 30, 20, 20, 20])
  })

  test.each([
    ['before the first time', 'a', 'y', 'speed'],
    ['of a case that there is not', 'b', 'x', 'speed'],
    ['of a figure that there is not', 'a', 'w', 'size'],
  ])('is not to be had %s: what rests on it fails', async (_, caseName, variant, figure) => {
    const { question: asking } = question([{ name: 'a', variants: ['w', 'x', 'y'] }], (key, { earlier }) =>
      key === 'a/x' ? { speed: earlier(caseName, variant, figure) } : { speed: 1 },
    )
    const { failures } = await measure(asking, options(1))
    expect(failures.map(({ what }) => what)).toEqual(['round 1  a / x'])
    expect(failures[0]?.error).toContain(`it rests on ${caseName} / ${variant}, which was not measured`)
  })
})

describe('what was set up is taken down', () => {
  test.each([
    ['after the last round', undefined],
    ['after a failure', new Error('the server ended')],
  ])('%s', async (_, failure) => {
    const steps: string[] = []
    const { question: asking } = question([{ name: 'a', variants: ['x'] }], (_, { number }) => {
      steps.push(`round ${number}`)
      if (failure && number === 1) throw failure
      return { speed: 1 }
    })
    const withSetUp: Question = {
      ...asking,
      async setUp(isQuick) {
        steps.push(`set up, ${isQuick ? 'quick' : 'whole'}`)
        return async () => {
          steps.push('taken down')
        }
      },
    }
    const { failures } = await measure(withSetUp, options(2, { isQuick: true }))
    expect(failures).toHaveLength(failure ? 1 : 0)
    expect(steps).toEqual(['set up, quick', 'round 0', 'round 1', 'taken down'])
  })
})

describe('what fails costs nothing but itself', () => {
  const both: Parameters<typeof question>[0] = [
    { name: 'a', variants: ['bare', 'ours'], baseline: 'bare' },
    { name: 'b', variants: ['ours'] },
  ]
  const wrong = new Error('the server ended')

  test('the others are measured on, and ratios are of rounds in which neither failed', async () => {
    const { question: asking, asked } = question(both, (key, { number }) => {
      if (key === 'a/ours' && number === 1) throw wrong
      if (key === 'a/bare' && number === 3) throw wrong
      // A ratio of each round's own: it tells which rounds were paired.
      return { speed: key === 'a/bare' ? 10 : 10 * (number + 1) }
    })
    const { results, failures } = await measure(asking, options(4))
    expect(asked).toHaveLength(12)
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

  test('a variant that always fails has no figures, and nothing to compare it with', async () => {
    const lines: string[] = []
    const { question: asking } = question(both, (key) => {
      if (key === 'a/bare') throw wrong
      return { speed: 5 }
    })
    const { results, failures } = await measure(asking, options(2, { print: (line) => lines.push(line) }))
    expect(failures.map(({ what }) => what)).toEqual(['round 1  a / bare', 'round 2  a / bare'])
    expect(results[0]?.variants.map(({ figures, ratios }) => [Object.keys(figures), ratios])).toEqual([
      [[], {}],
      [['speed'], {}],
    ])
    expect(lines.filter((line) => line.startsWith('round 1  a / bare failed: Error: the server ended'))).toHaveLength(1)
  })

  test('nothing is measured where nothing could be set up', async () => {
    const { question: asking, asked } = question(both)
    const setUp = async () => {
      throw wrong
    }
    const { results, failures } = await measure({ ...asking, setUp }, options(2))
    expect(asked).toEqual([])
    expect(failures).toEqual([{ what: 'setting up', error: wrong.stack }])
    expect(results.map(({ variants }) => variants.map(({ rounds }) => rounds))).toEqual([[[], []], [[]]])
  })

  test('what was measured stays when it can not be taken down', async () => {
    const { question: asking } = question(both)
    const setUp = async () => async () => {
      throw wrong
    }
    const { results, failures } = await measure({ ...asking, setUp }, options(1))
    expect(failures).toEqual([{ what: 'taking down', error: wrong.stack }])
    expect(results[0]?.variants[1]?.figures.speed?.median).toBe(1)
  })
})

test.each([
  ['below nine tenths of a core', [89, 89.9, 100], false],
  ['from nine tenths on, in the median', [0, 90, 90], true],
])('the load is full or not: %s', async (_, loads, isLoadFull) => {
  const { question: asking } = question([{ name: 'a', variants: ['x'] }], (_, { number }) => ({
    loadCpu: loads[number] as number,
  }))
  const figures = { loadCpu: { title: 'load CPU, %', digits: 0 } }
  const { results } = await measure({ ...asking, figures }, options(3))
  expect(results[0]?.variants[0]?.isLoadFull).toBe(isLoadFull)
})

test('each measurement is printed, with the titles of its figures', async () => {
  const lines: string[] = []
  const { question: asking } = question([{ name: 'a', variants: ['x'] }], () => ({ speed: 12.7, size: 3 }))
  await measure(asking, options(1, { print: (line) => lines.push(line) }))
  expect(lines).toEqual(['round 1  a / x  speed 13 · size 3'])
})

describe('a load that did not get to reading', () => {
  // As it comes from the load's process.
  const disturbed = new Error(new ReadTooSlowly(3).stack)

  test('is asked again, and the report knows', async () => {
    const lines: string[] = []
    let tries = 0
    const { question: asking, asked } = question([{ name: 'a', variants: ['x', 'y'] }], (key) => {
      if (key === 'a/x' && ++tries < 3) throw disturbed
      return { speed: tries }
    })
    const { results, failures, repeats } = await measure(asking, options(1, { print: (line) => lines.push(line) }))
    expect(asked).toEqual(['0 a/x', '0 a/x', '0 a/x', '0 a/y'])
    expect(failures).toEqual([])
    expect(repeats).toEqual(['round 1  a / x', 'round 1  a / x'])
    expect(lines[0]).toBe(`round 1  a / x is measured again: ${ReadTooSlowly.text}`)
    expect(results[0]?.variants[0]?.figures.speed?.median).toBe(3)
  })

  test('fails when it never does', async () => {
    const { question: asking, asked } = question([{ name: 'a', variants: ['x'] }], () => {
      throw disturbed
    })
    const { failures } = await measure(asking, options(1))
    expect(asked).toHaveLength(3)
    expect(failures.map(({ what }) => what)).toEqual(['round 1  a / x'])
  })
})
