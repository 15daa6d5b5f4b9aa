/** The last points of a number over time; the oldest are dropped. Times in Unix milliseconds, ascending. */
export class PointBuffer {
  readonly pointsMax: number
  readonly #times: Float64Array
  readonly #values: Float64Array
  #next = 0
  #count = 0

  constructor(pointsMax: number) {
    this.pointsMax = pointsMax
    this.#times = new Float64Array(pointsMax)
    this.#values = new Float64Array(pointsMax)
  }

  get count(): number {
    return this.#count
  }

  /** A point with the time of the last one replaces it; an earlier one is ignored. */
  add(at: number, value: number): void {
    const last = (this.#next + this.pointsMax - 1) % this.pointsMax
    const lastAt = this.#count === 0 ? Number.NEGATIVE_INFINITY : (this.#times[last] as number)
    if (at < lastAt) return
    const place = at === lastAt ? last : this.#next
    this.#times[place] = at
    this.#values[place] = value
    if (place === last && at === lastAt) return
    this.#next = (this.#next + 1) % this.pointsMax
    this.#count = Math.min(this.#count + 1, this.pointsMax)
  }

  /** From the oldest: times in seconds, as charts expect them, and values. */
  points(): [number[], number[]] {
    const times: number[] = []
    const values: number[] = []
    for (let step = 0; step < this.#count; step++) {
      const place = (this.#next - this.#count + step + this.pointsMax) % this.pointsMax
      times.push((this.#times[place] as number) / 1_000)
      values.push(this.#values[place] as number)
    }
    return [times, values]
  }
}
