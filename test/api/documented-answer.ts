import { expect } from 'vitest'
import { type AnswerHeader, answerHeaders, headersOfAnswer } from '#api/answer-headers'
import type { RouteAnswer, RouteEntry } from '#api/entry'
import { ErrorBody } from '#api/error-answers'
import { generalAnswers } from '#api/operation'

interface Answer {
  readonly status: number
  readonly text: string
  readonly headers: Headers
}

/** An answer is one that its entry describes: status, body and headers, with nothing in it that is not said. */
export function expectDocumented(entry: RouteEntry, { status, text, headers }: Answer): void {
  const answer = entry.answers[status] ?? generalAnswerTo(status)
  if (!answer) throw new Error(`${entry.name} does not say ${status}`)
  const { schema, contentType } = answer
  if (schema) {
    const body: unknown = JSON.parse(text)
    const parsed = schema.safeParse(body)
    expect(parsed.error).toBeUndefined()
    // What a schema does not know it leaves out.
    expect(parsed.data).toEqual(body)
  } else if (contentType) expect(headers.get('content-type')).toContain(contentType)
  else expect(text).toBe('')

  const { always, optional } = headersOfAnswer(entry, status)
  const has = (name: AnswerHeader) => headers.has(name)
  const names = Object.keys(answerHeaders) as AnswerHeader[]
  expect(names.filter((name) => has(name) && !optional.includes(name)).toSorted()).toEqual(always.toSorted())
}

function generalAnswerTo(status: number): RouteAnswer | undefined {
  const description = generalAnswers[status]
  return description === undefined ? undefined : { description, schema: ErrorBody }
}

/**
 * What is shown is how it is: each field of the example is there, of the same kind; of a list at least one entry is like
 * the first of the example.
 */
export function expectShape(example: unknown, actual: unknown): void {
  expect(misfitOf(example, actual, 'body')).toBeUndefined()
}

/** Where it is otherwise. */
function misfitOf(example: unknown, actual: unknown, path: string): string | undefined {
  if (kindOf(actual) !== kindOf(example)) return `${path} is ${kindOf(actual)}, not ${kindOf(example)}`
  if (Array.isArray(example) && Array.isArray(actual)) {
    if (example.length === 0) return undefined
    const misfits = actual.map((each, index) => misfitOf(example[0], each, `${path}[${index}]`))
    return misfits.includes(undefined) ? undefined : (misfits[0] ?? `${path} is empty`)
  }
  if (!isRecord(example) || !isRecord(actual)) return undefined
  for (const [key, value] of Object.entries(example)) {
    if (!(key in actual)) return `${path} has no ${key}`
    const misfit = misfitOf(value, actual[key], `${path}.${key}`)
    if (misfit !== undefined) return misfit
  }
  return undefined
}

function kindOf(value: unknown): string {
  if (Array.isArray(value)) return 'array'
  return value === null ? 'null' : typeof value
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
