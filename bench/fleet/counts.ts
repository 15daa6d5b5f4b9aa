import { LatencyHistogram, type LatencySummary } from '#bench/histogram'

/**
 * WRITEs. Each id counts once, except in `received` and `repeated` (an id that was received before). `left`:
 * intentionally never answered. `triggers`: of actionable properties.
 */
const noWrites = { received: 0, repeated: 0, done: 0, rejected: 0, left: 0, triggers: 0 }

/**
 * FIRMWAREs. Each id counts once, except in `received`, `repeated` and `resumed`. After an installation the device
 * reports the new version (`updated`) or the old one (`wrong`). `failed`: installation failed. `unavailable`: download
 * failed. `vanished`: the device lost its power during the download. `bytes`: downloaded.
 */
const noUpdates = {
  received: 0,
  repeated: 0,
  installed: 0,
  updated: 0,
  wrong: 0,
  refused: 0,
  failed: 0,
  unavailable: 0,
  vanished: 0,
  resumed: 0,
  bytes: 0,
}

type WriteCounts = typeof noWrites
type UpdateCounts = typeof noUpdates

export type FleetReport = ReturnType<FleetCounts['report']> & {
  readonly devices: number
  readonly devicesOnline: number
  readonly links: number
  readonly linksOpen: number
}

/** Codes come from the server: any more are counted together. */
const codesMax = 64
const faultsKeptMax = 50

/** Counts of the whole fleet. A fault is an error of the server. */
export class FleetCounts {
  readonly latency = new LatencyHistogram()
  #recent = new LatencyHistogram()
  framesSent = 0
  framesResent = 0
  framesAcknowledged = 0
  changesAcknowledged = 0
  framesRefused = 0
  /** Skipped by the schedule because no device was connected. */
  framesSkipped = 0
  connects = 0
  cuts = 0
  readonly writes = { ...noWrites }
  readonly updates = { ...noUpdates }
  readonly errors = new Map<string, number>()
  readonly closes = new Map<string, number>()
  faultCount = 0
  readonly faults: string[] = []

  recordLatency(ms: number): void {
    this.latency.record(ms)
    this.#recent.record(ms)
  }

  /** Since the last call. */
  takeRecent(): LatencySummary {
    const summary = this.#recent.summary()
    this.#recent.clear()
    return summary
  }

  error(code: string): void {
    increase(this.errors, code)
  }

  close(code: number): void {
    increase(this.closes, String(code))
  }

  fault(text: string): void {
    this.faultCount++
    if (this.faults.length < faultsKeptMax) this.faults.push(text)
  }

  report() {
    const { writes, updates, faultCount, faults } = this
    const { framesSent, framesResent, framesAcknowledged, framesRefused, framesSkipped } = this
    const { changesAcknowledged, connects, cuts } = this
    return {
      ...{ framesSent, framesResent, framesAcknowledged, framesRefused, framesSkipped },
      ...{ changesAcknowledged, connects, cuts },
      writes: { ...writes },
      updates: { ...updates },
      latencyMs: this.latency.summary(),
      errors: Object.fromEntries(this.errors),
      closes: Object.fromEntries(this.closes),
      faultCount,
      faults,
    }
  }
}

function increase(counts: Map<string, number>, code: string): void {
  const key = counts.has(code) || counts.size < codesMax ? code : 'others'
  counts.set(key, (counts.get(key) ?? 0) + 1)
}

export interface FleetSecond {
  readonly devices: number
  readonly devicesOnline: number
  readonly changesPerSecond: number
  readonly changesAcknowledged: number
  readonly latencyMs: LatencySummary
  readonly faultCount: number
}

interface CountedFleet {
  readonly counts: FleetCounts
  readonly devices: readonly unknown[]
  readonly devicesOnline: number
}

/** Returns a function that reports the time since its last call. */
export function secondsOf(fleet: CountedFleet): () => FleetSecond {
  let lastAt = performance.now()
  let lastChanges = 0
  return () => {
    const now = performance.now()
    const { changesAcknowledged } = fleet.counts
    const second = {
      devices: fleet.devices.length,
      devicesOnline: fleet.devicesOnline,
      changesPerSecond: Math.round(((changesAcknowledged - lastChanges) * 1000) / Math.max(1, now - lastAt)),
      changesAcknowledged,
      latencyMs: fleet.counts.takeRecent(),
      faultCount: fleet.counts.faultCount,
    }
    lastAt = now
    lastChanges = changesAcknowledged
    return second
  }
}

export function lineOf(second: FleetSecond): string {
  const { devicesOnline, devices, changesPerSecond, latencyMs } = second
  const faults = second.faultCount > 0 ? `  FAULTS ${second.faultCount}` : ''
  return (
    `${devicesOnline}/${devices} devices  ${changesPerSecond} changes/s  ` +
    `ack p50 ${latencyMs.p50} ms  p99 ${latencyMs.p99} ms${faults}`
  )
}

function writesLine({ received, repeated, done, rejected, left, triggers }: WriteCounts): string {
  const ids = `${done} done once each (${triggers} triggers), ${rejected} rejected, ${left} left without an answer`
  return `writes                ${received} received, ${repeated} of them again; ${ids}`
}

function updatesLine(counts: UpdateCounts): string {
  const { received, repeated, installed, updated, wrong, refused, failed, unavailable, vanished, resumed, bytes } =
    counts
  return (
    `updates               ${received} received, ${repeated} of them again; ${installed} installed once each ` +
    `(${updated} reported it, ${wrong} the old version), ${failed} failed, ${unavailable} unavailable, ${refused} refused; ` +
    `${vanished} vanished, ${resumed} resumed; ${Math.round(bytes / 1024)} KiB`
  )
}

export function totalsOf(report: FleetReport, seconds: number): string {
  const { latencyMs } = report
  return [
    `changes acknowledged  ${report.changesAcknowledged} (${Math.round(report.changesAcknowledged / seconds)}/s)`,
    `frames                ${report.framesSent} sent, ${report.framesAcknowledged} acknowledged, ` +
      `${report.framesResent} sent repeated, ${report.framesRefused} refused, ${report.framesSkipped} skipped`,
    `acknowledgement       p50 ${latencyMs.p50} ms, p99 ${latencyMs.p99} ms, p99.9 ${latencyMs.p999} ms, max ${latencyMs.max} ms`,
    `links                 ${report.connects} connects, ${report.cuts} cuts, closes ${JSON.stringify(report.closes)}`,
    `errors                ${JSON.stringify(report.errors)}`,
    ...(report.writes.received > 0 ? [writesLine(report.writes)] : []),
    ...(report.updates.received > 0 ? [updatesLine(report.updates)] : []),
    ...(report.faultCount > 0 ? [`FAULTS                ${report.faultCount}`, ...report.faults] : []),
  ].join('\n')
}
