import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { projectRoot } from '#bench/project-root'

/** Each row with bold figures must name its report, date and commit, and the report must have these figures. */

const documents = ['README.md', 'docs/operator-guide.md']

interface Row {
  readonly where: string
  readonly figures: readonly string[]
  readonly report: string
  readonly date: string
  readonly commit: string
}

const rows = documents.flatMap((path) =>
  readFileSync(join(projectRoot, path), 'utf8')
    .split('\n')
    .flatMap((line, index): Row[] => {
      const [, link = '', date = '', commit = ''] =
        /\[[\w-]+\]\(([^)]*bench\/results\/[\w-]+\.md)\), ([\d-]+), (\w+) \|$/.exec(line) ?? []
      const figures = [...line.matchAll(/\*\*(.+?)\*\*/g)].map(([, figure = '']) => figure)
      const report = join(dirname(path), link)
      return link === '' ? [] : [{ where: `${path}:${index + 1}`, figures, report, date, commit }]
    }),
)

test.each(rows)('the row at $where has the figures of $report', ({ figures, report, date, commit }) => {
  const text = readFileSync(join(projectRoot, report), 'utf8')
  expect(text).toMatch(new RegExp(`commit ${commit}\\b.*, ${date}T`))
  expect(figures).not.toEqual([])
  for (const figure of figures)
    expect(text).toMatch(new RegExp(`(?<!\\d)(?<!\\d )(?<!\\.)${figure.replaceAll('.', '\\.')} \\(`))
})

test('each document has figures', () => {
  for (const path of documents) expect(rows.filter(({ where }) => where.startsWith(path)).length).toBeGreaterThan(2)
})

/** The servers of the comparison, with their figures. */
const compared = readFileSync(join(projectRoot, 'docs/comparison.md'), 'utf8')
  .split('\n## Measurements\n')[1]
  ?.split('\n')
  .filter((line) => /^\| .*\d \|$/.test(line))
  .flatMap((line) => {
    const [names = '', ...cells] = line.slice(2, -2).split(' | ')
    return names.split(', ').map((name, at) => ({
      server:
        name === 'This server'
          ? 'this server, IAM on'
          : name
              .replaceAll('`', '')
              .replace(/ [\d.]+/, '')
              .replace(/ \(.*/, ''),
      figures: cells.map((cell) => cell.split(', ')[at] ?? cell).filter((figure) => /\d/.test(figure)),
    }))
  })

test.each(compared ?? [])('the comparison has the figures of the report for $server', ({ server, figures }) => {
  const report = readFileSync(join(projectRoot, 'bench/results/peers.md'), 'utf8')
  const lines = report.split('\n').filter((line) => line.startsWith(`| ${server} |`))
  expect(figures.length).toBeGreaterThan(3)
  for (const figure of figures)
    expect(
      lines.some((line) => line.includes(`| ${figure} (`)),
      figure,
    ).toBe(true)
})

test('the comparison has seven servers', () => {
  expect(compared).toHaveLength(7)
})

test('the comparison of systems that store data has the figures of the report', () => {
  const comparison = readFileSync(join(projectRoot, 'docs/comparison.md'), 'utf8').split(
    '### Compared with systems that store\n',
  )[1]
  const report = readFileSync(join(projectRoot, 'bench/results/peers.md'), 'utf8').split(
    '## Stored and acknowledged',
  )[1]
  const figures = [...(comparison ?? '').matchAll(/ \| ([\d ]+) \| ([\d.]+) \| /g)].flatMap(([, ...found]) => found)
  expect(figures).toHaveLength(8)
  for (const figure of figures) expect(report?.split('\n## ')[0]).toContain(`| ${figure} (`)
})
