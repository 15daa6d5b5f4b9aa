import type { z } from 'zod'
import { Problem, type ProblemDetail } from '#model/problem'

/** As many as help; a body can hold a hundred thousand mistakes. */
const detailsMax = 100

/** The value as the schema makes it, or 400 Validation Error with where and what. Contract 1.3. */
export function validate(schema: z.ZodType, value: unknown): unknown {
  const result = schema.safeParse(value)
  if (result.success) return result.data
  throw new Problem('invalid', undefined, { details: detailsOf(result.error.issues) })
}

export function detailsOf(issues: readonly z.core.$ZodIssue[]): readonly ProblemDetail[] {
  const details: ProblemDetail[] = []
  for (const issue of issues) {
    // An unknown key is reported at its parent; the client wants to hear which key.
    const paths = issue.code === 'unrecognized_keys' ? issue.keys.map((key) => [...issue.path, key]) : [issue.path]
    for (const path of paths) {
      if (details.length === detailsMax) return details
      details.push({ path: path.map(String).join('.'), message: issue.message })
    }
  }
  return details
}
