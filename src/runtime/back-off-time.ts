export interface BackOffTimes {
  readonly firstMs: number
  readonly longestMs: number
  /** The random part of the delay (a ratio), so that clients that failed together do not retry together. */
  readonly spread: number
}

/** The delay after consecutive failures, doubled each time. `chance` is from 0 to 1. */
export function backOffMs({ firstMs, longestMs, spread }: BackOffTimes, failures: number, chance: number): number {
  return Math.min(firstMs * 2 ** (failures - 1), longestMs) * (1 + spread * (2 * chance - 1))
}
