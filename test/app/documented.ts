import type { MetricRow } from '#app/metrics/row'
import { metricGroups } from '#app/metrics/table'

/** All metrics as docs/metrics.md lists them. */
export function documentedMetrics(): string {
  return metricGroups.map(({ title, rows }) => [`### ${title}`, '', ...tableOf(rows)].join('\n')).join('\n\n')
}

function tableOf(rows: readonly MetricRow[]): string[] {
  return ['| metric | type | meaning | labels | source |', '|---|---|---|---|---|', ...rows.map(lineOf)]
}

function lineOf(row: MetricRow): string {
  const { name, type, help, from } = row
  const labels = Object.entries(row.labels ?? {}).map(([label, what]) => `\`${label}\`: ${what}`)
  const said = row.type === 'histogram' ? [`${help}; up to ${row.bounds.join(', ')}`] : [help]
  return `| \`${name}\` | ${type} | ${said} | ${labels.join('; ')} | ${from} |`
}
