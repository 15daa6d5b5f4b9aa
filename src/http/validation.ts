import { z } from 'zod'
import { detailsMax, Problem, type ProblemDetail } from '#model/problem'

/** The limit of a path, and of a message: both contain keys that the caller sent, up to a hundred times. */
const detailCharactersMax = 256

/** The value as parsed by the schema, or 400 Validation Error with paths and messages. Contract 1.3. */
export function validate(schema: z.ZodType, value: unknown): unknown {
  // `safeParse` makes a text for every issue, and the 11 000 of a schema with wrong fields take 30 ms.
  const result = schema._zod.run({ value, issues: [] }, { async: false })
  if (result instanceof Promise) throw new Error('the schema is asynchronous')
  if (result.issues.length === 0) return result.value
  const first = result.issues.slice(0, detailsMax)
  const issues = first.map((issue) => z.core.util.finalizeIssue(issue, { async: false }, z.core.config()))
  throw new Problem('invalid', undefined, { details: detailsOf(issues) })
}

function detailsOf(issues: readonly z.core.$ZodIssue[]): readonly ProblemDetail[] {
  const details: ProblemDetail[] = []
  for (const issue of issues) {
    // An unknown key is reported at its parent; the client needs the key.
    const keys = issue.code === 'unrecognized_keys' ? issue.keys.slice(0, detailsMax) : []
    const paths = keys.length > 0 ? keys.map((key) => [...issue.path, key]) : [issue.path]
    const message = clipped(issue.message)
    for (const path of paths) {
      if (details.length === detailsMax) return details
      details.push({ path: clipped(path.map((key) => clipped(String(key))).join('.')), message })
    }
  }
  return details
}

function clipped(text: string): string {
  return text.length > detailCharactersMax ? `${text.slice(0, detailCharactersMax - 1).toWellFormed()}…` : text
}
