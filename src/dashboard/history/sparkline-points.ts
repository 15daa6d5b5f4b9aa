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

export const [width, height] = [120, 28]
const margin = 3
const hourMs = 3_600_000

/** The line of the last hour, from left to right; the largest value is at the top. */
export function linePoints(
  points: SparklinePoints | undefined,
  current: number | undefined,
  now: number,
): readonly (readonly [x: number, y: number])[] {
  const all: [number, number][] = []
  for (const [index, time] of (points?.time ?? []).entries()) {
    const value = points?.avg[index]
    if (value != null && time > now - hourMs && time < now) all.push([time, value])
  }
  if (current !== undefined && points) {
    // Without a report within the hour, the value has not changed.
    if (all.length === 0) all.push([now - hourMs, current])
    all.push([now, current])
  }
  const values = all.map(([, value]) => value)
  const [low, high] = [Math.min(...values), Math.max(...values)]
  return all.map(([time, value]) => {
    const share = high === low ? 0.5 : (value - low) / (high - low)
    return [width * (1 - (now - time) / hourMs), height - margin - share * (height - 2 * margin)]
  })
}
