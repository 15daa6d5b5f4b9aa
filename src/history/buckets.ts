import { dayMs, hourMs } from '#history/history-keys'
import type { QueryFault, Retained } from '#history/history-query'

/** The spans of time over which values are aggregated, one after the other. */
export interface Buckets {
  /** The start of the first bucket, and (`to`) the end of the last bucket. */
  readonly from: number
  readonly to: number
  readonly count: number
  /** Whether all buckets begin at full hours. */
  readonly areOfHours: boolean
  /** The index of the bucket that contains a time. The time must be between `from` and `to`. */
  indexOf(time: number): number
  /** The start of a bucket. For the index after the last bucket, the end of the span. */
  startOf(index: number): number
}

/**
 * All buckets that touch the span. They begin at multiples of the interval since 1970; whole days begin at midnight of
 * the zone.
 */
function bucketsOf(from: number, to: number, interval: number, zone: string): Buckets {
  if (interval % dayMs === 0 && zone !== 'UTC') return localBuckets(from, to, interval / dayMs, zone)
  const first = Math.floor(from / interval)
  const end = Math.ceil(to / interval)
  return {
    from: first * interval,
    to: end * interval,
    count: end - first,
    areOfHours: interval % 3_600_000 === 0,
    indexOf: (time) => Math.floor(time / interval) - first,
    startOf: (index) => (first + index) * interval,
  }
}

function localBuckets(from: number, to: number, days: number, zone: string): Buckets {
  const offsetAt = zoneOffset(zone)
  const dayOfTime = (time: number) => Math.floor((time + offsetAt(time)) / dayMs)
  const first = Math.floor(dayOfTime(from) / days)
  const starts: number[] = []
  for (let bucket = first; starts.length === 0 || (starts.at(-1) as number) < to; bucket++) {
    starts.push(midnight(bucket * days, offsetAt))
  }
  return {
    from: starts[0] as number,
    to: starts.at(-1) as number,
    count: starts.length - 1,
    areOfHours: starts.every((start) => start % 3_600_000 === 0),
    indexOf: (time) => Math.floor(dayOfTime(time) / days) - first,
    startOf: (index) => starts[index] as number,
  }
}

/** The start of a local day, given as days since 1970. Where clocks change at midnight, the first moment of the day. */
function midnight(day: number, offsetAt: (time: number) => number): number {
  const guess = day * dayMs
  const early = guess - offsetAt(guess - offsetAt(guess))
  return Math.floor((early + offsetAt(early)) / dayMs) < day ? guess - offsetAt(early) : early
}

/** The difference of local time from UTC in ms, at a time. */
function zoneOffset(zone: string): (time: number) => number {
  const format = new Intl.DateTimeFormat('en-US', {
    timeZone: zone,
    hourCycle: 'h23',
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
    hour: 'numeric',
    minute: 'numeric',
    second: 'numeric',
  })
  return (time) => {
    const parts = Object.fromEntries(format.formatToParts(time).map(({ type, value }) => [type, Number(value)]))
    const { year = 0, month = 1, day = 1, hour = 0, minute = 0, second = 0 } = parts
    return Date.UTC(year, month - 1, day, hour, minute, second) - Math.floor(time / 1000) * 1000
  }
}

const bucketsMax = 100_000
/** The limit of buckets or points in one answer, over all its series. */
export const cellsMax = 1_000_000

/** The fault of a query with too many buckets. Ignores that the retention may require a longer interval. */
export function bucketFault(from: number, to: number, interval: number, series: number): QueryFault | undefined {
  const count = Math.ceil(to / interval) - Math.floor(from / interval)
  if (count <= bucketsMax && count * series <= cellsMax) return undefined
  const message = `gives ${count} buckets for ${series} properties; at most ${bucketsMax} each, and ${cellsMax} in all, are possible`
  return { path: 'interval', message }
}

interface RetainedBuckets {
  readonly buckets: Buckets
  readonly interval: number
  readonly zone: string
  /** Whether summaries of hours are enough for these buckets. */
  readonly mayBeSummed: boolean
}

/** The span that is still stored for every one of several series. */
export function leastRetained(list: readonly Retained[]): Retained {
  const most = (times: readonly number[]) => Math.max(0, ...times)
  return {
    rawFrom: most(list.map(({ rawFrom }) => rawFrom)),
    hoursFrom: most(list.map(({ hoursFrom }) => hoursFrom)),
    daysFrom: most(list.map(({ daysFrom }) => daysFrom)),
  }
}

/**
 * The buckets of a span, with an interval that the remaining data permits. If the span is a part of an export, `since`
 * is the start of the whole export.
 */
export function retainedBuckets(
  { from, to }: { readonly from: number; readonly to: number },
  asked: { readonly interval: number; readonly zone: string },
  { rawFrom, hoursFrom }: Retained,
  since = from,
): RetainedBuckets {
  const step = since < hoursFrom ? dayMs : since < rawFrom ? hourMs : 1
  const interval = Math.ceil(asked.interval / step) * step
  const zone = step === dayMs ? 'UTC' : asked.zone
  const buckets = bucketsOf(from, to, interval, zone)
  return { buckets, interval, zone, mayBeSummed: buckets.areOfHours || step > 1 }
}
