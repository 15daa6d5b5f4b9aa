import { expect } from 'vitest'
import type { RouteEntry } from '#api/entry'
import { ErrorBody } from '#api/refusals'
import { type AnswerHeader, answerHeaders, headersOfAnswer } from '#description/answer-headers'
import { generalAnswers } from '#description/operation'

interface Answer {
  readonly status: number
  readonly text: string
  readonly headers: Headers
}

/** An answer is one that its entry describes: status, body and headers, with nothing in it that is not said. */
export function expectDocumented(entry: RouteEntry, { status, text, headers }: Answer): void {
  const general = status in generalAnswers ? { schema: ErrorBody } : undefined
  const { schema, contentType } = entry.answers[status] ?? general ?? {}
  expect(entry.answers[status] ?? general, `${entry.name} does not say ${status}`).toBeDefined()
  if (schema) {
    const body: unknown = JSON.parse(text)
    const parsed = schema.safeParse(body)
    expect(parsed.error).toBeUndefined()
    // What a schema does not know it leaves out.
    expect(parsed.data).toEqual(body)
  } else if (contentType) expect(headers.get('content-type')).toContain(contentType)
  else expect(text).toBe('')

  const { always, perhaps } = headersOfAnswer(entry, status)
  const has = (name: AnswerHeader) => headers.has(name)
  const names = Object.keys(answerHeaders) as AnswerHeader[]
  expect(names.filter((name) => has(name) && !perhaps.includes(name)).toSorted()).toEqual(always.toSorted())
}

/** What is shown is how it is: each field of the example is there, of the same kind. */
export function expectShape(example: unknown, actual: unknown, path = ''): void {
  expect(kindOf(actual), path).toBe(kindOf(example))
  if (Array.isArray(example) && Array.isArray(actual)) {
    expect(actual.length > 0, path).toBe(example.length > 0)
    if (example.length > 0) expectShape(example[0], actual[0], `${path}[0]`)
  } else if (isRecord(example) && isRecord(actual)) {
    for (const [key, value] of Object.entries(example)) {
      expect(Object.keys(actual), path).toContain(key)
      expectShape(value, actual[key], `${path}.${key}`)
    }
  }
}

function kindOf(value: unknown): string {
  if (Array.isArray(value)) return 'array'
  return value === null ? 'null' : typeof value
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
