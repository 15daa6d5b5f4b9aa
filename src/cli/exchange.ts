import http, { type IncomingMessage } from 'node:http'
import https from 'node:https'
import { json } from 'node:stream/consumers'
import { realWorld } from '#app/world'
import { Problem } from '#client/client'

export interface Answer {
  readonly status: number
  readonly headers: Headers
  readonly text: string
}

/** There was no complete answer. `isRefused`: nothing listens at the address. */
export class NoAnswer extends Error {
  readonly isRefused: boolean
  /** The address, and whether the answer was interrupted. */
  readonly place: string

  constructor(place: string, error: unknown) {
    const reason = reasonOf(error)
    super(reason instanceof Error ? reason.message : String(reason))
    this.place = place
    this.isRefused = reason instanceof Error && 'code' in reason && reason.code === 'ECONNREFUSED'
  }
}

/** How long a command waits for data. With default settings, the server begins each answer within 60 s, or gives up. */
const silenceMsMax = 65_000

/** Requests a page of any server with these headers only. Follows no redirection. @throws NoAnswer */
export async function requestPage(
  url: string,
  withinMs: number,
  headers: Record<string, string> = {},
): Promise<Answer> {
  const controller = new AbortController()
  const cancelTimeout = realWorld.after(withinMs, () =>
    controller.abort(new Error(`no answer within ${withinMs / 1000} s`)),
  )
  try {
    const response = await fetch(url, { headers, redirect: 'manual', signal: controller.signal })
    return { status: response.status, headers: response.headers, text: await response.text() }
  } catch (error) {
    throw new NoAnswer(url, error)
  } finally {
    cancelTimeout()
  }
}

/**
 * Streams a long answer. Uses neither `fetch` nor the client library: `fetch` of Node 20 copies all buffered bytes for
 * each chunk of a slow reader, so 94 MB take 46 to 110 s instead of 1.3 s with `node:http`.
 *
 * @throws NoAnswer if the answer does not arrive completely; Problem if the status is not 200
 */
export async function* exchangeLong(url: string, headers: Record<string, string>): AsyncGenerator<Uint8Array> {
  const controller = new AbortController()
  const { signal } = controller
  const abort = () => controller.abort(new Error(`no data for ${silenceMsMax / 1000} s`))
  const withTimeout = <T>(awaited: Promise<T>) => awaited.finally(realWorld.after(silenceMsMax, abort))
  const request = url.startsWith('https:') ? https.request : http.request
  let place = url
  try {
    const response = await withTimeout(
      new Promise<IncomingMessage>((resolve, reject) => {
        request(url, { headers, agent: false, signal }, resolve).on('error', reject).end()
      }),
    )
    if (response.statusCode !== 200) {
      throw new Problem(response.statusCode ?? 0, await withTimeout(json(response)).catch(() => undefined))
    }
    place = `${url}: the answer was interrupted`
    const pieces: AsyncIterator<Uint8Array> = response[Symbol.asyncIterator]()
    for (;;) {
      const { done, value } = await withTimeout(pieces.next())
      if (done) return
      yield value
    }
  } catch (error) {
    throw error instanceof Problem ? error : new NoAnswer(place, error)
  } finally {
    controller.abort()
  }
}

/** The innermost cause of an error of `fetch`, whose own message gives no reason. */
function reasonOf(error: unknown): unknown {
  let reason = error
  while (reason instanceof Error) {
    const inner: unknown = reason instanceof AggregateError ? reason.errors[0] : reason.cause
    if (inner === undefined) break
    reason = inner
  }
  return reason
}
