import { type ClientRequest, Agent as HttpAgent, type IncomingMessage, request as requestHttp } from 'node:http'
import { Agent as HttpsAgent, request as requestHttps } from 'node:https'
import type { World } from '#runtime/world'

/** Maximum size of an answer; a description of an update is much smaller. */
const bodyBytesMax = 64 * 1024

/** The answer took too long. */
export class AnswerTooLate extends Error {
  constructor(afterMs: number) {
    super(`no answer in ${afterMs} ms`)
    this.name = 'AnswerTooLate'
  }
}

/** A server's answer. */
export interface Answer {
  readonly status: number
  readonly retryAfter: string | undefined
  /** The text of a 200, which may be invalid JSON; empty for any other status. */
  readonly text: string
}

export interface JsonClientOptions {
  readonly world: World
  /** From the call to the last byte of the answer, including the wait for a connection. */
  readonly timeoutMs: number
  readonly socketsMax: number
}

/**
 * GET requests to one server over persistent connections. Redirects are not followed, because they would send the
 * request's credentials to another server. If the server closed a reused connection, the request is sent once more.
 */
export class JsonClient {
  readonly #options: JsonClientOptions
  readonly #isSecure: boolean
  readonly #agent: HttpAgent
  #isStopped = false

  /** `protocol`: `http:` or `https:`, as in `URL`. */
  constructor(protocol: string, options: JsonClientOptions) {
    this.#options = options
    this.#isSecure = protocol === 'https:'
    const sockets = { keepAlive: true, maxSockets: options.socketsMax }
    this.#agent = this.#isSecure ? new HttpsAgent(sockets) : new HttpAgent(sockets)
  }

  /** @throws AnswerTooLate; a RangeError for an answer that is too long; the connection's error; the signal's reason */
  get(url: URL, headers: Readonly<Record<string, string>>, signal: AbortSignal | undefined): Promise<Answer> {
    return new Promise((answered, failed) => {
      let request: ClientRequest | undefined
      let isSettled = false
      const settle = (tell: () => void) => {
        if (isSettled) return
        isSettled = true
        cancel()
        signal?.removeEventListener('abort', abort)
        tell()
      }
      const fail = (error: unknown) => {
        settle(() => failed(error))
        request?.destroy()
      }
      const abort = () => fail(signal?.reason)
      const { timeoutMs, world } = this.#options
      const cancel = world.after(timeoutMs, () => fail(new AnswerTooLate(timeoutMs)))
      const send = (isFirst: boolean) => {
        const sent = this.#request(url, headers)
        request = sent
        sent.on('error', (error: NodeJS.ErrnoException) => {
          const wasClosed = sent.reusedSocket && error.code === 'ECONNRESET'
          if (wasClosed && isFirst && !isSettled && !this.#isStopped) send(false)
          else fail(error)
        })
        sent.on('response', (response) => {
          const status = response.statusCode ?? 0
          const retryAfter = response.headers['retry-after']
          if (status === 200) {
            textOf(response).then((text) => settle(() => answered({ status, retryAfter, text })), fail)
            return
          }
          settle(() => answered({ status, retryAfter, text: '' }))
          // The body is not needed. To read a long one would take longer than a new connection; a 204 has none.
          if (status === 204) response.resume()
          else response.destroy()
        })
        sent.end()
      }
      signal?.addEventListener('abort', abort, { once: true })
      if (signal?.aborted) abort()
      else send(true)
    })
  }

  /** Closes the connections; running requests fail. */
  stop(): void {
    this.#isStopped = true
    this.#agent.destroy()
  }

  #request(url: URL, headers: Readonly<Record<string, string>>) {
    const options = { agent: this.#agent, headers: { ...headers, accept: 'application/json' } }
    return this.#isSecure ? requestHttps(url, options) : requestHttp(url, options)
  }
}

async function textOf(response: IncomingMessage): Promise<string> {
  const pieces: Buffer[] = []
  let length = 0
  for await (const piece of response as AsyncIterable<Buffer>) {
    length += piece.length
    if (length > bodyBytesMax) throw new RangeError(`an answer of more than ${bodyBytesMax} bytes`)
    pieces.push(piece)
  }
  return Buffer.concat(pieces).toString()
}
