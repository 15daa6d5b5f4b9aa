import type { Buckets } from '#history/buckets'
import { numberOfValue, type Points, riseOf, type SeriesValue } from '#history/points'
import { Summary } from '#history/summary'
import type { AggregateName } from '#model/aggregate'

const numericTypes: ReadonlySet<string> = new Set([
  ...['uint8', 'uint16', 'uint32', 'uint64', 'int8', 'int16', 'int32', 'int64', 'float', 'float64'],
])
const aggregatesOfAll: readonly AggregateName[] = ['first', 'last', 'count']
/** Aggregates for which short summaries are enough. */
const shortAggregates: readonly AggregateName[] = ['min', 'max', 'avg', 'sum', 'count']
const defaultOfNumbers: readonly AggregateName[] = ['min', 'avg', 'max']
const defaultOfOthers: readonly AggregateName[] = ['last']

/** `type` is the lower-case name of a property type. */
export function isNumeric(type: string): boolean {
  return numericTypes.has(type)
}

export function defaultAggregates(type: string): readonly AggregateName[] {
  return isNumeric(type) ? defaultOfNumbers : defaultOfOthers
}

export function hasAggregate(
  { type, isEnum }: { readonly type: string; readonly isEnum?: boolean },
  name: AggregateName,
): boolean {
  if (aggregatesOfAll.includes(name)) return true
  return name === 'duration' ? type === 'bool' || isEnum === true : isNumeric(type)
}

/** The value of an aggregate of one bucket, as in JSON. A value of the series itself is wrapped, in its stored form. */
export type AggregateValue = number | null | { readonly value: SeriesValue } | Readonly<Record<string, number>>

/**
 * The values of an aggregate, one for each bucket. Numbers are in a typed array, with NaN for a missing value. V8 would
 * move long lists to its old generation, and collect the whole old generation after some queries.
 */
export type AggregateColumn = Float64Array | AggregateValue[]

const aggregatesWithoutNumber: readonly AggregateName[] = ['first', 'last', 'duration']

function isNumber(name: AggregateName): boolean {
  return !aggregatesWithoutNumber.includes(name)
}

/** Arrays of earlier aggregations, for use by later aggregations. Arrays above `spareLengthMax` are not kept. */
const spareNumbers: Float64Array[] = []
const spareMax = 16
const spareLengthMax = 16_384

function takeNumbers(length: number): Float64Array {
  const spare = spareNumbers.pop()
  return spare && spare.length >= length ? spare : new Float64Array(length)
}

/** A value that holds until the next point or mark. */
interface Held {
  readonly value: SeriesValue
  readonly time: number
  until: number
}

/**
 * Aggregates the points (or summaries) and the marks of one series, which arrive in order of time. Points before the
 * first bucket only set the value that holds at its start.
 */
export class Aggregation {
  readonly #buckets: Buckets
  readonly #names: readonly AggregateName[]
  /** Values hold until this time at most. */
  readonly #now: number
  readonly #holds: boolean
  readonly #hasDuration: boolean
  readonly #charactersMax: number
  /** Whether an aggregate depends on the last value before each bucket. */
  readonly needsBefore: boolean
  /** Whether short summaries of days are enough. */
  readonly isShort: boolean
  /** The value that held at the start of the bucket. */
  #held: Held | undefined
  #index = 0
  readonly #summary = new Summary()
  #durations: Record<string, number> = {}
  /** Durations are counted up to this time. */
  #countedTo: number
  #count = 0
  /** The starts of the buckets. */
  times: Float64Array
  /** The length of the texts in the columns. */
  characters = 0
  readonly columns: AggregateColumn[]

  /** Texts beyond `charactersMax` characters become null. `characters` is then above `charactersMax`. */
  constructor(buckets: Buckets, names: readonly AggregateName[], now: number, charactersMax: number) {
    this.#charactersMax = charactersMax
    this.#buckets = buckets
    this.#names = names
    this.#now = now
    this.#hasDuration = names.includes('duration')
    this.#holds = this.#hasDuration || names.includes('twa')
    this.needsBefore = this.#holds || names.includes('delta') || names.includes('increase')
    this.isShort = names.every((name) => shortAggregates.includes(name))
    this.#countedTo = buckets.from
    this.times = takeNumbers(buckets.count)
    this.columns = names.map((name) => (isNumber(name) ? takeNumbers(buckets.count) : []))
  }

