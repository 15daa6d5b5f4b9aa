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

/** The allowed increase of a p99 while the server does other work. */
const longerMsMax = 10

/** The limit of a p99 during other work: twice the p99 without that work, or 10 ms more, if that is higher. */
export function allowedMs(msWithout: number): number {
  return Math.max(2 * msWithout, msWithout + longerMsMax)
}
