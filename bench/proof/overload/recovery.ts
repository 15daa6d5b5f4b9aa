import { allowedMs, spreadOf } from '#bench/harness/statistics'

/** One second of the rated load: frames that were due in it, and how long until a dashboard heard of them. */
export interface Second {
  /** Where it began, Unix ms. */
  readonly at: number
  /** Infinite when more than one in a hundred was not heard. */
  readonly p99: number
}

/** So many in a row have to be good: one may be luck. */
export const goodInRow = 3
/** How late it may be back. Issue of the promise: 5 s. */
export const recoverWithinS = 5

/** What a second took before, and what it may take behind the overload. */
export interface Usual {
  readonly p99: number
  readonly allowed: number
}

/** By the second in the middle: a machine with other guests holds up one now and then. */
export function usualOf(seconds: readonly Second[]): Usual {
  const p99 = spreadOf(seconds.map((second) => second.p99)).median
  return { p99, allowed: allowedMs(p99) }
}

/** Seconds from `endedAt` (Unix ms) until the first of some good ones in a row began; undefined: not yet. */
export function recoveredAfter(
  seconds: readonly Second[],
  endedAt: number,
  { allowed }: Pick<Usual, 'allowed'>,
): number | undefined {
  let good = 0
  for (const [place, { at, p99 }] of seconds.entries()) {
    if (at < endedAt) continue
    good = p99 <= allowed ? good + 1 : 0
    if (good === goodInRow) return ((seconds[place - goodInRow + 1] as Second).at - endedAt) / 1000
  }
  return undefined
}

/** The worst that was heard in time at all, and whether some second was not: for people. */
export function worstOf(seconds: readonly Second[], from: number, to: number): number {
  return Math.max(0, ...seconds.filter(({ at }) => at >= from && at < to).map(({ p99 }) => p99))
}
