// Answers: whether a change costs the server more the more devices there are, and a delivery the more dashboards there are: CPU of all its threads, from 1 000 to 1 000 000 devices behind 50 gateways, and from 1 to 10 000 dashboards. Does not count: connecting, HELLO and the first report of each device; memory; reads.
import type { Case, Figures, Question, Round } from '#bench/harness/question'
import { ours } from '#bench/harness/servers'
import { underLoad } from '#bench/harness/under-load'
import type { FanoutResult } from '#bench/load/fanout'
import { fanoutPace } from '#bench/load/fanout-pace'
import type { PhaseResult } from '#bench/load/ingest'

const start = ours({ DURABILITY: 'process' })
const fleet = { links: 50, window: 64, changes: 1, properties: 10, prefix: 'LOAD', dashboards: 1 }
/** What every size can take with ease. */
const rate = 30_000

const deviceCounts = { '1 000': 1_000, '10 000': 10_000, '100 000': 100_000, '1 000 000': 1_000_000 }
const quickDevicesMax = 20_000
const passesMax = 8
const dashboardCounts = { '1': 1, '10': 10, '100': 100, '1 000': 1_000, '10 000': 10_000 }

/**
 * At full speed until every device has reported: what a device's first report makes is there
 * then, and what is kept in memory until it is stored is full, so that both measurements find the server as it stays.
 * They are long enough for whole rounds of the garbage collector, which are the dearer the more there is.
 */
async function changes(asked: number, { isQuick }: Round): Promise<Figures> {
  const times = isQuick ? { warmupMs: 300, measuredMs: 500 } : { warmupMs: 4_000, measuredMs: 8_000 }
  // A million HELLOs take two minutes.
  const devices = isQuick ? Math.min(asked, quickDevicesMax) : asked
  return underLoad(start, 'load/ingest', { ...fleet, devices }, async (run, load) => {
    for (let passes = 0; passes < passesMax && (await load.ask<number>('silent')) > 0; passes++) {
      await run<PhaseResult>({ ...times, warmupMs: 0 })
    }
    const silent = await load.ask<number>('silent')
    if (silent > 0) throw new Error(`${silent} of ${devices} devices have not reported`)
    const full = await run<PhaseResult>(times)
    const paced = await run<PhaseResult>({ ...times, rate })
    return {
      changesPerSecond: full.changes / full.seconds,
      cpuPerChange: costOf(full, full.changes),
      pacedCpuPerChange: costOf(paced, paced.changes),
      pacedHeardP99: paced.delivery.p99,
      loadCpu: (full.loadCpuSeconds / full.seconds) * 100,
    }
  })
}

async function deliveries(dashboards: number, { isQuick }: Round): Promise<Figures> {
  const times = isQuick ? { warmupMs: 300, measuredMs: 500 } : { warmupMs: 1_500, measuredMs: 3_000 }
  const spec = { dashboards, ...fanoutPace(dashboards), isFleet: true }
  const result = await underLoad(start, 'load/fanout', spec, (run) => run<FanoutResult>(times))
  return {
    deliveriesPerSecond: result.deliveries / result.seconds,
    cpuPerDelivery: costOf(result, result.deliveries),
    loadCpu: (result.loadCpuSeconds / result.seconds) * 100,
  }
}

function costOf({ serverCpuSeconds }: { readonly serverCpuSeconds: number }, count: number): number {
  return (serverCpuSeconds / count) * 1e6
}

function sizes(counts: Readonly<Record<string, number>>, measure: (count: number, round: Round) => Promise<Figures>) {
  return Object.entries(counts).map(([name, count]) => ({ name, measure: (round: Round) => measure(count, round) }))
}

const byDevices: Case = { name: 'devices', baseline: '1 000', variants: sizes(deviceCounts, changes) }
/** Compared with a hundred: up to there a delivery costs less and less, because the change is paid for by more of them. */
const byDashboards: Case = { name: 'dashboards', baseline: '100', variants: sizes(dashboardCounts, deliveries) }

/** Logarithmic growth: log 10⁶ ÷ log 10³, and log 10⁴ ÷ log 10². */
const doubled = { isRatio: true, atMost: 2 }

export const growth: Question = {
  rounds: 3,
  figures: {
    changesPerSecond: { title: 'changes/s at full speed', digits: 0, isOfLoad: true },
    cpuPerChange: { title: 'server CPU, µs/change at full speed', digits: 2, isCompared: true },
    pacedCpuPerChange: { title: `server CPU, µs/change at ${rate / 1000} 000 frames/s`, digits: 2, isCompared: true },
    pacedHeardP99: { title: `heard p99 at ${rate / 1000} 000 frames/s, ms`, digits: 1 },
    deliveriesPerSecond: { title: 'deliveries/s', digits: 0, isOfLoad: true },
    cpuPerDelivery: { title: 'server CPU, µs/delivery', digits: 3, isCompared: true },
    loadCpu: { title: 'load CPU, %', digits: 0 },
  },
  cases: [byDevices, byDashboards],
  targets: [
    { case: byDevices.name, variant: '1 000 000', figure: 'cpuPerChange', ...doubled },
    { case: byDevices.name, variant: '1 000 000', figure: 'pacedCpuPerChange', ...doubled },
    { case: byDashboards.name, variant: '10 000', figure: 'cpuPerDelivery', ...doubled },
  ],
}
