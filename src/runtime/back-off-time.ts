export interface BackOffTimes {
  readonly firstMs: number
  readonly longestMs: number
  /** The part of the time by which it is longer or shorter, so that what failed together does not come back together. */
  readonly spread: number
}

/** How long to wait after failures in a row: each time twice as long. `chance` is from 0 to 1. */
export function backOffMs({ firstMs, longestMs, spread }: BackOffTimes, failures: number, chance: number): number {
  return Math.min(firstMs * 2 ** (failures - 1), longestMs) * (1 + spread * (2 * chance - 1))
}
