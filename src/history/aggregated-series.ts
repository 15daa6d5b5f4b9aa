import { Aggregation } from '#history/aggregation'
import {
  mergePieces,
  type Piece,
  type Pieces,
  pointsBetween,
  pointsOfDay,
  readDayBefore,
  readDays,
} from '#history/blocks'
import type { Buckets } from '#history/buckets'
import { dayMs, dayOf } from '#history/history-keys'
import type { HistoryStore } from '#history/history-store'
import { Points } from '#history/points'
import type { DaySummary } from '#history/summary'
import type { AggregateName } from '#model/aggregate'

/** The limit of characters of all texts in one answer. */
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
  store: Pick<HistoryStore, 'storage' | 'pause'>,
): Promise<{ readonly aggregation: Aggregation; readonly marks: Points }> {
  const aggregation = new Aggregation(buckets, names, now, charactersMax)
  const marks =
    id === undefined
      ? new Points(1)
      : await feed(aggregation, {
          store,
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
  readonly store: Pick<HistoryStore, 'storage' | 'pause'>
  readonly series: number
  /** The points that are not in blocks yet. */
  readonly values: readonly Piece[]
  /** The marks that are not in blocks yet. */
  readonly marks: readonly Piece[]
  readonly buckets: Buckets
  /** Whether summaries of hours may replace points. */
  readonly mayBeSummed: boolean
  readonly marksMax: number
}

/**
 * Passes all points (or summaries) and marks of a series to an aggregation, in order. Returns the first marks in the
 * span of the buckets.
 */
async function feed(aggregation: Aggregation, options: SeriesFeed): Promise<Points> {
  const { store, series, buckets, mayBeSummed, marksMax } = options
  const { storage } = store
  const [values, marks] = [mergePieces(options.values), mergePieces(options.marks)]
  const [firstDay, lastDay] = [dayOf(buckets.from), dayOf(buckets.to - 1)]
  if (aggregation.needsBefore) await feedBefore(aggregation, options, firstDay, values, marks)
  const shown = new Points(1)
  /** Everything before this time was passed on. */
  let given = firstDay * dayMs
  const show = (dayMarks: Points) => {
    const inSpan = pointsBetween(dayMarks, buckets.from, buckets.to)
    shown.append(inSpan, 0, Math.min(inSpan.count, marksMax - shown.count))
  }
  const feedFresh = (to: number) => {
    const freshMarks = pointsBetween(marks, given, to)
    show(freshMarks)
    feedInOrder(aggregation, pointsBetween(values, given, to), freshMarks)
    given = to
  }
  for await (const [day, summary] of readDays(storage, series, firstDay, lastDay, aggregation.isShort)) {
    const [begin, end] = [day * dayMs, Math.min((day + 1) * dayMs, buckets.to)]
    feedFresh(begin)
    given = end
    const [freshValues, freshMarks] = [pointsBetween(values, begin, end), pointsBetween(marks, begin, end)]
    const allMarks =
      summary.firstMark > 0 ? pointsOfDay(storage, series + 1, day, summary.markBlocks, options.marks) : freshMarks
    const dayMarks = pointsBetween(allMarks, begin, end)
    show(dayMarks)
    const isLater = summary.isBefore(Math.min(freshValues.firstTime, freshMarks.firstTime))
    if (!(mayBeSummed && isLater)) {
      const stored = pointsOfDay(storage, series, day, summary.blocks, [])
      if (stored.count >= summary.count) {
        const all = freshValues.count > 0 ? pointsOfDay(storage, series, day, summary.blocks, options.values) : stored
        feedInOrder(aggregation, pointsBetween(all, begin, end), dayMarks)
        await store.pause()
        continue
      }
      // Some points of the day have expired, so only the summary is complete.
    }
    feedSummary(aggregation, summary, end)
    const after = summary.lastTime + 1
    feedInOrder(aggregation, pointsBetween(freshValues, after, end), pointsBetween(freshMarks, after, end))
  }
  feedFresh(Math.min((lastDay + 1) * dayMs, buckets.to))
  return shown
}

function feedSummary(aggregation: Aggregation, summary: DaySummary, end: number): void {
  const { hours } = summary
  // Marks after the first point are already in the summaries.
  const firstTime = hours[0]?.firstTime ?? Number.POSITIVE_INFINITY
  if (summary.firstMark > 0 && summary.firstMark < firstTime) aggregation.mark(summary.firstMark)
  for (const hour of hours) if (hour.firstTime < end) aggregation.summary(hour)
}

/** Passes on the value that held before the first day. */
async function feedBefore(
  aggregation: Aggregation,
  { store, series }: SeriesFeed,
  firstDay: number,
  values: Points,
  marks: Points,
): Promise<void> {
  const before = await readDayBefore(store.storage, series, firstDay)
  const beforeLast = before?.hours.at(-1)
  if (beforeLast) aggregation.summary(beforeLast)
  const begin = firstDay * dayMs
  const last = values.indexAt(begin) - 1
  const from = last < 0 ? 0 : (values.times[last] as number)
  const isNewer = last >= 0 && from >= (beforeLast?.lastTime ?? 0)
  feedInOrder(
    aggregation,
    isNewer ? pointsBetween(values, from, begin) : new Points(1),
    pointsBetween(marks, from, begin),
  )
}

/** A mark comes after a point of the same time. */
function feedInOrder(aggregation: Aggregation, values: Points, marks: Points): void {
  let index = 0
  for (let mark = 0; mark < marks.count; mark++) {
    const time = marks.times[mark] as number
    const next = values.indexAt(time + 1)
    aggregation.points(values, index, next)
    aggregation.mark(time)
    index = next
  }
  aggregation.points(values, index, values.count)
}
