export interface BackOffTimes {
  readonly firstMs: number
  readonly longestMs: number
  /**
   * How much the delay varies at random, up or down, as a ratio. So clients that failed together do not retry together.
   */
  readonly spread: number
}

/**
 * The delay after consecutive failures (1 or more): it doubles each time, up to `longestMs`, and then varies by
 * `spread`. `chance` is a random number from 0 to 1.
 */
export function backOffMs({ firstMs, longestMs, spread }: BackOffTimes, failures: number, chance: number): number {
  return Math.min(firstMs * 2 ** (failures - 1), longestMs) * (1 + spread * (2 * chance - 1))
}
