import { allowedMs, spreadOf } from '#bench/harness/statistics'

/** One second of the rated load: the frames that were due in it, and the latency of their events at a dashboard. */
export interface Second {
  readonly at: number
  /** Infinite when the events of more than one frame in a hundred are missing. */
  readonly p99: number
}

/** This many consecutive seconds must be good, because a single one may be chance. */
export const goodInRow = 3
/** The promised recovery time. */
export const recoverWithinS = 5

/** The latency of a second before the overload, and the highest latency that is permitted afterwards. */
export interface NormalLatency {
  readonly p99: number
  readonly allowed: number
}

/** Uses the median of the seconds, because other guests of the machine delay some. */
export function normalLatencyOf(seconds: readonly Second[]): NormalLatency {
  const p99 = spreadOf(seconds.map((second) => second.p99)).median
  return { p99, allowed: allowedMs(p99) }
}

/** Seconds from `endedAt` (Unix ms) to the first of some consecutive good ones; undefined: not yet. */
export function recoveredAfter(
  seconds: readonly Second[],
  endedAt: number,
  { allowed }: Pick<NormalLatency, 'allowed'>,
): number | undefined {
  let good = 0
  for (const [place, { at, p99 }] of seconds.entries()) {
    if (at < endedAt) continue
    good = p99 <= allowed ? good + 1 : 0
    if (good === goodInRow) return ((seconds[place - goodInRow + 1] as Second).at - endedAt) / 1000
  }
  return undefined
}

/** The highest p99 of the seconds that began between `from` and `to`, for the report. */
export function worstOf(seconds: readonly Second[], from: number, to: number): number {
  return Math.max(0, ...seconds.filter(({ at }) => at >= from && at < to).map(({ p99 }) => p99))
}
