import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { projectRoot } from '#bench/project-root'

/** Figures that documents show are those of a report, and say which: a row with bold figures ends with report, date and commit. */
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

test.each(rows)('$where shows what $report says', ({ figures, report, date, commit }) => {
  const text = readFileSync(join(projectRoot, report), 'utf8')
  expect(text).toMatch(new RegExp(`commit ${commit}\\b.*, ${date}T`))
  expect(figures).not.toEqual([])
  for (const figure of figures)
    expect(text).toMatch(new RegExp(`(?<!\\d)(?<!\\d )(?<!\\.)${figure.replaceAll('.', '\\.')} \\(`))
})

test('there are figures in each', () => {
  for (const path of documents) expect(rows.filter(({ where }) => where.startsWith(path)).length).toBeGreaterThan(3)
})
