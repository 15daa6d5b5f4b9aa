import { realWorld } from '#src/world'

export interface Question {
  readonly method?: string
  readonly headers?: Readonly<Record<string, string>>
  /** Sent as JSON. */
  readonly body?: unknown
  readonly withinMs?: number
}

export interface Answer {
  readonly status: number
  readonly headers: Headers
  readonly text: string
}

/** There was no answer. `isRefused`: nobody listens there; otherwise it can't be known who does. */
export class NoAnswer extends Error {
  readonly isRefused: boolean

  constructor(reason: string, isRefused: boolean) {
    super(reason)
    this.isRefused = isRefused
  }
}

/** A request has to begin to be answered within 60 s, else the server itself gives up. */
const answerWithinMs = 65_000

/**
 * Asks, and reads the whole answer. Redirections are not followed: what is asked with a password goes where it was sent.
 *
 * @throws NoAnswer
 */
export async function exchange(url: string, question: Question = {}): Promise<Answer> {
  const { method = 'GET', headers = {}, body, withinMs = answerWithinMs } = question
  const patience = new AbortController()
  const calm = realWorld.after(withinMs, () => patience.abort())
  try {
    const response = await fetch(url, {
      method,
      headers: { ...(body !== undefined && { 'content-type': 'application/json' }), ...headers },
      redirect: 'manual',
      signal: patience.signal,
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
    return { status: response.status, headers: response.headers, text: await response.text() }
  } catch (error) {
    if (patience.signal.aborted) throw new NoAnswer(`no answer within ${withinMs / 1000} s`, false)
    throw noAnswerFrom(error)
  } finally {
    calm()
  }
}

/** `fetch` says only that it failed: why is its cause, or, of a name with several addresses, the first of several. */
function noAnswerFrom(error: unknown): NoAnswer {
  let reason = error
  while (reason instanceof Error) {
    const inner: unknown = reason instanceof AggregateError ? reason.errors[0] : reason.cause
    if (inner === undefined) break
    reason = inner
  }
  const message = reason instanceof Error ? reason.message : String(reason)
  const isRefused = reason instanceof Error && 'code' in reason && reason.code === 'ECONNREFUSED'
  return new NoAnswer(message, isRefused)
}
