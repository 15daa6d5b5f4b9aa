import { type Bar, barChart } from '#bench/harness/bar-chart'
import type { CaseResult } from '#bench/harness/measure'
import type { Beside } from '#bench/harness/question'
import { groupedNumber } from '#bench/harness/report'
import { identifierOf } from '#bench/load/fleet-link'
import { payloadOf } from '#bench/load/peer-link'
import { UpdateTemplate } from '#bench/load/update-template'
import { admittingName, compared, ownName } from '#bench/peers/compared'
import { deeds } from '#bench/peers/deeds'

/** One figure of one case, as a picture. */
export interface Chart {
  readonly case: string
  readonly figure: string
  readonly title: string
  /** Without the ending. */
  readonly file: string
}

/** What stands beside the figures: pictures of them, what was compared and how it was set, and what each of them does. */
export function besideOf(results: readonly CaseResult[], charts: readonly Chart[]): Beside {
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
  const deedful = compared.filter(({ name }) => name !== admittingName)
  const bytes = payloadOf(0, identifierOf('LOAD', 0)).length
  const markdown = [
    '## In pictures',
    '',
    'Medians; where a load was full the tables say so.',
    '',
    ...drawn.map(({ title, file }) => `![${title}](${file}.svg)`),
    '',
    '## What was compared',
    '',
    `A text of ${bytes} bytes (one change of one property, as this server tells it), 10 000 devices behind 50 links. Where there`,
    'are topics, each device has its own, and dashboards subscribe to all of them by a wildcard. The others are sent the text and',
    `pass it on; this server is sent what devices send it, an UPDATE in MessagePack of ${new UpdateTemplate(1).bytes} bytes, and makes the text of it.`,
    '',
    '| | version | set |',
    '|---|---|---|',
    ...compared.map(
      ({ name, isThere, version, settings }) =>
        `| ${name} | ${isThere ? version() : 'not installed here: left out'} | ${settings} |`,
    ),
    '',
    '## What each of them does',
    '',
    'Of itself, in the version and the settings above; what an application builds on top of it is not counted.',
    '',
    `| | ${deeds.map(({ what }) => what).join(' | ')} |`,
    `|---|${deeds.map(() => '---').join('|')}|`,
    ...deedful.map(({ name }) => `| ${name} | ${deeds.map(({ of }) => of[name] ?? 'no').join(' | ')} |`),
  ].join('\n')
  return { markdown, files: Object.fromEntries(drawn.map(({ file, svg }) => [`${file}.svg`, svg])) }
}
