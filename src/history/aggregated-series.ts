import { Aggregation } from '#history/aggregation'
import type { Pieces } from '#history/blocks'
import type { Buckets } from '#history/buckets'
import { Points } from '#history/points'
import { feed } from '#history/series-feed'
import type { AggregateName } from '#model/aggregate'
import type { Storage } from '#runtime/storage'

/** Of texts in one answer, for memory. */
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
