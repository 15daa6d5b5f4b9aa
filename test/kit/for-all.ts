import fc from 'fast-check'

type Values = [unknown, ...unknown[]]
type Arbitraries<T extends Values> = { readonly [K in keyof T]: fc.Arbitrary<T[K]> }
type Check<T extends Values, Result> = (...values: T) => Result
type Rest<T extends Values, Result> = [check: Check<T, Result>] | [numRuns: number, check: Check<T, Result>]

/** Asserts that the check passes for any values. `numRuns`: the number of tried values. */
export function forAll<T extends Values>(arbitraries: Arbitraries<T>, ...rest: Rest<T, void>): void {
  const [check, options] = partsOf(rest)
  fc.assert(
    fc.property(fc.tuple<T>(...arbitraries), (values) => check(...values)),
    options,
  )
}

/** As `forAll`, with a check that waits. */
export async function forAllAsync<T extends Values>(
  arbitraries: Arbitraries<T>,
  ...rest: Rest<T, Promise<void>>
): Promise<void> {
  const [check, options] = partsOf(rest)
  await fc.assert(
    fc.asyncProperty(fc.tuple<T>(...arbitraries), (values) => check(...values)),
    options,
  )
}

function partsOf<T extends Values, Result>(rest: Rest<T, Result>): [Check<T, Result>, { numRuns?: number }] {
  const [first, second] = rest
  return typeof first === 'number' ? [second as Check<T, Result>, { numRuns: first }] : [first, {}]
}
