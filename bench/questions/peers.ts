// Answers: what this server and what people use else take, tell and cost under the same fleet, dashboards and texts, each in its own protocol over bare sockets: changes a second to one dashboard, deliveries a second to 100 and to 1 000, how late they are at a fixed rate, CPU for a million of them, memory for an idle connection. Does not count: connecting, TLS, signing in, quality of service beyond "at most once" (this server acknowledges, the others are not asked to), more than one node; access, state and storage that the others do not have (see the table).
import type { CaseResult } from '#bench/harness/measure'
import type { Case, Figures, Question, Round, Target } from '#bench/harness/question'
import { Remote } from '#bench/harness/remote'
import { placeOf, underLoad } from '#bench/harness/under-load'
import { fanoutPace } from '#bench/load/fanout-pace'
import type { PeersPhase, PeersResult, PeersSpec } from '#bench/load/peers'
import { besideOf } from '#bench/peers/beside'
import { compared, ownName, type Peer } from '#bench/peers/compared'
import { processUsage } from '#bench/process-usage'

type Load = Pick<PeersSpec, 'dashboards' | 'witnesses' | 'changesMax' | 'napMs'>

const fleet = { devices: 10_000, links: 50 }
const there = compared.filter(({ isThere }) => isThere)

function timesOf({ isQuick }: Round) {
  return isQuick ? { warmupMs: 200, measuredMs: 300 } : { warmupMs: 700, measuredMs: 1_800 }
}

async function measured({ protocol, start }: Peer, load: Load, phase: PeersPhase): Promise<PeersResult> {
  return await underLoad(start, 'load/peers', { ...fleet, ...load, protocol }, (run) => run<PeersResult>(phase))
}

async function fastest(peer: Peer, load: Load, round: Round): Promise<Figures> {
  const result = await measured(peer, load, timesOf(round))
  const { seconds, changes, deliveries, dashboardBytes, serverCpuSeconds } = result
  return {
    changesPerSecond: changes / seconds,
    deliveriesPerSecond: deliveries / seconds,
    deliveriesPerCpuSecond: deliveries / serverCpuSeconds,
    cpuPerMillion: (serverCpuSeconds / deliveries) * 1e6,
    bytesPerDelivery: dashboardBytes / deliveries,
    ...cpuOf(result),
  }
}

async function paced(peer: Peer, load: Load, rate: number, round: Round): Promise<Figures> {
  const result = await measured(peer, load, { ...timesOf(round), rate })
  const { p50, p99, p999 } = result.latency
  return { heardP50: p50, heardP99: p99, heardP999: p999, ...cpuOf(result) }
}

function cpuOf({ seconds, serverCpuSeconds, loadCpuSeconds }: PeersResult): Figures {
  return { serverCpu: (serverCpuSeconds / seconds) * 100, loadCpu: (loadCpuSeconds / seconds) * 100 }
}

/** The first ones make the system ready for more. Nobody collects anything for it: that is its own to do. */
async function idle(peer: Peer, { isQuick }: Round): Promise<Figures> {
  const [first, more, restMs] = isQuick ? [50, 500, 100] : [500, 5_000, 1_000]
  const server = await peer.start()
  const load = new Remote('load/peers')
  try {
    const count = { dashboards: first + more, witnesses: 1, devices: 0, links: 0, changesMax: 0, napMs: 0 }
    await load.ask('open', { ...count, protocol: peer.protocol, ...placeOf(server) })
    await load.ask('more', first)
    await pause(restMs)
    const before = residentBytesOf(server.processId)
    await load.ask('more', more)
    await pause(restMs)
    return { connectionBytes: (residentBytesOf(server.processId) - before) / more, residentBefore: before / 2 ** 20 }
  } finally {
    await load.stop()
    await server.stop()
  }
}

function residentBytesOf(processId: number): number {
  const usage = processUsage(processId)
  if (!usage) throw new Error(`there is no process ${processId}`)
  return usage.residentBytes
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}

function caseOf(name: string, measure: (peer: Peer, round: Round) => Promise<Figures>, roundsMax = Infinity): Case {
  const variants = there.map((peer) => ({ name: peer.name, measure: (round: Round) => measure(peer, round) }))
  return { name, variants, roundsMax }
}

