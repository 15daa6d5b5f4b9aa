import { expect } from 'vitest'
import { type AnswerHeader, answerHeaders, generalAnswers, headersOfAnswer } from '#api/openapi'
import { ErrorBody, type RouteAnswer, type RouteEntry } from '#api/route-entry'

interface Answer {
  readonly status: number
  readonly text: string
  readonly headers: Headers
}

/** Expects that the entry describes the status, every field of the body and every header of the answer. */
export function expectDocumented(entry: RouteEntry, { status, text, headers }: Answer): void {
  const answer = entry.answers[status] ?? generalAnswerTo(status)
  if (!answer) throw new Error(`${entry.name} does not describe ${status}`)
  const { schema, contentType } = answer
  if (schema) {
    const body: unknown = JSON.parse(text)
    const parsed = schema.safeParse(body)
    expect(parsed.error).toBeUndefined()
    // The schema drops unknown fields.
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

/** Expects each field of the example with the same type, and in each list an item like the first one of the example. */
export function expectShape(example: unknown, actual: unknown): void {
  expect(differenceOf(example, actual, 'body')).toBeUndefined()
}

/** The first place where a field is missing or a type differs. */
function differenceOf(example: unknown, actual: unknown, path: string): string | undefined {
  if (typeOf(actual) !== typeOf(example)) return `${path} is ${typeOf(actual)}, not ${typeOf(example)}`
  if (Array.isArray(example) && Array.isArray(actual)) {
    if (example.length === 0) return undefined
    const differences = actual.map((each, index) => differenceOf(example[0], each, `${path}[${index}]`))
    return differences.includes(undefined) ? undefined : (differences[0] ?? `${path} is empty`)
  }
  if (!isRecord(example) || !isRecord(actual)) return undefined
  for (const [key, value] of Object.entries(example)) {
    if (!(key in actual)) return `${path} has no ${key}`
    const difference = differenceOf(value, actual[key], `${path}.${key}`)
    if (difference !== undefined) return difference
  }
  return undefined
}

function typeOf(value: unknown): string {
  if (Array.isArray(value)) return 'array'
  return value === null ? 'null' : typeof value
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
