import type { ByteReader, ByteWriter } from '#history/bytes'
import { decodeColumn, decodeValues, encodeColumn, encodeValues } from '#history/column-codec'
import { dayMs, hourMs } from '#history/history-keys'
import { Points } from '#history/points'

/** A value of a series: a number, or JSON text. */
export type SeriesValue = number | string

/**
 * A summary of the points in one span of a series. The numbers are NaN for a series of texts.
 *
 * For averages weighted by time, a value holds until the next point or mark. `held` is the sum of value × ms between the
 * first and the last point, and `heldMs` is the time in which a value held. If a mark ended the last value, `until` is the
 * time of that mark.
 */
export class Summary {
  count = 0
  min = Number.POSITIVE_INFINITY
  max = Number.NEGATIVE_INFINITY
  sum = 0
  /** The sum of the squares of the differences from the average. */
  squares = 0
  first: SeriesValue = Number.NaN
  firstTime = 0
  last: SeriesValue = Number.NaN
  lastTime = 0
  /** The sum of all rises after the first point. After a fall, a counter is assumed to have restarted at 0. */
  rise = 0
  held = 0
  heldMs = 0
  until = Number.POSITIVE_INFINITY

  add(time: number, value: SeriesValue): void {
    if (this.count === 0) {
      this.first = value
      this.firstTime = time
    } else this.#holdTo(time, value)
    const number = numberOfValue(value)
    this.count++
    const average = this.sum / Math.max(1, this.count - 1)
    this.sum += number
    if (this.count > 1) this.squares += (number - average) * (number - this.sum / this.count)
    this.min = Math.min(this.min, number)
    this.max = Math.max(this.max, number)
    this.last = value
    this.lastTime = time
    this.until = Number.POSITIVE_INFINITY
  }

  /** A mark: the last value holds no longer. A mark at the time of a point comes after it. */
  end(time: number): void {
    if (this.count > 0 && time >= this.lastTime) this.until = Math.min(this.until, time)
  }

  /** Adds a later span. */
  append(next: Summary): void {
    if (next.count === 0) return
    if (this.count === 0) {
      Object.assign(this, next)
      return
    }
    this.#holdTo(next.firstTime, next.first)
    const count = this.count + next.count
    const difference = next.sum / next.count - this.sum / this.count
    this.squares += next.squares + (difference * difference * this.count * next.count) / count
    this.count = count
    this.sum += next.sum
    this.min = Math.min(this.min, next.min)
    this.max = Math.max(this.max, next.max)
    this.rise += next.rise
    this.held += next.held
    this.heldMs += next.heldMs
    this.last = next.last
    this.lastTime = next.lastTime
    this.until = next.until
  }

  #holdTo(time: number, value: SeriesValue): void {
    const last = numberOfValue(this.last)
    const ms = Math.min(time, this.until) - this.lastTime
    this.rise += riseOf(last, numberOfValue(value))
    this.held += last * ms
    this.heldMs += ms
  }
}

/** Integers of 64 bits beyond ±(2⁵³−1) are texts of digits. NaN for any other text. */
export function numberOfValue(value: SeriesValue): number {
  if (typeof value === 'number') return value
  return /^"-?\d{1,20}"$/.test(value) ? Number(value.slice(1, -1)) : Number.NaN
}

/** A counter that fell has restarted at 0, so its whole new value is a rise. */
export function riseOf(before: number, after: number): number {
  return after >= before ? after - before : after
}

/** The summaries of one day of a series. */
export class DaySummary {
  /** A summary for each hour that has points, or a single one for the day, with the key `wholeDay`. */
  readonly hours = new Map<number, Summary>()
  /** 0: no marks. */
  firstMark = 0
  lastMark = 0

  /** Whether points from this time on can be added; otherwise the day must be summarized again. */
  isBefore(time: number): boolean {
    return time > this.lastMark && time > (this.inOrder().at(-1)?.lastTime ?? 0)
  }

  /** The number of points. */
  get count(): number {
    return [...this.hours.values()].reduce((sum, { count }) => sum + count, 0)
  }

  /** The time of the last point or mark. */
  get lastTime(): number {
    return Math.max(this.lastMark, this.inOrder().at(-1)?.lastTime ?? 0)
  }

