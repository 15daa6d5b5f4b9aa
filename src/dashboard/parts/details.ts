import { statusOf } from '#dashboard/parts/problem-text'

/** What a refusal says of parts of what was sent. Contract 1.3. */

interface Detailed {
  readonly details?: readonly { readonly path: string; readonly message: string }[]
}

/** What it says of a field or of anything in it: `devices` also finds `devices.3`. Undefined: nothing. */
export function detailUnder(problem: unknown, field: string): string | undefined {
  const { details } = (problem ?? {}) as Detailed
  const found = details?.find(({ path }) => path === field || path.startsWith(`${field}.`))
  if (!found) return undefined
  const inside = found.path.slice(field.length + 1)
  return inside === '' ? found.message : `${found.message} (at ${inside})`
}

/** The same problem, unless it is a refusal of this status: then one that says what it means here. */
export function refusedFor(problem: unknown, status: number, meaning: string): unknown {
  return statusOf(problem) === status ? new Error(meaning) : problem
}
