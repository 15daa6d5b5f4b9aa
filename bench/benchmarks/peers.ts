// Answers: what this server and common alternatives take, deliver and cost with the same fleet, dashboards and texts, each in its own protocol over bare sockets: changes a second to one dashboard, changes a second that are acknowledged by systems that store them, deliveries a second to 1 000, their latency at a fixed rate, CPU for a million of them, memory for an idle connection. Does not count: connecting, TLS, login, more than one node; permissions and state, which the others do not have. Only the systems in the table of stored changes are asked to acknowledge; this server always does.

import type { Benchmark, Case, CaseResult, Figures, ReportAppendix, Round, Target } from '#bench/harness/benchmark'
import { costsOf, cpuOf, formsOf } from '#bench/harness/load-figures'
import { groupedNumber } from '#bench/harness/report'
import { standardLoad, started, underLoad, withLoad } from '#bench/harness/running-load'
import { identifierOf } from '#bench/load/fleet-link'
import type { LoadSpec } from '#bench/load/generator'
import { leadLimits } from '#bench/load/lead'
import { payloadOf } from '#bench/load/peer-template'
import { UpdateTemplate } from '#bench/load/update-template'
import { ownName, type Peer, peerSystems, storingSystems } from '#bench/peers/peer-systems'
import { usageOf } from '#bench/process-usage'
import { sleep } from '#bench/time'

type Load = Pick<LoadSpec, 'dashboards' | 'witnesses' | 'lead'>

const there = peerSystems.filter(({ isThere }) => isThere)
const storing = storingSystems.filter(({ isThere }) => isThere)
const togetherMax = 64
const fleet = { ...standardLoad, window: togetherMax, properties: 1, gatherMs: 1, drainMsMax: 8_000 }

function measured({ protocol, start }: Peer, load: Load, { isQuick }: Round, pace?: { rate: number }) {
  const times = isQuick ? { warmupMs: 200, measuredMs: 300 } : { warmupMs: 700, measuredMs: 1_800 }
  return underLoad(start, { ...fleet, ...load, protocol }, ({ run }) => run({ ...times, ...pace }))
}

async function fastest(peer: Peer, load: Load, round: Round): Promise<Figures> {
  const result = await measured(peer, load, round)
  const { seconds, deliveries, dashboardBytes, serverCpuSeconds } = result
  return {
    ...costsOf(result),
    changesPerSecond: deliveries / load.dashboards / seconds,
    cpuPerMillion: (serverCpuSeconds / deliveries) * 1e6,
    bytesPerDelivery: dashboardBytes / deliveries,
  }
}

async function paced(peer: Peer, load: Load, rate: number, round: Round): Promise<Figures> {
  const result = await measured(peer, load, round, { rate })
  const { p50, p99, p999 } = result.delivery
  return { eventP50: p50, eventP99: p99, eventP999: p999, ...cpuOf(result) }
}

/** The first connections warm up the system. */
function idle({ start, protocol }: Peer, { isQuick }: Round): Promise<Figures> {
  const [first, more, restMs] = isQuick ? [50, 500, 100] : [500, 5_000, 1_000]
  return started(start, (server) => {
    const opened = <Result>(dashboards: number, use: (residentBytes: number) => Promise<Result>) =>
      withLoad(server, { ...fleet, devices: 0, links: 0, dashboards, protocol }, async () => {
        await sleep(restMs)
        return await use(usageOf(server.processId).residentBytes)
      })
    return opened(first, (before) =>
      opened(more, async (after) => ({
        connectionBytes: (after - before) / more,
        residentBefore: before / 2 ** 20,
      })),
    )
  })
}

/** Changes that the system has acknowledged, with at most 64 unacknowledged on each link. */
async function acknowledged(peer: Peer, round: Round): Promise<Figures> {
  const result = await measured(peer, { dashboards: 0 }, round)
  const { seconds, changes, serverCpuSeconds } = result
  return { ...cpuOf(result), changesPerSecond: changes / seconds, cpuPerMillion: (serverCpuSeconds / changes) * 1e6 }
}

function caseOf(
  name: string,
  measure: (peer: Peer, round: Round) => Promise<Figures>,
  roundsMax = Infinity,
  systems = there,
): Case {
  const variants = systems.map((peer) => ({ name: peer.name, measure: (round: Round) => measure(peer, round) }))
  return { name, variants, roundsMax }
}

