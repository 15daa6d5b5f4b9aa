import { numberOfValue, type Points, riseOf, type SeriesValue } from '#history/points'

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
  const value = points.valueAt(index)
  const number = numberOfValue(value)
  const time = points.times[index] as number
  part.count = 1
  part.min = number
  part.max = number
  part.sum = number
  part.squares = 0
  part.first = value
  part.firstTime = time
  part.last = value
  part.lastTime = time
  part.rise = 0
  part.held = 0
  part.heldMs = 0
  part.until = Number.POSITIVE_INFINITY
  return part
}
