import { expect, test } from 'vitest'
import type { Report } from '#bench/harness/report'
import { markdownOf } from '#bench/harness/report'

const figures = {
  speed: { title: 'changes/s', digits: 0, isCompared: true },
  wait: { title: 'p99, ms', digits: 1 },
}
const spread = (median: number, min: number, max: number) => ({ median, min, max })
/** Figures of the rounds themselves are not shown, only how many there were. */
const rounds = Array.from({ length: 5 }, () => ({}))
const target = { case: 'ones', variant: 'ours', figure: 'speed', isRatio: true, atLeast: 0.7 }

const report: Report = {
  name: 'ingest',
  about: 'Answers: how fast. Does not count: the rest.',
  machine: {
    processors: '2 × Anything',
    memoryGib: 24,
    system: 'linux x64',
    node: 'v20.20.2',
    commit: 'abc1234 + changes',
    at: '2025-01-02T03:04:05.678Z',
  },
  rounds: 5,
  results: [
    {
      name: 'ones',
      baseline: 'bare',
      variants: [
        { name: 'bare', rounds, figures: { speed: spread(1_234_567.8, 999, 12_345) }, ratios: {}, isLoadFull: false },
        {
          name: 'ours',
          rounds,
          figures: { speed: spread(1_000, 999, 1_001), wait: spread(2.25, 1, 1_000) },
          ratios: { speed: spread(0.8, 0.756, 0.9) },
          isLoadFull: false,
        },
      ],
    },
    {
      name: 'alone',
      baseline: undefined,
      variants: [{ name: 'ours', rounds, figures: { wait: spread(1, 1, 1) }, ratios: {}, isLoadFull: false }],
    },
  ],
  failures: [],
  repeats: [],
  verdicts: [
    { target, figure: 'speed', isLoadFull: false, reached: spread(0.8, 0.756, 0.9), isHeld: true },
    {
      target: { case: 'alone', variant: 'ours', figure: 'wait', atLeast: 0, atMost: 0.5 },
      figure: 'wait',
      isLoadFull: false,
      reached: spread(1, 1, 1),
      isHeld: false,
    },
  ],
}

const text = `# ingest

Answers: how fast. Does not count: the rest.

2 × Anything, 24 GiB, linux x64, Node v20.20.2, commit abc1234 + changes, 2025-01-02T03:04:05.678Z.
5 rounds, each variant in a fresh process, in alternating order. Medians, in parentheses the least and the
greatest; ratios are those of the same round.

## ones

| | changes/s | p99, ms |
|---|---:|---:|
| bare | 1 234 568 (999–12 345) |  |
| ours | 1 000 (999–1 001) | 2.3 (1.0–1 000.0) |
| ours ÷ bare | 0.80 (0.76–0.90) |  |

## alone

| | p99, ms |
|---|---:|
| ours | 1.0 (1.0–1.0) |

## Targets

| | wanted | reached | |
|---|---:|---:|---|
| ones: ours, changes/s (ratio) | ≥ 0.7 | 0.80 (0.76–0.90) | held |
| alone: ours, p99, ms | ≥ 0, ≤ 0.5 | 1.0 (1.0–1.0) | **not held** |
`

test('a report as Markdown', () => {
  expect(markdownOf(report, { figures })).toBe(text)
})

test('one without targets says nothing of them', () => {
  expect(markdownOf({ ...report, verdicts: [] }, { figures })).toBe(text.slice(0, text.indexOf('\n## Targets')))
})

test('a case with fewer rounds says so', () => {
  const [ones, alone] = report.results
  const variants = (alone?.variants ?? []).map((variant) => ({ ...variant, rounds: rounds.slice(2) }))
  const results = ones && alone ? [ones, { ...alone, variants }] : []
  expect(markdownOf({ ...report, results }, { figures })).toBe(text.replace('## alone\n', '## alone\n\n3 rounds.\n'))
})

