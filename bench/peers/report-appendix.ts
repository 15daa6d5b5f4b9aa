import type { ReportAppendix } from '#bench/harness/benchmark'
import type { CaseResult } from '#bench/harness/measure'
import { groupedNumber } from '#bench/harness/report'
import { identifierOf } from '#bench/load/fleet-link'
import { payloadOf } from '#bench/load/peer-link'
import { UpdateTemplate } from '#bench/load/update-template'
import { ownName, peerSystems, storingSystems } from '#bench/peers/peer-systems'

/** A figure of one case as a chart. */
export interface Chart {
  readonly case: string
  readonly figure: string
  readonly title: string
  readonly file: string
}

/** The appendix of the report: charts, versions and settings of the systems. */
export function appendixOf(results: readonly CaseResult[], charts: readonly Chart[]): ReportAppendix {
  const drawn = charts.flatMap((chart) => {
    const { variants = [] } = results.find(({ name }) => name === chart.case) ?? {}
    const bars = variants.flatMap(({ name, figures }): Bar[] => {
      const value = figures[chart.figure]?.median
      if (value === undefined) return []
      const isOwn = name.startsWith(ownName)
      return [{ name, value, text: groupedNumber(value, value < 100 ? 2 : 0), isOwn }]
    })
    return bars.length === 0 ? [] : [{ ...chart, svg: barChart(chart.title, bars) }]
  })
  const bytes = payloadOf(0, identifierOf('LOAD', 0)).length
  const markdown = [
    '## Charts',
    '',
    'Medians. The tables mark a full load.',
    '',
    ...drawn.map(({ title, file }) => `![${title}](${file}.svg)`),
    '',
    '## Compared systems',
    '',
    `A text of ${bytes} bytes (one change of one property, as this server sends it), 10 000 devices behind 50 links. Where there`,
    'are topics, each device has its own, and dashboards subscribe to all of them by a wildcard. The others receive the text and',
    `forward it; this server receives an UPDATE in MessagePack of ${new UpdateTemplate(1).bytes} bytes, as devices send it, and makes the text of it.`,
    '',
    '| | version | settings |',
    '|---|---|---|',
    ...[...peerSystems, ...storingSystems.filter(({ protocol }) => protocol !== 'own')].map(
      ({ name, isThere, version, settings }) => `| ${name} | ${isThere ? version() : 'not installed'} | ${settings} |`,
    ),
  ].join('\n')
  return { markdown, files: Object.fromEntries(drawn.map(({ file, svg }) => [`${file}.svg`, svg])) }
}

export interface Bar {
  readonly name: string
  readonly value: number
  readonly text: string
  readonly isOwn: boolean
}

const width = 720
const nameWidth = 150
const textWidth = 110
const barHeight = 20
const rowHeight = 28
const titleHeight = 40

/** Horizontal bars on a scale from 0; readable in light and dark mode. */
export function barChart(title: string, bars: readonly Bar[]): string {
  const height = titleHeight + bars.length * rowHeight + 8
  const greatest = Math.max(...bars.map(({ value }) => value), Number.MIN_VALUE)
  const rows = bars.map(({ name, value, text, isOwn }, row) => {
    const top = titleHeight + row * rowHeight
    const length = Math.max(1, Math.round((Math.max(0, value) / greatest) * (width - nameWidth - textWidth)))
    const middle = top + barHeight / 2 + 5
    return [
      `  <text x="${nameWidth - 8}" y="${middle}" text-anchor="end">${escaped(name)}</text>`,
      `  <rect x="${nameWidth}" y="${top}" width="${length}" height="${barHeight}" rx="3" class="${isOwn ? 'own' : 'other'}"/>`,
      `  <text x="${nameWidth + length + 8}" y="${middle}">${escaped(text)}</text>`,
    ].join('\n')
  })
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img">
  <title>${escaped(title)}</title>
  <style>
    text { font: 14px system-ui, sans-serif; fill: #1f2328 }
    .title { font-weight: 600 }
    .own { fill: #0969da }
    .other { fill: #8c959f }
    @media (prefers-color-scheme: dark) { text { fill: #e6edf3 } .own { fill: #4493f8 } .other { fill: #6e7681 } }
  </style>
  <text x="0" y="22" class="title">${escaped(title)}</text>
${rows.join('\n')}
</svg>
`
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;')
}
