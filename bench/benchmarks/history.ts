// Answers: the cost of keeping every value. Ingest with history on and off at full speed, with one dashboard: rate, memory, and how far the history is behind; then, at 20 000 frames a second, the latencies of acknowledgements and events; and in one process without a server, the CPU and the bytes on disk of each point, merges included, for a mix of 40 % values with one decimal, 20 % counters, 20 % switches, 10 % two decimals, 10 % noise of single precision. Then the latency of events while a client exports history over HTTP; and the time of queries, and of an export, in one process. Last, the same points in VictoriaMetrics and DuckDB, where they are installed: their answers must be equal. Does not count: queries over HTTP.

import { historyPeerFigures, historyPeers } from '#bench/benchmarks/history-peers'
import { openHistory, queries, queryTargets } from '#bench/benchmarks/history-queries'
import { type Benchmark, type Case, type Figures, type Round, variantsOf } from '#bench/harness/benchmark'
import { costsOf, eventLatencies, eventLatencyForms, formsOf, latenciesOf } from '#bench/harness/load-figures'
import { runPairs, standardLoad, timesOf, underLoad } from '#bench/harness/running-load'
import { ownServer, type RunningServer } from '#bench/harness/servers'
import { identifierOf } from '#bench/load/fleet-link'
import { readRepeatedly } from '#bench/load/reader'
import { serviceIdentifier } from '#bench/load/update-template'
import { usageOf } from '#bench/process-usage'
import { SeededRandom } from '#bench/random'

const starts = {
  off: ownServer({ DURABILITY: 'process', HISTORY: 'off' }),
  on: ownServer({ DURABILITY: 'process', HISTORY: 'on' }),
} as const

/** Frames a second at which latencies are measured. A server on this machine can take more. */
const steadyRate = 20_000

function ingestCase(name: string, changes: number): Case {
  return {
    name,
    baseline: 'off',
    variants: variantsOf(starts, async (start, round, variant) => {
      const size = round.isQuick ? { devices: standardLoad.devices / 10, window: 8 } : {}
      const load = { ...standardLoad, ...size, changes }
      const figures = await underLoad(start, load, async ({ run }, server) => {
        const endSamples = sampled(server)
        let samples: Figures = {}
        const full = await run(timesOf(round, 3_000, 15_000)).finally(async () => {
          samples = await endSamples()
        })
        // At full speed the latency would only show the length of a queue.
        const rate = round.isQuick ? steadyRate / 10 : steadyRate
        const steady = await run({ ...timesOf(round, 2_000, 8_000), rate })
        return { ...costsOf(full), ...latenciesOf(steady), ...samples }
      })
      if (variant === 'off') return figures
      const more = (figure: 'ackP99' | 'memory') => (figures[figure] ?? 0) - round.earlier(name, 'off', figure)
      return { ...figures, ackP99More: more('ackP99'), memoryMore: more('memory') }
    }),
  }
}

const sampleEveryMs = 1_000

/**
 * Samples the memory of a server and the lag of its history until the returned function is called, which resolves with
 * the maxima.
 */
function sampled({ port, processId }: RunningServer): () => Promise<Figures> {
  const most: Record<string, number> = {}
  const note = (figure: string, value: number) => {
    most[figure] = Math.max(most[figure] ?? 0, value)
  }
  const sample = async () => {
    note('memory', usageOf(processId).anonymousBytes / 1024 ** 2)
    const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text()
    const lag = /^ddb_projection_lag_seconds\{.*\} (\S+)$/m.exec(text)
    if (lag) note('lag', Number(lag[1]))
  }
  let sampling = Promise.resolve()
  const timer = setInterval(() => {
    sampling = sampling.then(sample)
  }, sampleEveryMs)
  return async () => {
    clearInterval(timer)
    await sampling.then(sample)
    return most
  }
}

const propertiesEach = 10
const periodMs = 10_000
const jitterMs = 50
const begin = Date.UTC(2026, 0, 1)

/** The properties of a device: each function computes the next value, mostly from the value before. */
const kinds: readonly ((before: number, random: SeededRandom) => number)[] = [
  ...Array.from({ length: 4 }, () => (before: number, random: SeededRandom) => before + (random.below(7) - 3) / 10),
  ...Array.from({ length: 2 }, () => (before: number, random: SeededRandom) => before + random.below(20)),
  ...Array.from(
    { length: 2 },
    () => (before: number, random: SeededRandom) => (random.below(20) ? before : random.below(3)),
  ),
  (before, random) => before + (random.below(201) - 100) / 100,
  (_, random) => Math.fround(random.between(0, 100)),
]

/** With fewer, points would be merged less often than in a server that runs for days. */
const pointsEachMin = 64