  /** Adds points from one index to another. No mark may lie between them. */
  points(points: Points, from: number, to: number): void {
    let index = from
    const first = Math.min(to, points.indexAt(this.#buckets.from))
    if (first > index) {
      const value = points.valueAt(first - 1)
      this.#held = { value, time: points.times[first - 1] as number, until: Number.POSITIVE_INFINITY }
      index = first
    }
    while (index < to) {
      const bucket = this.#buckets.indexOf(points.times[index] as number)
      this.#goTo(bucket)
      if (this.#hasDuration) this.#countDuration(points.times[index] as number)
      const end = this.#hasDuration ? index + 1 : Math.min(to, points.indexAt(this.#buckets.startOf(bucket + 1), index))
      this.#summary.add(points, index, end)
      index = end
    }
  }

  /** Adds a summary of points that all belong to one bucket. */
  summary(summary: Summary): void {
    if (summary.firstTime < this.#buckets.from) {
      this.#held = { value: summary.last, time: summary.lastTime, until: summary.until }
      return
    }
    this.#goTo(this.#buckets.indexOf(summary.firstTime))
    this.#summary.append(summary)
  }

  mark(time: number): void {
    if (time >= this.#buckets.from && time < this.#buckets.to) {
      this.#goTo(this.#buckets.indexOf(time))
      this.#countDuration(time)
    }
    if (this.#summary.count > 0) this.#summary.end(time)
    else if (this.#held && time >= this.#held.time) this.#held.until = Math.min(this.#held.until, time)
  }

  /** Must be called after the last point, before the columns are read. */
  end(): void {
    this.#goTo(this.#buckets.count)
    this.times = this.times.subarray(0, this.#count)
    for (const [place, column] of this.columns.entries()) {
      if (column instanceof Float64Array) this.columns[place] = column.subarray(0, this.#count)
    }
  }

  /** Lets later aggregations use the arrays. The columns must not be read afterwards. */
  release(): void {
    for (const column of [this.times, ...this.columns]) {
      if (!(column instanceof Float64Array) || spareNumbers.length >= spareMax) continue
      const whole = new Float64Array(column.buffer)
      if (whole.length <= spareLengthMax) spareNumbers.push(whole)
    }
  }

  #goTo(index: number): void {
    for (; this.#index < index; this.#index++) {
      const end = this.#buckets.startOf(this.#index + 1)
      this.#countDuration(end)
      if (this.#summary.count > 0) {
        const { last, lastTime, until } = this.#summary
        this.#emit()
        if (this.needsBefore) this.#held = { value: last, time: lastTime, until }
        this.#summary.clear()
      } else if (this.#holds && this.#holdsFrom(this.#buckets.startOf(this.#index))) this.#emit()
      else {
        // No value holds in the buckets up to the next point.
        this.#countedTo = this.#buckets.startOf(index)
        this.#index = index - 1
      }
    }
  }

  #holdsFrom(time: number): boolean {
    return this.#held !== undefined && Math.min(this.#held.until, this.#now) > time
  }

  /** Counts how long the present value has held, up to a time. */
  #countDuration(time: number): void {
    if (!this.#hasDuration) return
    const { count, last, lastTime, until } = this.#summary
    const held = count > 0 ? { value: last, time: lastTime, until } : this.#held
    if (held) {
      const from = Math.max(held.time, this.#countedTo)
      const ms = Math.min(time, held.until, this.#now) - from
      const key = String(numberOfValue(held.value))
      if (ms > 0) this.#durations[key] = (this.#durations[key] ?? 0) + ms
    }
    this.#countedTo = Math.max(this.#countedTo, time)
  }

  #emit(): void {
    const { count, min, max, sum, first, last } = this.#summary
    const at = this.#count++
    this.times[at] = this.#buckets.startOf(this.#index)
    for (let place = 0; place < this.#names.length; place++) {
      const name = this.#names[place] as AggregateName
      const column = this.columns[place] as AggregateColumn
      if (column instanceof Float64Array) {
        // Not in a method, because each number that a method returns would be an object.
        if (count > 0 && name === 'avg') column[at] = sum / count
        else if (count > 0 && name === 'min') column[at] = min
        else if (count > 0 && name === 'max') column[at] = max
        else column[at] = this.#numberOf(name)
      } else if (name === 'duration') column.push(this.#durations)
      else column.push(count > 0 ? this.#own(name === 'first' ? first : last) : null)
    }
    if (this.#hasDuration) this.#durations = {}
  }

  /** NaN if there is no value. */
  #numberOf(name: AggregateName): number {
    const { count, sum, squares, first, last, rise } = this.#summary
    if (name === 'count') return count
    if (name === 'twa') return this.#average()
    if (count === 0) return Number.NaN
    switch (name) {
      case 'sum':
        return sum
      case 'delta':
        return numberOfValue(last) - numberOfValue(this.#held?.value ?? first)
      case 'increase':
        return this.#held ? rise + riseOf(numberOfValue(this.#held.value), numberOfValue(first)) : rise
      case 'stddev':
        return Math.sqrt(Math.max(0, squares) / count)
      default:
        return Number.NaN
    }
  }

  #own(value: SeriesValue): AggregateValue {
    if (typeof value === 'string') this.characters += value.length
    return this.characters > this.#charactersMax ? null : { value }
  }

  /** The average, weighted by the time for which each value held; NaN without a value. */
  #average(): number {
    const start = this.#buckets.startOf(this.#index)
    const end = Math.min(this.#buckets.startOf(this.#index + 1), this.#now)
    const { count, first, firstTime, last, lastTime, until, held, heldMs } = this.#summary
    let sum = count > 0 ? held : 0
    let ms = count > 0 ? heldMs : 0
    if (this.#held) {
      const before = Math.min(count > 0 ? firstTime : end, this.#held.until) - Math.max(start, this.#held.time)
      if (before > 0) {
        sum += numberOfValue(this.#held.value) * before
        ms += before
      }
    }
    const after = count > 0 ? Math.min(end, until) - lastTime : 0
    if (after > 0) {
      sum += numberOfValue(last) * after
      ms += after
    }
    if (ms > 0) return sum / ms
    return count > 0 ? numberOfValue(first) : Number.NaN
  }
}
