/** How many events each of many dashboards has heard. The least is kept and not looked for: it is asked at every move. */
export class HeardCounts {
  readonly #counts: Float64Array
  #least = Infinity
  /** How many have heard no more than that; who looks at all of them does so only when there is none left. */
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
    // Not `of`: there are thousands.
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
