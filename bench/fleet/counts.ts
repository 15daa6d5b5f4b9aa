import { LatencyHistogram, type LatencySummary } from '#bench/histogram'

/**
 * WRITEs. Each id counts once, except in `heard` and `again` (an id that was received before). `left`: never answered, on
 * purpose. `triggers`: of actionable properties.
 */
const noWrites = { heard: 0, again: 0, done: 0, rejected: 0, left: 0, triggers: 0 }

/**
 * FIRMWAREs. Each id counts once, except in `heard`, `again` and `resumed`. An installed firmware is then `updated`, or the
 * device is back with the old one (`wrong`). `failed`: could not be installed. `notHad`: could not be downloaded.
 * `vanished`: the device lost its power during the download. `bytes`: downloaded.
 */
const noUpdates = {
  heard: 0,
  again: 0,
  installed: 0,
  updated: 0,
  wrong: 0,
  refused: 0,
  failed: 0,
  notHad: 0,
  vanished: 0,
  resumed: 0,
  bytes: 0,
}

export type WriteCounts = typeof noWrites
export type UpdateCounts = typeof noUpdates

/** Totals since the start. */
export type FleetReport = ReturnType<FleetCounts['report']> & {
  readonly devices: number
  readonly devicesOnline: number
  readonly links: number
  readonly linksOpen: number
}

/** Codes come from the server: further ones are counted together. */
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
  /** Given up by the schedule, because no device was connected. */
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
