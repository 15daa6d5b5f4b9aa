import { Points } from '#history/points'

/**
 * Points of all series in the order in which they came: columns for the series, the time and the value. This is the
 * fastest form to append to. `HistoryStore` sorts the points by series and stores them.
 */
export class Columns {
  #series: Int32Array
  #times: Float64Array
  #values: Float64Array
  readonly #texts = new Map<number, string>()
  #textCharacters = 0
  /** The greatest id of a series. */
  #greatest = 0
  count = 0

  constructor(capacity: number) {
    this.#series = new Int32Array(capacity)
    this.#times = new Float64Array(capacity)
    this.#values = new Float64Array(capacity)
  }

  /** Characters of the texts. */
  get textCharacters(): number {
    return this.#textCharacters
  }

  clear(): void {
    this.count = 0
    this.#greatest = 0
    this.#texts.clear()
    this.#textCharacters = 0
  }

  push(series: number, time: number, value: number): void {
    if (this.count === this.#series.length) this.#grow()
    const index = this.count++
    this.#series[index] = series
    this.#times[index] = time
    this.#values[index] = value
    if (series > this.#greatest) this.#greatest = series
  }

  pushText(series: number, time: number, text: string): void {
    this.#texts.set(this.count, text)
    this.#textCharacters += text.length
    this.push(series, time, Number.NaN)
  }

  /** Appends the points of the wanted series to their lists. */
  collect(wanted: ReadonlyMap<number, Points>): void {
    for (let index = 0; index < this.count; index++) {
      const points = wanted.get(this.#series[index] as number)
      if (points) this.#give(index, points)
    }
  }

  /** Calls `visit` with the points of each series, in the order of the series. The list is used again. */
  visitSeries(visit: (series: number, points: Points) => void): void {
    // A counting sort.
    const ends = new Int32Array(this.#greatest + 2)
    for (let index = 0; index < this.count; index++) {
      const place = (this.#series[index] as number) + 1
      ends[place] = (ends[place] as number) + 1
    }
    for (let series = 1; series < ends.length; series++) {
      ends[series] = (ends[series] as number) + (ends[series - 1] as number)
    }
    const order = new Int32Array(this.count)
    for (let index = 0; index < this.count; index++) {
      const series = this.#series[index] as number
      const place = ends[series] as number
      order[place] = index
      ends[series] = place + 1
    }
    const points = new Points()
    for (let place = 0; place < this.count; ) {
      const series = this.#series[order[place] as number] as number
      points.clear()
      // The start of each series has moved to its end.
      for (const end = ends[series] as number; place < end; place++) this.#give(order[place] as number, points)
      visit(series, points)
    }
  }

  #grow(): void {
    const { length } = this.#series
    const [series, times, values] = [this.#series, this.#times, this.#values]
    this.#series = new Int32Array(length * 2)
    this.#times = new Float64Array(length * 2)
    this.#values = new Float64Array(length * 2)
    this.#series.set(series)
    this.#times.set(times)
    this.#values.set(values)
  }

  #give(index: number, points: Points): void {
    const time = this.#times[index] as number
    const text = this.#texts.size > 0 ? this.#texts.get(index) : undefined
    if (text === undefined) points.push(time, this.#values[index] as number)
    else points.pushText(time, text)
  }
}
