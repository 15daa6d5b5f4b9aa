/** A value of a series: a number, or JSON text. */
export type SeriesValue = number | string

const capacityAtFirst = 64

/**
 * Points of one series: times in Unix ms and values. A value that is not a number is kept as JSON text, and its number is
 * NaN. Grows as needed; `clear` keeps the memory.
 */
export class Points {
  times: Float64Array
  values: Float64Array
  /** The JSON texts of values that are not numbers, by their index. */
  readonly texts = new Map<number, string>()
  count = 0

  constructor(capacity = capacityAtFirst) {
    this.times = new Float64Array(capacity)
    this.values = new Float64Array(capacity)
  }

  /** The time of the first point; infinity if there is none. */
  get firstTime(): number {
    return this.count > 0 ? (this.times[0] as number) : Number.POSITIVE_INFINITY
  }

  valueAt(index: number): SeriesValue {
    return (this.texts.size > 0 ? this.texts.get(index) : undefined) ?? (this.values[index] as number)
  }

  clear(): void {
    this.count = 0
    if (this.texts.size > 0) this.texts.clear()
  }

  push(time: number, value: number): void {
    if (this.count === this.times.length) this.reserve(this.count + 1)
    this.times[this.count] = time
    this.values[this.count++] = value
  }

  pushText(time: number, text: string): void {
    this.texts.set(this.count, text)
    this.push(time, Number.NaN)
  }

  /** Appends the points of another list from one index to another. */
  append(other: Points, from = 0, to = other.count): void {
    this.reserve(this.count + to - from)
    this.times.set(other.times.subarray(from, to), this.count)
    this.values.set(other.values.subarray(from, to), this.count)
    if (other.texts.size > 0) {
      for (let index = from; index < to; index++) {
        const text = other.texts.get(index)
        if (text !== undefined) this.texts.set(this.count + index - from, text)
      }
    }
    this.count += to - from
  }

  reserve(capacity: number): void {
    if (capacity <= this.times.length) return
    const grown = Math.max(capacity, this.times.length * 2)
    const { times, values } = this
    this.times = new Float64Array(grown)
    this.values = new Float64Array(grown)
    this.times.set(times.subarray(0, this.count))
    this.values.set(values.subarray(0, this.count))
  }

  /** Sorts by time. Of several points with the same time, the last point stays, because it came later in the stream. */
  settle(): void {
    if (this.isSettled) return
    if (!this.#isSorted) this.#sort()
    this.#dropRepeatedTimes()
  }

  get #isSorted(): boolean {
    for (let index = 1; index < this.count; index++) {
      if ((this.times[index] as number) < (this.times[index - 1] as number)) return false
    }
    return true
  }

  #sort(): void {
    const { times } = this
    const order = Int32Array.from({ length: this.count }, (_, index) => index)
    order.sort((a, b) => (times[a] as number) - (times[b] as number) || a - b)
    const sorted = new Points(this.count)
    for (const index of order) {
      const text = this.texts.size > 0 ? this.texts.get(index) : undefined
      if (text === undefined) sorted.push(times[index] as number, this.values[index] as number)
      else sorted.pushText(times[index] as number, text)
    }
    this.clear()
    this.append(sorted)
  }

  /** A device that reports often has several points in one millisecond, so this must be fast. */
  #dropRepeatedTimes(): void {
    const { times, values, texts } = this
    let kept = 0
    for (let index = 0; index < this.count; index++) {
      if (index + 1 < this.count && times[index + 1] === times[index]) continue
      times[kept] = times[index] as number
      values[kept] = values[index] as number
      if (texts.size > 0) this.#moveText(index, kept)
      kept++
    }
    for (let index = kept; index < this.count && texts.size > 0; index++) texts.delete(index)
    this.count = kept
  }

  #moveText(from: number, to: number): void {
    const text = this.texts.get(from)
    if (text === undefined) this.texts.delete(to)
    else this.texts.set(to, text)
  }

  /** Whether each point is later than the point before. */
  get isSettled(): boolean {
    for (let index = 1; index < this.count; index++) {
      if ((this.times[index] as number) <= (this.times[index - 1] as number)) return false
    }
    return true
  }

  /** The index of the first point at or after a time, from one index on. The points must be settled. */
  indexAt(time: number, from = 0): number {
    if (from >= this.count || time <= (this.times[from] as number)) return from
    if (time > (this.times[this.count - 1] as number)) return this.count
    let low = from
    let high = this.count
    while (low < high) {
      const middle = (low + high) >> 1
      if ((this.times[middle] as number) < time) low = middle + 1
      else high = middle
    }
    return low
  }
}

/** The number of a value. Integers of 64 bits beyond ±(2⁵³−1) are texts of digits. Any other text gives NaN. */
export function numberOfValue(value: SeriesValue): number {
  if (typeof value === 'number') return value
  return /^"-?\d{1,20}"$/.test(value) ? Number(value.slice(1, -1)) : Number.NaN
}

/** A counter that fell has restarted at 0, so its whole new value is a rise. */
export function riseOf(before: number, after: number): number {
  return after >= before ? after - before : after
}

/**
 * Points of all series in the order in which they came: columns for the series, the time and the value. This is the
 * fastest form to append to. `HistoryStore` sorts the points by series and stores them.
 */
export class Columns {
  #series: Int32Array
  #times: Float64Array
  #values: Float64Array
  readonly #texts = new Map<number, string>()
  /** Characters of the texts. */
  textCharacters = 0
  /** The greatest id of a series. */
  #greatest = 0
  count = 0

  constructor(capacity: number) {
    this.#series = new Int32Array(capacity)
    this.#times = new Float64Array(capacity)
    this.#values = new Float64Array(capacity)
  }

  clear(): void {
    this.count = 0
    this.#greatest = 0
    this.#texts.clear()
    this.textCharacters = 0
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
    this.textCharacters += text.length
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
