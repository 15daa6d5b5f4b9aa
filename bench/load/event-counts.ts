/**
 * How many events each of many dashboards has received. The minimum is maintained instead of searched, because it is
 * read after every change.
 */
export class EventCounts {
  readonly #counts: Float64Array
  #least = Infinity
  /** How many dashboards have received no more than the minimum; a new minimum is searched only when none is left. */
  #slowest = 0

  constructor(dashboards: number) {
    this.#counts = new Float64Array(dashboards)
    this.#findLeast()
  }

  add(place: number, events: number): void {
    if (events === 0) return
    const before = this.#counts[place] as number
    this.#counts[place] = before + events
    if (before === this.#least && --this.#slowest === 0) this.#findLeast()
  }

  /** Infinity when there are no dashboards. */
  get least(): number {
    return this.#least
  }

  get sum(): number {
    return this.#counts.reduce((sum, count) => sum + count, 0)
  }

  clear(): void {
    this.#counts.fill(0)
    this.#findLeast()
  }

  #findLeast(): void {
    this.#least = Infinity
    // An index loop, because there are thousands.
    for (let place = 0; place < this.#counts.length; place++) {
      const count = this.#counts[place] as number
      if (count < this.#least) {
        this.#least = count
        this.#slowest = 0
      }
      if (count === this.#least) this.#slowest++
    }
  }
}
