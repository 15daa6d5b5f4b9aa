// Answers: how many changes a second are stored, acknowledged and heard, each as its own event, by one dashboard, against a loop that only decodes, stringifies, publishes and acknowledges (bench/bare/ingest.ts). Does not count: connecting, HELLO, reads, many dashboards (see fanout), devices that come and go.
import type { Case, Figures, Question, Round } from '#bench/harness/question'
import { bare, ours, type StartServer } from '#bench/harness/servers'
import { underLoad } from '#bench/harness/under-load'
import type { PhaseResult, PhaseSpec } from '#bench/load/ingest'

const fleet = { devices: 10_000, links: 50, window: 64, properties: 10, prefix: 'LOAD', dashboards: 1 }

function measured(start: StartServer, changes: number, { isQuick }: Round, phase: PhaseSpec): Promise<PhaseResult> {
  // A quick round has to go all the way on a busy machine too: it has less on its way than a dashboard's buffer takes.
  const size = isQuick ? { devices: fleet.devices / 10, window: 8 } : {}
  return underLoad(start, 'load/ingest', { ...fleet, ...size, changes }, (run) => run<PhaseResult>(phase))
}

function timesOf({ isQuick }: Round) {
  return isQuick ? { warmupMs: 300, measuredMs: 500 } : { warmupMs: 2_000, measuredMs: 5_000 }
}

function costs({ seconds, frames, changes, serverCpuSeconds, loadCpuSeconds }: PhaseResult): Figures {
  return {
    changesPerSecond: changes / seconds,
    framesPerSecond: frames / seconds,
    serverCpuPerChange: (serverCpuSeconds / changes) * 1e6,
    serverCpu: (serverCpuSeconds / seconds) * 100,
    loadCpu: (loadCpuSeconds / seconds) * 100,
  }
}

/** `gathered` is a bare loop too, of somebody who knows uWebSockets.js well: what room there is, not what was asked for. */
const starts = {
  bare: bare('ingest', { isGathered: false }),
  gathered: bare('ingest', { isGathered: true }),
  process: ours({ DURABILITY: 'process' }),
  disk: ours({ DURABILITY: 'disk' }),
} as const

function fullSpeed(name: string, changes: number): Case {
  return {
    name,
    baseline: 'bare',
    variants: Object.entries(starts).map(([variant, start]) => ({
      name: variant,
      measure: async (round) => costs(await measured(start, changes, round, timesOf(round))),
    })),
  }
}

const ones = 'frames of 1 change'
const tens = 'frames of 10 changes'
const half = 'frames of 1 change, at half of what process takes'

const halfLoad: Case = {
  name: half,
  variants: (['process', 'disk'] as const).map((variant) => ({
    name: variant,
    async measure(round) {
      const rate = round.earlier(ones, 'process', 'framesPerSecond') / 2
      const result = await measured(starts[variant], 1, round, { ...timesOf(round), rate })
      const { acknowledgement, delivery } = result
      return { ...costs(result), ackP50: acknowledgement.p50, ackP99: acknowledgement.p99, heardP99: delivery.p99 }
    },
  })),
}

export const ingest: Question = {
  figures: {
    changesPerSecond: { title: 'changes/s', digits: 0, isCompared: true, isOfLoad: true },
    framesPerSecond: { title: 'frames/s', digits: 0, isOfLoad: true },
    serverCpuPerChange: { title: 'server CPU, µs/change', digits: 2, isCompared: true },
    serverCpu: { title: 'server CPU, %', digits: 0 },
    loadCpu: { title: 'load CPU, %', digits: 0 },
    ackP50: { title: 'acknowledged p50, ms', digits: 1, isOfLoad: true },
    ackP99: { title: 'acknowledged p99, ms', digits: 1, isOfLoad: true },
    heardP99: { title: 'heard p99, ms', digits: 1, isOfLoad: true },
  },
  cases: [fullSpeed(ones, 1), fullSpeed(tens, 10), halfLoad],
  targets: [
    ...[ones, tens].flatMap((name) => [
      { case: name, variant: 'process', figure: 'changesPerSecond', isRatio: true, atLeast: 0.7 },
      { case: name, variant: 'disk', figure: 'changesPerSecond', isRatio: true, atLeast: 0.55 },
    ]),
    { case: half, variant: 'process', figure: 'ackP99', atMost: 25 },
    { case: half, variant: 'disk', figure: 'ackP99', atMost: 25 },
  ],
}
