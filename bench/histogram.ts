/** What a histogram says of itself, in milliseconds. */
export interface LatencySummary {
  readonly count: number
  readonly p50: number
  readonly p99: number
  readonly p999: number
  readonly max: number
}

/** Sub-buckets per power of two: a value is known to 1/64, that is to 1.6 %. */
const subBuckets = 64
const subBucketBits = 6
/** 2³⁶ µs is 19 hours; anything longer counts as that. */
const powersMax = 36

/**
 * Latencies in buckets whose width grows with the value (as HdrHistogram does it): constant memory, any length of run,
 * every percentile to 1.6 %. Values are milliseconds outside, microseconds inside.
 */
export class LatencyHistogram {
  readonly #counts = new Uint32Array((powersMax - subBucketBits + 2) * subBuckets)
  #count = 0
  #maxMs = 0

  get count(): number {
    return this.#count
  }

  record(ms: number): void {
    const microseconds = Math.max(0, Math.round(ms * 1000))
    const index = Math.min(bucketOf(microseconds), this.#counts.length - 1)
    this.#counts[index] = (this.#counts[index] ?? 0) + 1
    this.#count++
    if (ms > this.#maxMs) this.#maxMs = ms
  }

  /** The smallest recorded latency that at least `fraction` of all do not exceed, in milliseconds; 0 when empty. */
  percentile(fraction: number): number {
    const wanted = Math.ceil(this.#count * fraction)
    let seen = 0
    for (let index = 0; index < this.#counts.length; index++) {
      seen += this.#counts[index] ?? 0
      if (seen >= wanted && seen > 0) return Math.min(upperEdgeOf(index) / 1000, this.#maxMs)
    }
    return 0
  }

  summary(): LatencySummary {
    return {
      count: this.#count,
      p50: round(this.percentile(0.5)),
      p99: round(this.percentile(0.99)),
      p999: round(this.percentile(0.999)),
      max: round(this.#maxMs),
    }
  }

  add(other: LatencyHistogram): void {
    for (let index = 0; index < this.#counts.length; index++) {
      this.#counts[index] = (this.#counts[index] ?? 0) + (other.#counts[index] ?? 0)
    }
    this.#count += other.#count
    this.#maxMs = Math.max(this.#maxMs, other.#maxMs)
  }

  clear(): void {
    this.#counts.fill(0)
    this.#count = 0
    this.#maxMs = 0
  }
}

/** Below 128 µs a bucket a microsecond; above, 64 buckets for each power of two. */
function bucketOf(microseconds: number): number {
  if (microseconds < 2 * subBuckets) return microseconds
  const power = Math.floor(Math.log2(microseconds))
  const shift = power - subBucketBits
  return shift * subBuckets + Math.floor(microseconds / 2 ** shift)
}

function upperEdgeOf(index: number): number {
  if (index < 2 * subBuckets) return index
  const shift = Math.floor(index / subBuckets) - 1
  return (index - shift * subBuckets + 1) * 2 ** shift - 1
}

const round = (ms: number): number => Math.round(ms * 1000) / 1000
