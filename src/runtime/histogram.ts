/** Counts values in fixed buckets, as plain numbers, for very frequent values. Other code exports them. */
export class Histogram {
  /** Ascending upper bounds (inclusive). */
  readonly bounds: readonly number[]
  /** The count of each bucket, with one more for values above the last bound. */
  readonly counts: number[]
  sum = 0
  count = 0

  constructor(bounds: readonly number[]) {
    this.bounds = bounds
    this.counts = new Array<number>(bounds.length + 1).fill(0)
  }

  observe(value: number): void {
    const { bounds, counts } = this
    let bucket = 0
    while (bucket < bounds.length && value > (bounds[bucket] as number)) bucket++
    counts[bucket] = (counts[bucket] as number) + 1
    this.sum += value
    this.count++
  }
}
