import type { History } from '#client/client'
import type { Edges } from '#dashboard/history/span'

/** The data of a chart, computed from histories. */

export type HistorySeries = History['series'][number]
type Column = (number | null | undefined)[]

/** Times in Unix seconds, ascending, and the values of each series at these times; undefined where it has none. */
export interface ChartData {
  readonly times: readonly number[]
  /** Null: the line is interrupted. */
  readonly series: readonly { readonly avg: Column; readonly min: Column; readonly max: Column }[]
}

/** Columns over the times of all series. A line is interrupted at its marks, and at gaps. */
export function chartData(histories: readonly (HistorySeries | undefined)[], gaps: readonly Edges[]): ChartData {
  const times = new Set<number>()
  const breaksOf = histories.map((history) => new Set(history ? breaksIn(history, gaps) : []))
  for (const [place, history] of histories.entries()) {
    for (const time of history?.time ?? []) times.add(time)
    for (const time of breaksOf[place] ?? []) times.add(time)
  }
  const sorted = Float64Array.from(times).sort()
  const placeOf = new Map<number, number>()
  for (const [place, time] of sorted.entries()) placeOf.set(time, place)
  const series = histories.map((history, place) => {
    const columns = { avg: empty(), min: empty(), max: empty() }
    for (const time of breaksOf[place] ?? [])
      for (const column of values(columns)) column[placeOf.get(time) ?? 0] = null
    for (const [index, time] of (history?.time ?? []).entries()) {
      const at = placeOf.get(time) ?? 0
      columns.avg[at] = history?.avg?.[index]
      columns.min[at] = history?.min?.[index]
      columns.max[at] = history?.max?.[index]
    }
    return columns
  })
  return { times: [...sorted].map((ms) => ms / 1_000), series }

  function empty(): Column {
    return Array.from({ length: sorted.length })
  }
}

function values({ avg, min, max }: ChartData['series'][number]): readonly Column[] {
  return [avg, min, max]
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

/** The summary of the values in the span; undefined if there are none. */
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

/** The gaps of several histories that touch the span, each once. */
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
