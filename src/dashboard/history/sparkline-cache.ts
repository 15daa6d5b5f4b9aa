import { type ChartSeries, seriesKey } from '#dashboard/history/chart-series'

/** The points of a sparkline: times in Unix ms, ascending, and averages. */
export interface SparklinePoints {
  readonly time: readonly number[]
  readonly avg: readonly (number | null)[]
}

export type SparklineSeries = Omit<ChartSeries, 'name' | 'unit'>

/** The limit of the server for one query. Contract 9. */
const seriesMax = 100
/** A fleet may be scrolled through: the oldest are dropped. */
const entriesMax = 1_000
/** Older points are read again when they are visible: about as long as one of their buckets. */
const freshMs = 60_000

/** Answers for the last hour of series, by key, and the decision which series to ask for. */
export class SparklineCache {
  /** Absent points: the server has none. The oldest answer first. */
  readonly #entries = new Map<string, { readonly at: number; readonly points: SparklinePoints | undefined }>()

  pointsOf(key: string): SparklinePoints | undefined {
    return this.#entries.get(key)?.points
  }

  /** The series among these that are not known, or not fresh any more: at most as many as one query may have. */
  due(wanted: readonly SparklineSeries[], now: number): readonly SparklineSeries[] {
    return wanted
      .filter((each) => now - (this.#entries.get(seriesKey(each))?.at ?? Number.NEGATIVE_INFINITY) >= freshMs)
      .slice(0, seriesMax)
  }

  add(key: string, points: SparklinePoints | undefined, now: number): void {
    this.#entries.delete(key)
    this.#entries.set(key, { at: now, points })
    for (const [oldest] of this.#entries) if (this.#entries.size > entriesMax) this.#entries.delete(oldest)
  }
}