  /** False: only the whole day is known. */
  get hasHours(): boolean {
    return this.hours.size > 0 && !this.hours.has(wholeDay)
  }

  inOrder(): Summary[] {
    return [...this.hours.values()].sort((a, b) => a.firstTime - b.firstTime)
  }

  /** Adds points and marks that are later than those before. Both are settled. */
  add(points: Points, marks: Points): void {
    if (marks.count > 0) {
      this.firstMark ||= marks.times[0] as number
      this.lastMark = marks.times[marks.count - 1] as number
    }
    let current = this.inOrder().at(-1)
    let mark = 0
    for (let index = 0; index < points.count; index++) {
      const time = points.times[index] as number
      for (; mark < marks.count && (marks.times[mark] as number) < time; mark++)
        current?.end(marks.times[mark] as number)
      if (!current || Math.floor(time / hourMs) !== Math.floor(current.firstTime / hourMs)) {
        current = new Summary()
        this.hours.set(Math.floor((time % dayMs) / hourMs), current)
      }
      current.add(time, points.texts.get(index) ?? (points.values[index] as number))
    }
    for (; mark < marks.count; mark++) current?.end(marks.times[mark] as number)
  }

  /** Keeps only the summary of the whole day. Returns false if there are no others. */
  mergeHours(): boolean {
    if (!this.hasHours) return false
    const day = new Summary()
    for (const summary of this.inOrder()) day.append(summary)
    this.hours.clear()
    this.hours.set(wholeDay, day)
    return true
  }
}

const wholeDay = 24

const numberFields = ['min', 'max', 'sum', 'squares', 'rise', 'held', 'heldMs', 'until'] as const

/** Writes field by field, because the values of one field are similar and compress well. */
export function encodeDay(day: DaySummary, writer: ByteWriter): void {
  const hours = [...day.hours].sort(([, a], [, b]) => a.firstTime - b.firstTime)
  writer.varint(day.firstMark)
  writer.varint(day.lastMark)
  const firsts = new Points()
  const lasts = new Points()
  for (const [, summary] of hours) {
    pushValue(firsts, summary.firstTime, summary.first)
    pushValue(lasts, summary.lastTime, summary.last)
  }
  encodeColumn(firsts, 0, firsts.count, writer)
  encodeColumn(lasts, 0, lasts.count, writer)
  for (const [hour, { count }] of hours) {
    writer.varint(hour)
    writer.varint(count)
  }
  const areTexts = hours.every(([, { sum }]) => Number.isNaN(sum))
  writer.varint(areTexts ? 1 : 0)
  if (areTexts) return
  for (const field of numberFields) {
    encodeValues(
      Float64Array.from(hours, ([, summary]) => summary[field]),
      writer,
    )
  }
}

/** Buffers for the day that is being read, which has at most 24 hours. */
const [firsts, lasts, values] = [new Points(), new Points(), new Float64Array(64)]

export function decodeDay(reader: ByteReader): DaySummary {
  const day = new DaySummary()
  day.firstMark = reader.varint()
  day.lastMark = reader.varint()
  firsts.clear()
  lasts.clear()
  decodeColumn(reader, firsts)
  decodeColumn(reader, lasts)
  for (let index = 0; index < firsts.count; index++) {
    const summary = new Summary()
    const hour = reader.varint()
    summary.count = reader.varint()
    summary.first = firsts.texts.get(index) ?? (firsts.values[index] as number)
    summary.firstTime = firsts.times[index] as number
    summary.last = lasts.texts.get(index) ?? (lasts.values[index] as number)
    summary.lastTime = lasts.times[index] as number
    day.hours.set(hour, summary)
  }
  const list = [...day.hours.values()]
  if (reader.varint() === 1) {
    for (const summary of list) summary.sum = Number.NaN
    return day
  }
  for (const field of numberFields) {
    decodeValues(reader, list.length, values)
    for (let index = 0; index < list.length; index++) (list[index] as Summary)[field] = values[index] as number
  }
  return day
}

function pushValue(points: Points, time: number, value: SeriesValue): void {
  if (typeof value === 'number') points.push(time, value)
  else points.pushText(time, value)
}
