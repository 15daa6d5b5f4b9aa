import http, { type IncomingMessage } from 'node:http'
import https from 'node:https'
import { text } from 'node:stream/consumers'
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

/** An answer that is read while it comes; of one that is no success the text. */
export type LongAnswer = { readonly pieces: AsyncIterable<Uint8Array> } | { readonly refused: Answer }

/**
 * Asks for what may be long. Nothing for so long that the server would have given up breaks it off. Not by `fetch`: that of
 * Node 20 copies all that waits to be read for each chunk that is taken slowly, which made 0.3 s of 94 MB 16.
 *
 * @throws NoAnswer, also while it is read
 */
export async function exchangeLong(url: string, question: Question = {}): Promise<LongAnswer> {
  const { method = 'GET', headers = {} } = question
  const patience = new AbortController()
  const wait = () => realWorld.after(answerWithinMs, () => patience.abort())
  const calm = wait()
  try {
    const response = await new Promise<IncomingMessage>((resolve, reject) => {
      const ask = url.startsWith('https:') ? https.request : http.request
      ask(url, { method, headers, agent: false, signal: patience.signal }, resolve).on('error', reject).end()
    })
    if (response.statusCode !== 200) {
      return { refused: { status: response.statusCode ?? 0, headers: headersOf(response), text: await text(response) } }
    }
    return { pieces: patiently(response, wait) }
  } catch (error) {
    throw noAnswerFrom(error)
  } finally {
    calm()
  }
}

function headersOf({ headersDistinct }: IncomingMessage): Headers {
  const headers = new Headers()
  for (const [name, values = []] of Object.entries(headersDistinct)) {
    for (const value of values) headers.append(name, value)
  }
  return headers
}

async function* patiently(body: AsyncIterable<Uint8Array>, wait: () => () => void): AsyncGenerator<Uint8Array> {
  const pieces = body[Symbol.asyncIterator]()
  try {
    for (;;) {
      const calm = wait()
      const { done, value } = await pieces.next().finally(calm)
      if (done) return
      yield value
    }
  } catch (error) {
    throw noAnswerFrom(error)
  } finally {
    await pieces.return?.().catch(() => undefined)
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
