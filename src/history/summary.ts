import { type ByteReader, type ByteWriter, damagedRow } from '#history/bytes'
import { decodeValues, encodeValues } from '#history/column-codec'
import { hourMs } from '#history/history-keys'
import { numberOfValue, Points, riseOf, type SeriesValue } from '#history/points'

/**
 * A summary of the points in one span of a series. The numbers are NaN for a series of texts. Without points, `count`
 * is 0, and the other fields mean nothing.
 *
 * For averages weighted by time, a value holds until the next point or mark. `held` is the sum of value × ms between
 * the first and the last point, and `heldMs` is the time in which a value held. If a mark ended the last value, `until`
 * is the time of that mark.
 */
export class Summary {
  count = 0
  min = Number.NaN
  max = Number.NaN
  sum = Number.NaN
  /** The sum of the squares of the differences from the average. */
  squares = Number.NaN
  first: SeriesValue = Number.NaN
  firstTime = 0
  last: SeriesValue = Number.NaN
  lastTime = 0
  /** The sum of all rises after the first point. After a fall, a counter is assumed to have restarted at 0. */
  rise = Number.NaN
  held = Number.NaN
  heldMs = 0
  until = Number.POSITIVE_INFINITY

  clear(): void {
    this.count = 0
  }

  /** Adds later points, from one index to another, without a mark between them. */
  add(points: Points, from: number, to: number): void {
    if (points.texts.size === 0) {
      if (from < to) this.append(summaryOf(points, from, to))
      return
    }
    for (let index = from; index < to; index++) this.append(summaryOfOne(points, index))
  }

  /** A mark: the last value holds no longer. A mark at the time of a point comes after it. */
  end(time: number): void {
    if (this.count > 0 && time >= this.lastTime) this.until = Math.min(this.until, time)
  }

  /** Adds a later span. */
  append(next: Summary): void {
    if (next.count === 0) return
    if (this.count === 0) {
      this.#copy(next)
      return
    }
    const last = numberOfValue(this.last)
    const first = numberOfValue(next.first)
    const ms = Math.min(next.firstTime, this.until) - this.lastTime
    const count = this.count + next.count
    const difference = next.sum / next.count - this.sum / this.count
    this.squares += next.squares + (difference * difference * this.count * next.count) / count
    this.count = count
    this.sum += next.sum
    this.min = Math.min(this.min, next.min)
    this.max = Math.max(this.max, next.max)
    this.rise += riseOf(last, first) + next.rise
    this.held += last * ms + next.held
    this.heldMs += ms + next.heldMs
    this.last = next.last
    this.lastTime = next.lastTime
    this.until = next.until
  }

  #copy(other: Summary): void {
    this.count = other.count
    this.min = other.min
    this.max = other.max
    this.sum = other.sum
    this.squares = other.squares
    this.first = other.first
    this.firstTime = other.firstTime
    this.last = other.last
    this.lastTime = other.lastTime
    this.rise = other.rise
    this.held = other.held
    this.heldMs = other.heldMs
    this.until = other.until
  }
}

/** The summary of points that are being added; reused by each call. */
const part = new Summary()

/** There must be at least one point, and no texts. */
function summaryOf({ times, values }: Points, from: number, to: number): Summary {
  const first = values[from] as number
  const firstTime = times[from] as number
  let min = first
  let max = first
  let sum = first
  let rise = 0
  let held = 0
  let before = first
  let timeBefore = firstTime
  for (let index = from + 1; index < to; index++) {
    const value = values[index] as number
    const time = times[index] as number
    if (value < min) min = value
    else if (value > max) max = value
    sum += value
    rise += riseOf(before, value)
    held += before * (time - timeBefore)
    before = value
    timeBefore = time
  }
  const count = to - from
  const average = sum / count
  let squares = 0
  for (let index = from; index < to; index++) {
    const difference = (values[index] as number) - average
    squares += difference * difference
  }
  part.count = count
  part.min = min
  part.max = max
  part.sum = sum
  part.squares = squares
  part.first = first
  part.firstTime = firstTime
  part.last = before
  part.lastTime = timeBefore
  part.rise = rise
  part.held = held
  part.heldMs = timeBefore - firstTime
  part.until = Number.POSITIVE_INFINITY
  return part
}

function summaryOfOne(points: Points, index: number): Summary {
  summaryOf(points, index, index + 1)
  // A text is no number, and differs from no average.
  part.squares = 0
  part.first = points.valueAt(index)
  part.last = part.first
  return part
}

