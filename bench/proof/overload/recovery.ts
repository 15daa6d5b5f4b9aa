import { allowedMs, spreadOf } from '#bench/harness/statistics'

/**
 * One second of the rated load. `p99`: latency, at a dashboard, of the events of the frames that were due in this
 * second.
 */
export interface Second {
  readonly at: number
  /** `Number.MAX_VALUE` when the events of more than one frame in a hundred are missing. */
  readonly p99: number
}

/** This many consecutive seconds must be good, because a single good second may be chance. */
export const goodInRow = 3
/** The promised recovery time. */
export const recoverWithinS = 5

/** The p99 of a normal second before the overload, and the highest p99 that is permitted afterwards. */
export interface NormalLatency {
  readonly p99: number
  readonly allowed: number
}

/** Uses the median of the seconds, because other guests of the machine delay some. */
export function normalLatencyOf(seconds: readonly Second[]): NormalLatency {
  const p99 = spreadOf(seconds.map((second) => second.p99)).median
  return { p99, allowed: allowedMs(p99) }
}

/** Seconds from `endedAt` (Unix ms) to the first of `goodInRow` consecutive good seconds; undefined: not yet. */
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
