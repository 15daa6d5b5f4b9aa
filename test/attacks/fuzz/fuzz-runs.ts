import type fc from 'fast-check'

/**
 * The number of runs of each property. `npm test` makes few runs, with a new seed every time. A failure prints the
 * seed, and `FUZZ_SEED` repeats the runs with it.
 *
 * | variable | |
 * |---|---|
 * | `FUZZ_TIMES` | multiplies the number of runs; by default 1 |
 * | `FUZZ_SEED` | the seed, an integer |
 */
const times = Number(process.env.FUZZ_TIMES ?? 1)
const seed = process.env.FUZZ_SEED

/** Options of a property that has this number of runs in `npm test`. */
export function fuzzRuns(count: number): fc.Parameters<unknown> {
  return { numRuns: Math.ceil(count * times), ...(seed !== undefined && { seed: Number(seed) }) }
}
