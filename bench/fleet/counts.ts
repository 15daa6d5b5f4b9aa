import type { LatencySummary } from '#bench/histogram'
import { LatencyHistogram } from '#bench/histogram'

/** What a fleet says of itself: totals since the start, or since `clear`. */
export interface FleetReport {
  readonly devices: number
  readonly devicesOnline: number
  readonly links: number
  readonly linksOpen: number
  readonly framesSent: number
  readonly framesResent: number
  readonly framesAcknowledged: number
  readonly changesAcknowledged: number
  readonly framesRefused: number
  /** Frames the schedule gave up because no device was connected. */
  readonly framesSkipped: number
  readonly connects: number
  readonly cuts: number
  readonly writes: WriteCounts
  readonly updates: UpdateCounts
  readonly latencyMs: LatencySummary
  readonly errors: Readonly<Record<string, number>>
  readonly closes: Readonly<Record<string, number>>
  readonly faultCount: number
  readonly faults: readonly string[]
}

/** What became of WRITEs. Each id is counted once but in `heard` and `again`. */
export interface WriteCounts {
  readonly heard: number
  /** Of an id that was heard before. */
  readonly again: number
  readonly done: number
  readonly rejected: number
  /** Never answered, on purpose. */
  readonly left: number
  /** How often something actionable was triggered. */
  readonly triggers: number
}

const noWrites: WriteCounts = { heard: 0, again: 0, done: 0, rejected: 0, left: 0, triggers: 0 }

/** What became of FIRMWAREs. Each id is counted once but in `heard`, `again` and `resumed`. */
export interface UpdateCounts {
  readonly heard: number
  /** Of an id that was heard before. */
  readonly again: number
  readonly installed: number
  /** Of those: came back with it, or with the old one. */
  readonly updated: number
  readonly wrong: number
  readonly refused: number
  /** Could not be installed. */
  readonly failed: number
  /** Could not be downloaded. */
  readonly notHad: number
  /** Lost their power on the way, and went on. */
  readonly vanished: number
  readonly resumed: number
  /** Downloaded. */
  readonly bytes: number
}

const noUpdates: UpdateCounts = {
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

/** Codes come from the other side: what is beyond this many is counted together. */
const codesMax = 64
const faultsKeptMax = 50

/** The books of the whole fleet. A fault is something no correct server does. */
export class FleetCounts {
  readonly latency = new LatencyHistogram()
  /** The same since the last `takeRecent`. */
  #recent = new LatencyHistogram()
  framesSent = 0
  framesResent = 0
  framesAcknowledged = 0
  changesAcknowledged = 0
  framesRefused = 0
  framesSkipped = 0
  connects = 0
  cuts = 0
  writes: { -readonly [Count in keyof WriteCounts]: number } = { ...noWrites }
  updates: { -readonly [Count in keyof UpdateCounts]: number } = { ...noUpdates }
  readonly errors = new Map<string, number>()
  readonly closes = new Map<string, number>()
  faultCount = 0
  readonly faults: string[] = []

  recordLatency(ms: number): void {
    this.latency.record(ms)
    this.#recent.record(ms)
  }

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

  /** Forgets the counts of a warm-up; faults stay. */
  clear(): void {
    this.latency.clear()
    this.#recent.clear()
    this.framesSent = this.framesResent = this.framesAcknowledged = this.changesAcknowledged = 0
    this.framesRefused = this.framesSkipped = this.connects = this.cuts = 0
    this.writes = { ...noWrites }
    this.updates = { ...noUpdates }
    this.errors.clear()
    this.closes.clear()
  }
}

function increase(counts: Map<string, number>, code: string): void {
  const key = counts.has(code) || counts.size < codesMax ? code : 'others'
  counts.set(key, (counts.get(key) ?? 0) + 1)
}
