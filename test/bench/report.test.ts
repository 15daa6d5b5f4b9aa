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
    commit: 'abc1234 with changes',
    at: '2025-01-02T03:04:05.678Z',
  },
  rounds: 5,
  results: [
    {
      name: 'ones',
      baseline: 'bare',
      variants: [
        { name: 'bare', rounds, figures: { speed: spread(1_234_567.8, 999, 12_345) }, ratios: {} },
        {
          name: 'ours',
          rounds,
          figures: { speed: spread(1_000, 999, 1_001), wait: spread(2.25, 1, 1_000) },
          ratios: { speed: spread(0.8, 0.756, 0.9) },
        },
      ],
    },
    {
      name: 'alone',
      baseline: undefined,
      variants: [{ name: 'ours', rounds, figures: { wait: spread(1, 1, 1) }, ratios: {} }],
    },
  ],
  verdicts: [
    { target, reached: spread(0.8, 0.756, 0.9), isHeld: true },
    {
      target: { case: 'alone', variant: 'ours', figure: 'wait', atLeast: 0, atMost: 0.5 },
      reached: spread(1, 1, 1),
      isHeld: false,
    },
  ],
}

const text = `# ingest

Answers: how fast. Does not count: the rest.

2 × Anything, 24 GiB, linux x64, Node v20.20.2, commit abc1234 with changes, 2025-01-02T03:04:05.678Z.
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