const inward = 'In: 1 dashboard'
const stored = 'Stored and acknowledged: no dashboard'
const thousand = 'Out: 1 000 dashboards'
const toTen = 'How late: 5 000 changes/s to 10 dashboards'
const memory = 'An idle subscribed connection, of 5 000'

/** `eventsMax`: the changes in flight of a fleet of 50 links with 64 unacknowledged changes each. */
const one: Load = { dashboards: 1, lead: { eventsMax: 3_200, napMs: 0, togetherMax } }
const ten: Load = { dashboards: 10, witnesses: 10 }
const many: Load = { dashboards: 1_000, lead: { ...leadLimits(1_000), togetherMax } }

/** NATS; undefined if it is not installed. */
const baseline = there.find(({ name }) => name === 'nats-server')?.name
const target: Target = {
  ...{ case: thousand, variant: ownName, figure: 'deliveriesPerSecond', isRatio: true, atLeast: 1 },
}

export const peers: Benchmark = {
  rounds: 3,
  figures: {
    changesPerSecond: { title: 'changes/s', digits: 0, isOfLoad: true },
    ...formsOf('deliveriesPerSecond', 'deliveriesPerCpuSecond'),
    cpuPerMillion: { title: 'server CPU for a million, s', digits: 2 },
    bytesPerDelivery: { title: 'bytes on the wire for each', digits: 0 },
    eventP50: { title: 'p50, ms', digits: 2, isOfLoad: true },
    eventP99: { title: 'p99, ms', digits: 2, isOfLoad: true },
    eventP999: { title: 'p99.9, ms', digits: 2, isOfLoad: true },
    connectionBytes: { title: 'RSS, B', digits: 0 },
    residentBefore: { title: 'RSS before, MiB', digits: 0 },
    ...formsOf('serverCpu', 'loadCpu'),
  },
  cases: [
    caseOf(inward, (peer, round) => fastest(peer, one, round)),
    caseOf(stored, acknowledged, Infinity, storing),
    {
      ...caseOf(thousand, (peer, round) => fastest(peer, many, round)),
      ...(baseline !== undefined && { baseline }),
    },
    caseOf(toTen, (peer, round) => paced(peer, ten, 5_000, round)),
    caseOf(memory, idle, 2),
  ],
  targets: baseline === undefined ? [] : [target],
  appendix: appendixOf,
}

const chart = { title: 'Deliveries/s to 1 000 dashboards', file: 'peers-out.svg' } as const

/** A chart of the deliveries, and the versions and settings of the systems. */
function appendixOf(results: readonly CaseResult[]): ReportAppendix {
  const { variants = [] } = results.find(({ name }) => name === thousand) ?? {}
  const bars = variants.flatMap(({ name, figures }): Bar[] => {
    const value = figures.deliveriesPerSecond?.median
    return value === undefined ? [] : [{ name, value, isOwn: name.startsWith(ownName) }]
  })
  const bytes = payloadOf(0, identifierOf('LOAD', 0)).length
  const markdown = [
    '## Charts',
    '',
    'Medians. The tables mark a full load.',
    '',
    ...(bars.length > 0 ? [`![${chart.title}](${chart.file})`] : []),
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
  return { markdown, files: bars.length > 0 ? { [chart.file]: barChart(chart.title, bars) } : {} }
}

interface Bar {
  readonly name: string
  readonly value: number
  readonly isOwn: boolean
}

const width = 720
const nameWidth = 150
const textWidth = 110
const barHeight = 20
const rowHeight = 28
const titleHeight = 40

/** Horizontal bars on a scale from 0; readable in light and dark mode. */
function barChart(title: string, bars: readonly Bar[]): string {
  const height = titleHeight + bars.length * rowHeight + 8
  const greatest = Math.max(...bars.map(({ value }) => value), Number.MIN_VALUE)
  const rows = bars.map(({ name, value, isOwn }, row) => {
    const top = titleHeight + row * rowHeight
    const length = Math.max(1, Math.round((Math.max(0, value) / greatest) * (width - nameWidth - textWidth)))
    const middle = top + barHeight / 2 + 5
    return [
      `  <text x="${nameWidth - 8}" y="${middle}" text-anchor="end">${escaped(name)}</text>`,
      `  <rect x="${nameWidth}" y="${top}" width="${length}" height="${barHeight}" rx="3" class="${isOwn ? 'own' : 'other'}"/>`,
      `  <text x="${nameWidth + length + 8}" y="${middle}">${groupedNumber(value, 0)}</text>`,
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
