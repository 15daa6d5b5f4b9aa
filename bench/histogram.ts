import { createHistogram } from 'node:perf_hooks'

export interface LatencySummary {
  readonly count: number
  readonly p50: number
  readonly p99: number
  readonly p999: number
  readonly max: number
}

/** Latencies in milliseconds, counted in whole microseconds; percentiles are exact to three digits. */
export class LatencyHistogram {
  readonly #microseconds = createHistogram()

  get count(): number {
    return this.#microseconds.count
  }

  record(ms: number): void {
    this.#microseconds.record(Math.max(1, Math.round(ms * 1000)))
  }

  /** The smallest latency that at least `fraction` of all do not exceed; 0 when there are none. */
  percentile(fraction: number): number {
    return this.count === 0 ? 0 : this.#microseconds.percentile(fraction * 100) / 1000
  }

  summary(): LatencySummary {
    return {
      count: this.count,
      p50: this.percentile(0.5),
      p99: this.percentile(0.99),
      p999: this.percentile(0.999),
      max: this.count === 0 ? 0 : this.#microseconds.max / 1000,
    }
  }

  clear(): void {
    this.#microseconds.reset()
  }
}