test('where the load was full, what it limits says so, and so does a target that was judged by another figure', () => {
  const form = {
    speed: { title: 'changes/s', digits: 0, isCompared: true, isOfLoad: true },
    perCpu: { title: 'changes per CPU second', digits: 0, isCompared: true },
    loadCpu: { title: 'load CPU, %', digits: 0 },
  }
  const variant = (name: string, isLoadFull: boolean, ratios = {}) => ({
    name,
    rounds,
    figures: { speed: spread(9, 8, 10), perCpu: spread(90, 80, 100), loadCpu: spread(isLoadFull ? 97 : 60, 50, 99) },
    ratios,
    isLoadFull,
  })
  const ratios = { speed: spread(1, 1, 1), perCpu: spread(0.95, 0.9, 1) }
  const whenLoadIsFull = 'perCpu'
  const loaded: Report = {
    ...report,
    results: [{ name: 'ones', baseline: 'bare', variants: [variant('bare', true), variant('ours', false, ratios)] }],
    verdicts: [
      {
        target: { ...target, whenLoadIsFull },
        figure: 'perCpu',
        isLoadFull: true,
        reached: ratios.perCpu,
        isHeld: true,
      },
      { target, figure: 'speed', isLoadFull: true, reached: ratios.speed, isHeld: true },
    ],
  }
  const lines = markdownOf(loaded, { figures: form }).split('\n')
  expect(lines.slice(lines.indexOf('## ones') + 2)).toEqual([
    '*Load full*: the load used 90 % of its core or more. What it marks says what the load',
    'can do, and not what the server can.',
    '',
    '| | changes/s | changes per CPU second | load CPU, % |',
    '|---|---:|---:|---:|',
    '| bare | 9 (8–10), load full | 90 (80–100) | 97 (50–99), load full |',
    '| ours | 9 (8–10) | 90 (80–100) | 60 (50–99) |',
    '| ours ÷ bare | 1.00 (1.00–1.00), load full | 0.95 (0.90–1.00) |  |',
    '',
    '## Targets',
    '',
    '| | wanted | reached | |',
    '|---|---:|---:|---|',
    '| ones: ours, changes per CPU second (ratio) instead of changes/s: load full | ≥ 0.7 | 0.95 (0.90–1.00) | held |',
    '| ones: ours, changes/s (ratio) | ≥ 0.7 | 1.00 (1.00–1.00), load full | held |',
    '',
  ])
})

test('what failed is named, and what could not be measured is not held', () => {
  const [ones] = report.results
  const none = {
    name: 'alone',
    baseline: undefined,
    variants: [{ name: 'ours', rounds: [], figures: {}, ratios: {}, isLoadFull: false }],
  }
  const wanted = { case: 'alone', variant: 'ours', figure: 'wait', atMost: 0.5 }
  const failed: Report = {
    ...report,
    results: ones ? [ones, none] : [],
    failures: [{ what: 'round 1  alone / ours', error: 'Error: the server ended\n    at here' }],
    verdicts: [{ target: wanted, figure: 'wait', isLoadFull: false, reached: undefined, isHeld: false }],
  }
  const lines = markdownOf(failed, { figures }).split('\n')
  expect(lines.slice(lines.indexOf('## alone'))).toEqual([
    '## alone',
    '',
    'Nothing was measured.',
    '',
    '## Targets',
    '',
    '| | wanted | reached | |',
    '|---|---:|---:|---|',
    '| alone: ours, p99, ms | ≤ 0.5 | not measured | **not held** |',
    '',
    '## Failed',
    '',
    'The rest was measured all the same; medians and ratios are of what did not fail.',
    '',
    '- round 1  alone / ours: Error: the server ended',
    '',
  ])
})

test('what was measured again is said', () => {
  const again: Report = { ...report, repeats: ['round 2  ones / ours'] }
  const lines = markdownOf(again, { figures }).trimEnd().split('\n')
  expect(lines.at(-1)).toBe('- round 2  ones / ours')
  expect(lines).toContain('## Measured again')
  expect(markdownOf(report, { figures })).not.toContain('Measured again')
})
