import { LatencyHistogram, type LatencySummary } from '#bench/histogram'

/**
 * Counts of WRITEs. Each id counts once, except in `received` and `repeated` (an id that was received before). `left`:
 * intentionally never answered. `triggers`: writes of actionable properties.
 */
const noWrites = { received: 0, repeated: 0, done: 0, rejected: 0, left: 0, triggers: 0 }

/**
 * Counts of FIRMWAREs. Each id counts once, except in `received`, `repeated`, `resumed` and `bytes`. After an
 * installation the device reports the new version (`updated`) or the old one (`wrong`). `failed`: installation failed.
 * `unavailable`: download failed. `vanished`: the device lost its power during the download. `bytes`: downloaded.
 */
const noUpdates = {
  ...{ received: 0, repeated: 0, installed: 0, updated: 0, wrong: 0, refused: 0 },
  ...{ failed: 0, unavailable: 0, vanished: 0, resumed: 0, bytes: 0 },
}

/** The server chooses the codes, so their number is limited: all further codes are counted together. */
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

  /** The latencies since the last call. */
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
    const { latency, errors, closes, ...counts } = this
    return {
      ...counts,
      latencyMs: latency.summary(),
      errors: Object.fromEntries(errors),
      closes: Object.fromEntries(closes),
    }
  }
}

function increase(counts: Map<string, number>, code: string): void {
  const key = counts.has(code) || counts.size < codesMax ? code : 'others'
  counts.set(key, (counts.get(key) ?? 0) + 1)
}

type FleetSecond = ReturnType<ReturnType<typeof secondsOf>>

interface CountedFleet {
  readonly counts: FleetCounts
  readonly devices: readonly unknown[]
  readonly devicesOnline: number
}

/** Returns a function that reports the time since its last call. */
export function secondsOf(fleet: CountedFleet) {
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

export function lineOf({ devicesOnline, devices, changesPerSecond, latencyMs, faultCount }: FleetSecond): string {
  const faults = faultCount > 0 ? `  FAULTS ${faultCount}` : ''
  return (
    `${devicesOnline}/${devices} devices  ${changesPerSecond} changes/s  ` +
    `ack p50 ${latencyMs.p50} ms  p99 ${latencyMs.p99} ms${faults}`
  )
}

/** A line for each count and for each group of counts, and the faults. */
export function totalsOf({ faults, ...report }: ReturnType<FleetCounts['report']>, seconds: number): string {
  const counts = { ...report, changesPerSecond: Math.round(report.changesAcknowledged / seconds) }
  const lines = Object.entries(counts).map(([name, count]) => {
    const words = name.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`)
    const text = typeof count === 'number' ? count : Object.entries(count).map((pair) => pair.join(' '))
    return `${words.padEnd(22)}${typeof text === 'number' ? text : text.join(', ') || 'none'}`
  })
  return [...lines, ...faults].join('\n')
}
