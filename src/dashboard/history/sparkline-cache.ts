import { type ChartSeries, seriesKey } from '#dashboard/history/chart-series'

/** The points of a sparkline: times in Unix ms, ascending, and averages. */
export interface SparklinePoints {
  readonly time: readonly number[]
  readonly avg: readonly (number | null)[]
}

export type SparklineSeries = Omit<ChartSeries, 'name' | 'unit'>

/** The limit of the server for one query. Contract 9. */
const seriesMax = 100
/** A limit, because a user may scroll through a whole fleet. The oldest entries are dropped. */
const entriesMax = 1_000
/** Visible points that are older are read again. This is about the length of a bucket. */
const freshMs = 60_000

/** Keeps the points of the last hour by series, and decides which series to read. */
export class SparklineCache {
  /** The oldest answer first. `points` undefined: the server has none. */
  readonly #entries = new Map<string, { readonly at: number; readonly points: SparklinePoints | undefined }>()

  pointsOf(key: string): SparklinePoints | undefined {
    return this.#entries.get(key)?.points
  }

  /** The series among these that are unknown or no longer fresh, at most as many as one query may have. */
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
