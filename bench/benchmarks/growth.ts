// Answers: whether a change costs more CPU with more devices (1 000 to 1 000 000, on 50 gateways), and a delivery with more dashboards (1 to 10 000). CPU is that of all threads of the server. Does not count: connecting, HELLO and the first report of each device; memory; reads.

import { type Benchmark, type Case, type Figures, type Round, variantsOf } from '#bench/harness/benchmark'
import { cpuOf, formsOf } from '#bench/harness/load-figures'
import { runUntilReported, standardLoad, timesOf, underLoad } from '#bench/harness/running-load'
import { ownServer } from '#bench/harness/servers'
import { leadLimits } from '#bench/load/lead'

const start = ownServer({ DURABILITY: 'process' })
/** Changes a second that every size sustains easily. */
const rate = 30_000

const deviceCounts = { '1 000': 1_000, '10 000': 10_000, '100 000': 100_000, '1 000 000': 1_000_000 }
const quickDevicesMax = 20_000
const dashboardCounts = { '1': 1, '10': 10, '100': 100, '1 000': 1_000, '10 000': 10_000 }

/**
 * The load first runs at full speed until every device has reported: then all devices are in memory, and the memory
 * for unwritten changes is full. Both measurements are long enough for several full garbage collections, which cost more
 * with more devices.
 */
async function changes(asked: number, round: Round): Promise<Figures> {
  const times = timesOf(round, 4_000, 8_000)
  // A million HELLOs take two minutes.
  const devices = round.isQuick ? Math.min(asked, quickDevicesMax) : asked
  return underLoad(start, { ...standardLoad, devices }, async (load) => {
    await runUntilReported(load, { ...times, warmupMs: 0 })
    const full = await load.run(times)
    const paced = await load.run({ ...times, rate })
    return {
      changesPerSecond: full.changes / full.seconds,
      cpuPerChange: costOf(full, full.changes),
      pacedCpuPerChange: costOf(paced, paced.changes),
      pacedEventP99: paced.delivery.p99,
      ...cpuOf(full),
    }
  })
}

async function deliveries(dashboards: number, round: Round): Promise<Figures> {
  const load = { ...standardLoad, properties: 1, dashboards, lead: leadLimits(dashboards) }
  const result = await underLoad(start, load, ({ run }) => run(timesOf(round, 1_500, 3_000)))
  return {
    deliveriesPerSecond: result.deliveries / result.seconds,
    cpuPerDelivery: costOf(result, result.deliveries),
    ...cpuOf(result),
  }
}

function costOf({ serverCpuSeconds }: { readonly serverCpuSeconds: number }, count: number): number {
  return (serverCpuSeconds / count) * 1e6
}

const byDevices: Case = { name: 'devices', baseline: '1 000', variants: variantsOf(deviceCounts, changes) }
/**
 * Compared with 100 dashboards. Up to this number the cost of a delivery falls, because more deliveries share the cost
 * of a change.
 */
const byDashboards: Case = { name: 'dashboards', baseline: '100', variants: variantsOf(dashboardCounts, deliveries) }

/** Permits logarithmic growth: log 10⁶ ÷ log 10³ and log 10⁴ ÷ log 10² are 2. */
const doubled = { isRatio: true, atMost: 2 }

export const growth: Benchmark = {
  rounds: 3,
  figures: {
    changesPerSecond: { title: 'changes/s at full speed', digits: 0, isOfLoad: true },
    cpuPerChange: { title: 'server CPU, µs/change at full speed', digits: 2, isCompared: true },
    pacedCpuPerChange: { title: `server CPU, µs/change at ${rate / 1000} 000 frames/s`, digits: 2, isCompared: true },
    pacedEventP99: { title: `event p99 at ${rate / 1000} 000 frames/s, ms`, digits: 1 },
    deliveriesPerSecond: { title: 'deliveries/s', digits: 0, isOfLoad: true },
    cpuPerDelivery: { title: 'server CPU, µs/delivery', digits: 3, isCompared: true },
    ...formsOf('loadCpu'),
  },
  cases: [byDevices, byDashboards],
  targets: [
    { case: byDevices.name, variant: '1 000 000', figure: 'cpuPerChange', ...doubled },
    { case: byDevices.name, variant: '1 000 000', figure: 'pacedCpuPerChange', ...doubled },
    { case: byDashboards.name, variant: '10 000', figure: 'cpuPerDelivery', ...doubled },
  ],
}
