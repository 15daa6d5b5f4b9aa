/** The span of time that a chart shows. Times in Unix ms. */

/** A length of time that always ends now, or a fixed span. */
export type Span = { readonly lastMs: number } | Edges

export interface Edges {
  readonly from: number
  /** Not included. */
  readonly to: number
}

const [hourMs, dayMs] = [3_600_000, 86_400_000]

export const ranges = [
  { label: '1 h', lastMs: hourMs },
  { label: '24 h', lastMs: dayMs },
  { label: '7 d', lastMs: 7 * dayMs },
  { label: '30 d', lastMs: 30 * dayMs },
  { label: '1 y', lastMs: 365 * dayMs },
] as const

/** Shorter spans would have fewer than ten buckets, because the server's smallest buckets have 1 s. */
const spanMsMin = 10_000
/**
 * The server answers at most ten years, after it has rounded both ends to buckets, which lengthens the span. Contract
 * 9.
 */
const spanMsMax = 9 * 365 * dayMs

export function edgesOf(span: Span, now: number): Edges {
  return 'lastMs' in span ? { from: now - span.lastMs, to: now } : span
}

/** A span with the same middle and a permitted length. It is moved to earlier times if it would end after now. */
export function fixedSpan({ from, to }: Edges, now: number): Edges {
  const lengthMs = Math.min(spanMsMax, Math.max(spanMsMin, to - from))
  const end = Math.min(now, Math.round((from + to + lengthMs) / 2))
  return { from: Math.round(end - lengthMs), to: end }
}

/** `factor` below 1 shows less time, above 1 more. */
export function zoomEdges(edges: Edges, factor: number, now: number): Edges {
  const middle = (edges.from + edges.to) / 2
  const half = ((edges.to - edges.from) / 2) * factor
  return fixedSpan({ from: middle - half, to: middle + half }, now)
}

/** Moved by half of its length: -1 to earlier times, 1 to later times. */
export function shiftEdges({ from, to }: Edges, direction: -1 | 1, now: number): Edges {
  const step = (direction * (to - from)) / 2
  return fixedSpan({ from: from + step, to: to + step }, now)
}

/** The fault of a span that a user entered; undefined if the span is valid. */
export function spanFault({ from, to }: Edges): string | undefined {
  if (Number.isNaN(from) || Number.isNaN(to)) return 'Both fields must be a date and a time.'
  if (from >= to) return 'To must be after From.'
  return to - from > spanMsMax ? 'To must be at most nine years after From.' : undefined
}

/**
 * The label of a tick, depending on the distance of two ticks. Below a day: the time of day, or the date at midnight.
 * From a day: the date. From four weeks: the month.
 */
export function tickText(at: number, distanceMs: number, locale?: string): string {
  const date = new Date(at)
  if (distanceMs >= 28 * dayMs) return date.toLocaleDateString(locale, { month: 'short', year: 'numeric' })
  const isMidnight = date.getHours() === 0 && date.getMinutes() === 0 && date.getSeconds() === 0
  if (distanceMs >= dayMs || isMidnight) return date.toLocaleDateString(locale, { day: 'numeric', month: 'short' })
  const seconds = distanceMs < 60_000 ? ({ second: '2-digit' } as const) : {}
  return date.toLocaleTimeString(locale, { hour: '2-digit', minute: '2-digit', ...seconds })
}