async function stored(devices: number, isExact: boolean, round: Round): Promise<Figures> {
  const random = new SeededRandom(1)
  const values = Float64Array.from({ length: devices * propertiesEach }, () => random.below(100))
  const series = devices * propertiesEach
  const frames = Math.ceil(round.isQuick ? 200_000 / series : Math.max(5_000_000 / series, pointsEachMin))
  const writer = await openHistory(propertiesEach)
  for (let frame = 0; frame < frames; frame++) {
    await writer.write(
      Array.from({ length: devices }, (_, device) => ({
        device,
        time: begin + frame * periodMs + (isExact ? 0 : random.below(2 * jitterMs)),
        values: kinds.map((next, place) => {
          const at = device * propertiesEach + place
          const value = next(values[at] as number, random)
          values[at] = Math.fround(value) === value ? value : Math.round(value * 100) / 100
          return values[at] as number
        }),
      })),
    )
  }
  const { cpuMs, bytes } = await writer.end()
  const points = frames * series
  return { cpuPerPoint: (cpuMs / points) * 1000, bytesPerPoint: bytes / points }
}

const ones = 'ingest, frames of 1 change'
const tens = 'ingest, frames of 10 changes'
const [exact, jitter, million] = ['10 000 series, exact times', '10 000 series, times with jitter', '1 000 000 series']
const store: Case = {
  name: 'storing',
  variants: [
    { name: exact, measure: (round) => stored(1_000, true, round) },
    { name: jitter, measure: (round) => stored(1_000, false, round) },
    { name: million, measure: (round) => stored(round.isQuick ? 1_000 : 100_000, false, round) },
  ],
}

const exportedDevices = 100
/** Frames of ten changes a second during an export. */
const exportRate = 2_000

const exported = Array.from({ length: exportedDevices }, (_, device) => identifierOf(standardLoad.prefix, device))
const exportPath = `/api/v1/history/export?serviceIdentifier=${serviceIdentifier}${exported.map((each) => `&deviceIdentifier=${each}`).join('')}`

/** Event latencies in windows without and with a client that exports history again and again. */
function duringExports({ isQuick }: Round): Promise<Figures> {
  const [pairs, fillMs, warmupMs, measuredMs] = isQuick ? [1, 1_000, 100, 300] : [4, 10_000, 500, 3_000]
  const load = { ...standardLoad, devices: 1_000, changes: 10 }
  return underLoad(ownServer({ DURABILITY: 'process', HISTORY: 'on' }), load, async ({ run }, server) => {
    await run({ warmupMs: 0, measuredMs: fillMs })
    await run({ warmupMs: isQuick ? 0 : 2_000, measuredMs: 100, rate: exportRate })
    const window = () => run({ warmupMs, measuredMs, rate: exportRate })
    const together = () => Promise.all([window(), readRepeatedly(server, exportPath, warmupMs + measuredMs)])
    const { without, during, works } = await runPairs(pairs, window, together)
    const sumOf = (figure: 'bytes' | 'seconds') => works.reduce((sum, read) => sum + read[figure], 0)
    return { ...eventLatencies(without, during), megabytesPerSecond: sumOf('bytes') / 1e6 / sumOf('seconds') }
  })
}

const exporting: Case = {
  name: 'events during exports',
  variants: [{ name: 'one client', measure: duringExports }],
}

export const history: Benchmark = {
  rounds: 3,
  figures: {
    ...formsOf(...(['changesPerSecond', 'serverCpuPerChange', 'serverCpu', 'loadCpu', 'ackP99', 'eventP99'] as const)),
    ackP99More: { title: 'acknowledged p99 more than without, ms', digits: 1 },
    ...eventLatencyForms,
    megabytesPerSecond: { title: 'exported MB/s', digits: 1, isOfLoad: true },
    lag: { title: 'history behind at most, s', digits: 2 },
    memory: { title: 'memory at most, MiB', digits: 0 },
    memoryMore: { title: 'memory more than without, MiB', digits: 0 },
    cpuPerPoint: { title: 'CPU, µs/point', digits: 2 },
    bytesPerPoint: { title: 'bytes/point on disk', digits: 2 },
    p99: { title: 'p99, ms', digits: 1 },
    ...historyPeerFigures,
    pointsPerSecond: { title: 'points/s', digits: 0 },
  },
  cases: [ingestCase(ones, 1), ingestCase(tens, 10), exporting, store, queries, historyPeers],
  targets: [
    ...[ones, tens].map((name) => ({
      case: name,
      variant: 'on',
      figure: 'changesPerSecond',
      isRatio: true,
      atLeast: 0.9,
    })),
    ...[ones, tens].flatMap((name) =>
      Object.entries({ ackP99More: 3, lag: 2, memoryMore: 150 }).map(([figure, atMost]) => ({
        ...{ case: name, variant: 'on', figure, atMost },
      })),
    ),
    ...Object.entries({ [exact]: 0.35, [jitter]: 0.35, [million]: 0.6 }).map(([variant, atMost]) => ({
      ...{ case: store.name, variant, figure: 'cpuPerPoint', atMost },
    })),
    { case: store.name, variant: exact, figure: 'bytesPerPoint', atMost: 1.2 },
    { case: store.name, variant: jitter, figure: 'bytesPerPoint', atMost: 2.5 },
    { case: exporting.name, variant: 'one client', figure: 'ofLimit', atMost: 1 },
    ...queryTargets,
  ],
}
