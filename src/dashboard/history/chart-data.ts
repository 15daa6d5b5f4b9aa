import type { History } from '#client/client'
import type { Edges } from '#dashboard/history/span'

export type HistorySeries = History['series'][number]
type Column = (number | null | undefined)[]

/**
 * Times in Unix seconds, ascending, and the values of each series at these times; undefined where a series has no
 * value.
 */
export interface ChartData {
  readonly times: readonly number[]
  /** Null in a column: the line is interrupted at this time. */
  readonly series: readonly { readonly avg: Column; readonly min: Column; readonly max: Column }[]
}

/** Columns over the times of all series. A line is interrupted at its marks, and at gaps. */
export function chartData(histories: readonly (HistorySeries | undefined)[], gaps: readonly Edges[]): ChartData {
  const breaks = histories.map((history) => (history ? breaksIn(history, gaps) : []))
  const all = [...histories.flatMap((history) => history?.time ?? []), ...breaks.flat()]
  const times = [...new Set(all)].sort((one, other) => one - other)
  const series = histories.map((history, place) => {
    const broken = new Set(breaks[place])
    const indexes = new Map((history?.time ?? []).map((time, index) => [time, index]))
    const columnOf = (name: 'avg' | 'min' | 'max'): Column =>
      times.map((time) => {
        const index = indexes.get(time)
        if (index === undefined) return broken.has(time) ? null : undefined
        return history?.[name]?.[index]
      })
    return { avg: columnOf('avg'), min: columnOf('min'), max: columnOf('max') }
  })
  return { times: times.map((ms) => ms / 1_000), series }
}

/** The times at which a line is interrupted: at its marks, and in gaps between two of its points. */
function breaksIn({ time, marks }: HistorySeries, gaps: readonly Edges[]): number[] {
  const first = time[0] ?? Number.POSITIVE_INFINITY
  const last = time.at(-1) ?? Number.NEGATIVE_INFINITY
  const inGaps = gaps.map(({ from, to }) => (from + to) / 2)
  return [...marks.map((mark) => mark.time), ...inGaps].filter((at) => at > first && at < last)
}

export interface Summary {
  readonly min: number
  readonly max: number
  readonly avg: number
  /** The newest value itself, not an average. */
  readonly last: number
}

export function summaryOf(
  { time, min, max, avg, count, last }: HistorySeries,
  { from, to }: Edges,
): Summary | undefined {
  let found: Summary | undefined
  let [sum, weights] = [0, 0]
  for (const [index, at] of time.entries()) {
    const [low, high, middle] = [min?.[index], max?.[index], avg?.[index]]
    if (at < from || at >= to || low == null || high == null || middle == null) continue
    const weight = count?.[index] ?? 1
    sum += middle * weight
    weights += weight
    found = {
      min: Math.min(low, found?.min ?? low),
      max: Math.max(high, found?.max ?? high),
      avg: sum / weights,
      last: Number(last?.[index] ?? middle),
    }
  }
  return found
}

/** The limits of an axis: the values and the thresholds, with a margin. A constant value is in the middle. */
export function axisLimits(
  min: number | null,
  max: number | null,
  thresholds: readonly number[],
): readonly [number, number] {
  const all = [...(min === null || max === null ? [] : [min, max]), ...thresholds]
  if (all.length === 0) return [0, 1]
  const [low, high] = [Math.min(...all), Math.max(...all)]
  const margin = high === low ? Math.abs(high) * 0.1 || 1 : (high - low) * 0.08
  return [low - margin, high + margin]
}

/** The gaps of several histories that touch the span. Overlapping gaps are joined. */
export function joinedGaps(lists: readonly (readonly Edges[])[], { from, to }: Edges): readonly Edges[] {
  const joined: { from: number; to: number }[] = []
  for (const gap of lists.flat().sort((one, other) => one.from - other.from)) {
    if (gap.to <= from || gap.from >= to) continue
    const last = joined.at(-1)
    if (last && gap.from <= last.to) last.to = Math.max(last.to, gap.to)
    else joined.push({ ...gap })
  }
  return joined
}
