import type fc from 'fast-check'

/**
 * How often properties are tried. `npm test` tries each a little, with another seed every time. A failure is printed with its
 * seed and path: `FUZZ_SEED` repeats it.
 *
 * | variable | |
 * |---|---|
 * | `FUZZ_TIMES` | so many times as often; 1 |
 * | `FUZZ_SEED` | a whole number |
 */
const times = Number(process.env.FUZZ_TIMES ?? 1)
const seed = process.env.FUZZ_SEED

/** Options of a property that `npm test` tries so often. */
export function tried(count: number): fc.Parameters<unknown> {
  return { numRuns: Math.ceil(count * times), ...(seed !== undefined && { seed: Number(seed) }) }
}
