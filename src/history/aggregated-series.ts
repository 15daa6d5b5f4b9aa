import { Aggregation } from '#history/aggregation'
import { valueAt } from '#history/answer-text'
import {
  between,
  isExpired,
  merged,
  type Piece,
  type Pieces,
  readBlocks,
  readDayBefore,
  readDays,
} from '#history/blocks'
import type { Buckets } from '#history/buckets'
import { dayMs, dayOf } from '#history/history-keys'
import { Points } from '#history/points'
import type { DaySummary } from '#history/summary'
import type { AggregateName } from '#model/aggregate'
import type { Storage } from '#runtime/storage'

/** The length of all texts in one answer, to limit memory. */
export const charactersMax = 8 * 1024 * 1024

export interface AggregationOptions {
  readonly buckets: Buckets
  readonly names: readonly AggregateName[]
  readonly now: number
  readonly mayBeSummed: boolean
  readonly marksMax: number
}

/** `id` is undefined if the series has no history yet. */
export async function aggregateSeries(
  id: number | undefined,
  { buckets, names, now, mayBeSummed, marksMax }: AggregationOptions,
  fresh: Pieces,
  storage: Storage,
): Promise<{ readonly aggregation: Aggregation; readonly marks: Points }> {
  const aggregation = new Aggregation(buckets, names, now, charactersMax)
  if (id === undefined) return { aggregation, marks: new Points(1) }
  const marks = await feed(aggregation, {
    storage,
    series: id,
    values: fresh.get(id) ?? [],
    marks: fresh.get(id + 1) ?? [],
    buckets,
    mayBeSummed: mayBeSummed && !names.includes('duration'),
    marksMax,
  })
  aggregation.end()
  return { aggregation, marks }
}

interface SeriesFeed {
  readonly storage: Storage
  readonly series: number
  /** The points, and marks, that are not in blocks yet. */
  readonly values: readonly Piece[]
  readonly marks: readonly Piece[]
  readonly buckets: Buckets
  /** Summaries of hours are used where points are not needed. */
  readonly mayBeSummed: boolean
  readonly marksMax: number
}

/** Gives everything about a series to an aggregation, in order. Returns the first marks in the span of the buckets. */
async function feed(aggregation: Aggregation, options: SeriesFeed): Promise<Points> {
  const { storage, series, buckets, mayBeSummed, marksMax } = options
  const [values, marks] = [merged(options.values), merged(options.marks)]
  const [firstDay, lastDay] = [dayOf(buckets.from), dayOf(buckets.to - 1)]
  const days = await readDays(storage, series, firstDay, lastDay)
  for (const { times, count } of [values, marks]) {
    for (let index = 0; index < count; index++) {
      const day = dayOf(times[index] as number)
      if (day >= firstDay && day <= lastDay && !days.has(day)) days.set(day, undefined)
    }
  }
  if (aggregation.needsBefore) await feedBefore(aggregation, options, firstDay, values, marks)
  const shown = new Points(1)
  for (const [day, summary] of [...days].sort(([a], [b]) => a - b)) {
    const [begin, end] = [day * dayMs, Math.min((day + 1) * dayMs, buckets.to)]
    const [freshValues, freshMarks] = [between(values, begin, end), between(marks, begin, end)]
    const dayMarks =
      summary && summary.firstMark > 0
        ? between(merged([...(await readBlocks(storage, series + 1, day, day)), ...options.marks]), begin, end)
        : freshMarks
    const inSpan = between(dayMarks, Math.max(begin, buckets.from), end)
    shown.append(inSpan, 0, Math.min(inSpan.count, marksMax - shown.count))
    if (!summary) {
      feedInOrder(aggregation, freshValues, dayMarks)
      continue
    }
    const isLater = summary.isBefore(Math.min(freshValues.firstTime, freshMarks.firstTime))
    const blocks = mayBeSummed && isLater ? undefined : await readBlocks(storage, series, day, day)
    if (blocks && !isExpired(summary, blocks)) {
      feedInOrder(aggregation, between(merged([...blocks, ...options.values]), begin, end), dayMarks)
      continue
    }
    feedSummary(aggregation, summary, end)
    const after = summary.lastTime + 1
    feedInOrder(aggregation, between(freshValues, after, end), between(freshMarks, after, end))
  }
  return shown
}

function feedSummary(aggregation: Aggregation, summary: DaySummary, end: number): void {
  const hours = summary.inOrder()
  // Later marks have ended what the summaries hold.
  const firstTime = hours[0]?.firstTime ?? Number.POSITIVE_INFINITY
  if (summary.firstMark > 0 && summary.firstMark < firstTime) aggregation.mark(summary.firstMark)
  for (const hour of hours) if (hour.firstTime < end) aggregation.summary(hour)
}

/** What held before the first day. */
async function feedBefore(
  aggregation: Aggregation,
  { storage, series }: SeriesFeed,
  firstDay: number,
  values: Points,
  marks: Points,
): Promise<void> {
  const before = await readDayBefore(storage, series, firstDay)
  for (const summary of before?.inOrder().slice(-1) ?? []) aggregation.summary(summary)
  const begin = firstDay * dayMs
  const last = values.indexAt(begin) - 1
  const from = last < 0 ? 0 : (values.times[last] as number)
  const isNewer = last >= 0 && from >= (before?.inOrder().at(-1)?.lastTime ?? 0)
  feedInOrder(aggregation, isNewer ? between(values, from, begin) : new Points(1), between(marks, from, begin))
}

/** A mark at the time of a point comes after it. */
function feedInOrder(aggregation: Aggregation, values: Points, marks: Points): void {
  let mark = 0
  for (let index = 0; index < values.count; index++) {
    const time = values.times[index] as number
    for (; mark < marks.count && (marks.times[mark] as number) < time; mark++)
      aggregation.mark(marks.times[mark] as number)
    aggregation.point(time, valueAt(values, index))
  }
  for (; mark < marks.count; mark++) aggregation.mark(marks.times[mark] as number)
}
