import { type Buckets, bucketsOf } from '#history/buckets'
import { dayMs, hourMs } from '#history/history-keys'
import type { QueryFault, Retained } from '#history/history-query'

const bucketsMax = 100_000
/** Buckets, or points, of all series of an answer. */
export const cellsMax = 1_000_000

/** The fault of a query with too many buckets. Counts with the interval of the query, before it is raised. */
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
  /** Summaries of hours are enough for them. */
  readonly mayBeSummed: boolean
}

/** What is left of all of several series. */
export function leastRetained(list: readonly Retained[]): Retained {
  const most = (times: readonly number[]) => Math.max(0, ...times)
  return {
    rawFrom: most(list.map(({ rawFrom }) => rawFrom)),
    hoursFrom: most(list.map(({ hoursFrom }) => hoursFrom)),
    daysFrom: most(list.map(({ daysFrom }) => daysFrom)),
  }
}

/** The buckets of a span, raised to the data that is left. `since`: the begin of the whole span, of which this is a part. */
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
