/**
 * How often values fell into which of some fixed buckets: plain numbers, for what happens very often. Somebody else shows
 * them.
 */
export class Histogram {
  /** Ascending; each bucket takes what is not above its bound. */
  readonly bounds: readonly number[]
  /** Of each bucket alone; one more than there are bounds, for what is above the last. */
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
