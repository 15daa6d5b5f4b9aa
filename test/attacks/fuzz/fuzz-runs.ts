import type fc from 'fast-check'

/**
 * The number of runs of each property. `npm test` makes a few, with a new seed every time. A failure prints its seed, and
 * `FUZZ_SEED` repeats it.
 *
 * | variable | |
 * |---|---|
 * | `FUZZ_TIMES` | multiplies the number of runs; 1 |
 * | `FUZZ_SEED` | an integer |
 */
const times = Number(process.env.FUZZ_TIMES ?? 1)
const seed = process.env.FUZZ_SEED

/** Options of a property with this number of runs in `npm test`. */
export function fuzzRuns(count: number): fc.Parameters<unknown> {
  return { numRuns: Math.ceil(count * times), ...(seed !== undefined && { seed: Number(seed) }) }
}