/** The summaries of one day of a series, and the blocks with its points. */
export class DaySummary {
  /** A summary for each hour with points, in order. If `isWhole`, the first summary covers the day up to some time. */
  readonly hours: Summary[] = []
  /** Whether the first summary is that of the day, not of an hour. */
  isWhole = false
  /** The times of the first and the last mark. 0 if there are no marks. */
  firstMark = 0
  lastMark = 0
  /**
   * The sequences of the blocks with the points of the day, and of the blocks with its marks, in order. The blocks may
   * have been deleted.
   */
  blocks: number[] = []
  markBlocks: number[] = []
  readonly #unused: Summary[] = []

  clear(): void {
    this.#unused.push(...this.hours.splice(0))
    this.isWhole = false
    this.firstMark = 0
    this.lastMark = 0
    this.blocks = []
    this.markBlocks = []
  }

  /** Whether points from this time on can be added; otherwise the day must be summarized again. */
  isBefore(time: number): boolean {
    return time > this.lastTime
  }

  /** The number of points. */
  get count(): number {
    return this.hours.reduce((sum, { count }) => sum + count, 0)
  }

  /** The time of the last point or mark. */
  get lastTime(): number {
    return Math.max(this.lastMark, this.hours.at(-1)?.lastTime ?? 0)
  }

  get hasHours(): boolean {
    return this.hours.length > 0 && !this.isWhole
  }

  /** Adds points and marks that are later than all before. Both must be settled. */
  add(points: Points, marks: Points): void {
    if (marks.count > 0) {
      this.firstMark ||= marks.times[0] as number
      this.lastMark = marks.times[marks.count - 1] as number
    }
    let mark = 0
    for (let index = 0; index < points.count; ) {
      const time = points.times[index] as number
      for (; mark < marks.count && (marks.times[mark] as number) < time; mark++)
        this.hours.at(-1)?.end(marks.times[mark] as number)
      const hourEnd = (Math.floor(time / hourMs) + 1) * hourMs
      let last = this.hours.at(-1)
      if (!last || last.firstTime < hourEnd - hourMs) last = this.addHour()
      const end = Math.min(hourEnd, mark < marks.count ? (marks.times[mark] as number) + 1 : hourEnd)
      const next = points.indexAt(end)
      last.add(points, index, next)
      index = next
    }
    for (; mark < marks.count; mark++) this.hours.at(-1)?.end(marks.times[mark] as number)
  }

  addHour(): Summary {
    const hour = this.#unused.pop() ?? new Summary()
    hour.clear()
    this.hours.push(hour)
    return hour
  }

  /**
   * Merges all summaries into one of the whole day. Returns false, and changes nothing, if there are none, or if the
   * first is of the whole day already.
   */
  mergeHours(): boolean {
    if (!this.hasHours) return false
    const [day, ...others] = this.hours.splice(0) as [Summary, ...Summary[]]
    for (const summary of others) day.append(summary)
    this.hours.push(day)
    this.isWhole = true
    return true
  }
}

/** The limit of summaries in a day: one of the day up to some time, and 24 of hours. */
const hoursMax = 25
/** The indexes in `fields` at which the fields begin. The fields before `firstAt` are enough for most queries. */
const countAt = 0
const firstTimeAt = countAt + hoursMax
const spanAt = firstTimeAt + hoursMax
const minAt = spanAt + hoursMax
const maxAt = minAt + hoursMax
const sumAt = maxAt + hoursMax
const firstAt = sumAt + hoursMax
const lastAt = firstAt + hoursMax
const squaresAt = lastAt + hoursMax
const riseAt = squaresAt + hoursMax
const heldAt = riseAt + hoursMax
const notHeldAt = heldAt + hoursMax
const untilAt = notHeldAt + hoursMax
/** The fields of one day, one after the other. */
const fields = new Points(untilAt + hoursMax)