const inward = 'In: 1 dashboard'
const hundred = 'Out: 100 dashboards'
const thousand = 'Out: 1 000 dashboards'
const toTen = 'How late: 5 000 changes/s to 10 dashboards'
const toThousand = 'How late: 50 changes/s to 1 000 dashboards'
const memory = 'An idle subscribed connection, of 5 000'

function outOf(dashboards: number): Load {
  const { eventsMax, napMs } = fanoutPace(dashboards)
  return { dashboards, witnesses: 1, changesMax: eventsMax, napMs }
}

/** As many as a fleet of 50 links with 64 unacknowledged changes each has on their way. */
const one: Load = { dashboards: 1, witnesses: 1, changesMax: 3_200, napMs: 0 }
const ten: Load = { dashboards: 10, witnesses: 10, changesMax: 0, napMs: 0 }
/** Fifty read: a percentile needs as many samples as with ten dashboards. */
const many: Load = { dashboards: 1_000, witnesses: 50, changesMax: 0, napMs: 0 }

/** Against those that are there. */
function target(name: string, comparedWith: string, atLeast: number): readonly Target[] {
  if (!there.some((peer) => peer.name === comparedWith)) return []
  const whenLoadIsFull = 'deliveriesPerCpuSecond'
  const figure = 'deliveriesPerSecond'
  return [{ case: name, variant: ownName, comparedWith, figure, whenLoadIsFull, isRatio: true, atLeast }]
}

export const peers: Question = {
  rounds: 3,
  figures: {
    changesPerSecond: { title: 'changes/s', digits: 0, isOfLoad: true },
    deliveriesPerSecond: { title: 'deliveries/s', digits: 0, isCompared: true, isOfLoad: true },
    deliveriesPerCpuSecond: { title: 'deliveries per second of server CPU', digits: 0, isCompared: true },
    cpuPerMillion: { title: 'server CPU for a million, s', digits: 2 },
    bytesPerDelivery: { title: 'bytes on the wire for each', digits: 0 },
    heardP50: { title: 'p50, ms', digits: 2, isOfLoad: true },
    heardP99: { title: 'p99, ms', digits: 2, isOfLoad: true },
    heardP999: { title: 'p99.9, ms', digits: 2, isOfLoad: true },
    connectionBytes: { title: 'RSS, B', digits: 0 },
    residentBefore: { title: 'RSS before, MiB', digits: 0 },
    serverCpu: { title: 'server CPU, %', digits: 0 },
    loadCpu: { title: 'load CPU, %', digits: 0 },
  },
  cases: [
    caseOf(inward, (peer, round) => fastest(peer, one, round)),
    caseOf(hundred, (peer, round) => fastest(peer, outOf(100), round)),
    caseOf(thousand, (peer, round) => fastest(peer, outOf(1_000), round)),
    caseOf(toTen, (peer, round) => paced(peer, ten, 5_000, round)),
    caseOf(toThousand, (peer, round) => paced(peer, many, 50, round)),
    caseOf(memory, idle, 2),
  ],
  targets: [
    ...[hundred, thousand].flatMap((name) => target(name, 'nats-server', 1)),
    ...[hundred, thousand].flatMap((name) => target(name, 'mosquitto', 5)),
  ],
  beside: (results: readonly CaseResult[]) =>
    besideOf(results, [
      { case: thousand, figure: 'deliveriesPerSecond', title: 'Deliveries/s to 1 000 dashboards', file: 'peers-out' },
      { case: inward, figure: 'changesPerSecond', title: 'Changes/s to 1 dashboard', file: 'peers-in' },
      { case: toTen, figure: 'heardP99', title: 'p99 in ms, 5 000 changes/s to 10 dashboards', file: 'peers-late' },
      { case: thousand, figure: 'cpuPerMillion', title: 'Server CPU for a million deliveries, s', file: 'peers-cpu' },
      { case: memory, figure: 'connectionBytes', title: 'RSS of an idle connection, bytes', file: 'peers-memory' },
    ]),
}
