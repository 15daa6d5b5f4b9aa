export interface Spread {
  readonly median: number
  readonly min: number
  readonly max: number
}

export function spreadOf(values: readonly number[]): Spread {
  if (values.length === 0) throw new RangeError('no values')
  const sorted = [...values].sort((a, b) => a - b)
  const middle = sorted.length >> 1
  const upper = sorted[middle] as number
  const median = sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] as number) + upper) / 2
  return { median, min: sorted[0] as number, max: sorted.at(-1) as number }
}

/** Ratios of what was measured in the same round: what disturbs a round disturbs both. */
export function pairedRatios(values: readonly number[], baselines: readonly number[]): Spread {
  return spreadOf(values.map((value, round) => value / (baselines[round] as number)))
}

/** How much longer a p99 may become while the server also does other work. */
const longerMsMax = 10

/** Limit of a p99 during other work, from the p99 without it: twice as much, or 10 ms more. */
export function allowedMs(msWithout: number): number {
  return Math.max(2 * msWithout, msWithout + longerMsMax)
}