/** Writes field by field, because the values of one field are similar and compress well. */
export function encodeDay(day: DaySummary, writer: ByteWriter): void {
  const { hours } = day
  const count = hours.length
  const areNumbers = hours.some(({ sum }) => !Number.isNaN(sum))
  writer.varint(day.firstMark)
  writer.varint(day.lastMark)
  writeSequences(day.blocks, writer)
  writeSequences(day.markBlocks, writer)
  writer.varint(count * 4 + (day.isWhole ? 2 : 0) + (areNumbers ? 1 : 0))
  if (count === 0) return
  const { values } = fields
  fields.texts.clear()
  for (let index = 0; index < count; index++) {
    const hour = hours[index] as Summary
    values[countAt + index] = hour.count
    values[firstTimeAt + index] = hour.firstTime
    values[spanAt + index] = hour.lastTime - hour.firstTime
    values[minAt + index] = hour.min
    values[maxAt + index] = hour.max
    values[sumAt + index] = decimal(hour.sum)
    setField(firstAt + index, hour.first)
    setField(lastAt + index, hour.last)
    values[squaresAt + index] = hour.squares
    values[riseAt + index] = decimal(hour.rise)
    values[heldAt + index] = decimal(hour.held)
    // These two are mostly 0: the time without a value, and the time from the last point to a mark.
    values[notHeldAt + index] = hour.lastTime - hour.firstTime - hour.heldMs
    values[untilAt + index] = hour.until === Number.POSITIVE_INFINITY ? 0 : hour.until - hour.lastTime + 1
  }
  const write = (from: number, to: number) => {
    for (let at = from; at <= to; at += hoursMax) encodeValues(fields, at, at + count, writer)
  }
  write(countAt, areNumbers ? sumAt : spanAt)
  write(firstAt, areNumbers ? untilAt : lastAt)
}

/**
 * Reads a day into `day`, which is cleared first. With `isShort`, only the times, and the number, sum, minimum and
 * maximum of the points are read; the other fields mean nothing.
 *
 * @throws StorageFailure `damaged`
 */
export function decodeDay(reader: ByteReader, day = new DaySummary(), isShort = false): DaySummary {
  day.clear()
  day.firstMark = reader.varint()
  day.lastMark = reader.varint()
  day.blocks = readSequences(reader)
  day.markBlocks = readSequences(reader)
  const head = reader.varint()
  const count = Math.floor(head / 4)
  const areNumbers = head % 2 === 1
  day.isWhole = (head & 2) !== 0
  if (count > hoursMax) throw damagedRow()
  const read = (from: number, to: number) => {
    for (let at = from; at <= to; at += hoursMax) decodeValues(reader, fields, at, count)
  }
  const { values } = fields
  fields.texts.clear()
  if (!areNumbers) values.fill(Number.NaN)
  if (count > 0) read(countAt, areNumbers ? sumAt : spanAt)
  for (let index = 0; index < count; index++) {
    const hour = day.addHour()
    hour.count = values[countAt + index] as number
    hour.firstTime = values[firstTimeAt + index] as number
    hour.lastTime = hour.firstTime + (values[spanAt + index] as number)
    hour.min = values[minAt + index] as number
    hour.max = values[maxAt + index] as number
    hour.sum = values[sumAt + index] as number
  }
  if (isShort || count === 0) return day
  read(firstAt, areNumbers ? untilAt : lastAt)
  for (let index = 0; index < count; index++) {
    const hour = day.hours[index] as Summary
    hour.first = fields.valueAt(firstAt + index)
    hour.last = fields.valueAt(lastAt + index)
    hour.squares = values[squaresAt + index] as number
    hour.rise = values[riseAt + index] as number
    hour.held = values[heldAt + index] as number
    hour.heldMs = hour.lastTime - hour.firstTime - (values[notHeldAt + index] as number)
    const until = values[untilAt + index] as number
    hour.until = until > 0 ? hour.lastTime + until - 1 : Number.POSITIVE_INFINITY
  }
  return day
}

function setField(at: number, value: SeriesValue): void {
  if (typeof value === 'number') fields.values[at] = value
  else fields.texts.set(at, value)
}

/**
 * If a sum of decimal numbers differs from a decimal number only by rounding errors, the decimal number takes fewer
 * bytes, and is nearer to the exact sum.
 */
function decimal(sum: number): number {
  const rounded = Math.round(sum * 1e6) / 1e6
  return Math.abs(rounded - sum) <= Math.abs(sum) * 2 ** -46 ? rounded : sum
}

function writeSequences(list: readonly number[], writer: ByteWriter): void {
  writer.varint(list.length)
  let before = 0
  for (const sequence of list) {
    writer.varint(sequence - before)
    before = sequence
  }
}

function readSequences(reader: ByteReader): number[] {
  const list: number[] = []
  let sequence = 0
  for (let left = reader.varint(); left > 0; left--) {
    sequence += reader.varint()
    list.push(sequence)
  }
  return list
}
