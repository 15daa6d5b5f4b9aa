import { type ProvenRequest, proofOf } from '#client/dpop-proof'
import type { KeyPair } from '#client/options'
import { following, type Platform } from '#client/platform'
import { ConnectionLost, Problem } from '#client/problem'

/** A request, apart from its credential. */
export interface Request {
  readonly method: string
  /** Below the base path of the API, with the query. */
  readonly path: string
  readonly headers?: Readonly<Record<string, string>>
  /** Bytes, blobs and streams are sent as they are, other values as JSON. */
  readonly body?: unknown
  readonly signal?: AbortSignal | undefined
  /** Aborts after this time without a byte. Default: `silenceMsDefault`, or no limit for raw bodies. */
  readonly silenceMs?: number | undefined
}

/** The authentication headers of a request. */
export interface Credential {
  /** `Bearer …`, `DPoP …`, `Basic …` */
  readonly authorization?: string
  readonly apiKey?: string
  /** The key of the proof, and the token that the proof covers, if any. */
  readonly proof?: { readonly keys: KeyPair; readonly accessToken?: string }
}

export interface RawAnswer {
  readonly status: number
  readonly headers: Headers
  /** Parsed JSON, a text, or bytes; undefined if empty. */
  readonly body: unknown
}

/** Sends a request, and returns the answer of any status. */
export type Exchange = (request: Request) => Promise<RawAnswer>

/** The refusal in an answer. */
export function problemOf({ status, body, headers }: RawAnswer): Problem {
  return new Problem(status, body, headers)
}

/** A person has given up by then. Calls that wait for devices set a longer time. */
const silenceMsDefault = 30_000

/**
 * `Date` has whole seconds, and the server updates it once a second: its clock may be this much ahead of the header.
 */
const dateDelayMsMax = 2_000

/** Requests to one server. Clock and nonce of each answer are used in the next request. RFC 9449 §8, §5.2.5. */
export class Transport {
  readonly #base: string
  readonly #platform: Platform
  #nonce: string | undefined
  #clockOffsetMs = 0

  /** @param base URL with the base path of the API, without a slash at the end */
  constructor(base: string, platform: Platform) {
    this.#base = base
    this.#platform = platform
  }

  /** Unix milliseconds, by the server's clock. */
  now(): number {
    return this.#platform.now() + this.#clockOffsetMs
  }

  /** The address of a websocket. */
  socketUrl(path: string): string {
    return this.#base.replace(/^http/, 'ws') + path
  }

  /**
   * Sends a request. Repeats it once with a new nonce, and once with a corrected clock, if the server asks for that.
   * @throws ConnectionLost if no answer arrived; the reason of the signal if it was aborted
   */
  async send(request: Request, credential: Credential = {}): Promise<RawAnswer> {
    const repairs = new Set<string>()
    for (;;) {
      const answer = await this.#sendOnce(request, credential)
      const error = credential.proof && isReplayable(request.body) ? proofError(answer) : undefined
      if (error === undefined || repairs.has(error)) return answer
      repairs.add(error)
    }
  }

  async #sendOnce(request: Request, credential: Credential): Promise<RawAnswer> {
    const {
      method,
      path,
      body,
      signal,
      silenceMs = isRaw(body) ? Number.POSITIVE_INFINITY : silenceMsDefault,
    } = request
    const url = this.#base + path
    const headers = new Headers(request.headers)
    if (body !== undefined && !isRaw(body) && !headers.has('content-type')) {
      headers.set('content-type', 'application/json')
    }
    if (credential.authorization !== undefined) headers.set('authorization', credential.authorization)
    if (credential.apiKey !== undefined) headers.set('x-api-key', credential.apiKey)
    if (credential.proof) headers.set('dpop', await this.#proof(method, url, credential.proof))
    const deadline = deadlineOf(this.#platform, silenceMs, signal)
    const sentAt = this.#platform.now()
    const init: RequestInit & { readonly cache: 'no-store'; readonly duplex?: 'half' } = {
      method,
      headers,
      signal: deadline.signal,
      // A request with credentials must not follow redirects. A cached answer would have an old time and nonce.
      redirect: 'error',
      cache: 'no-store',
      credentials: 'omit',
      ...(body !== undefined && { body: isRaw(body) ? (body as Blob) : JSON.stringify(body) }),
      ...(isStream(body) && { duplex: 'half' as const }),
    }
    try {
      const response = await this.#platform.fetch(url, init)
      deadline.extend()
      this.#readHeaders(response.headers, sentAt)
      return { status: response.status, headers: response.headers, body: await bodyOf(response, deadline) }
    } catch (error) {
      signal?.throwIfAborted()
      const why = deadline.signal.aborted ? (deadline.signal.reason as Error).message : 'no answer'
      throw new ConnectionLost(`${method} ${url}: ${why}`, { cause: error, mayHaveChanged: isChange(request) })
    } finally {
      deadline.end()
    }
  }

  #proof(method: string, url: string, { keys, accessToken }: NonNullable<Credential['proof']>): Promise<string> {
    const at = Math.floor(this.now() / 1000)
    const proven: ProvenRequest = { method, url, at, id: this.#platform.uniqueId(), nonce: this.#nonce, accessToken }
    return proofOf(keys, proven)
  }

  /** Any answer may contain the next nonce, and each answer contains the server's time. */
  #readHeaders(headers: Headers, sentAt: number): void {
    this.#nonce = headers.get('dpop-nonce') ?? this.#nonce
    const date = Date.parse(headers.get('date') ?? '')
    if (Number.isNaN(date)) return
    // The difference of the clocks is between these limits. A known value within them stays, so that time does not
    // jump.
    const [least, most] = [date - this.#platform.now(), date + dateDelayMsMax - sentAt]
    this.#clockOffsetMs = Math.min(Math.max(this.#clockOffsetMs, least), most)
  }
}

/** Whether the body can be sent a second time. */
export function isReplayable(body: unknown): boolean {
  return !isStream(body)
}

/** Whether the request may change something. Requests under `/auth` do not count, as they can simply be repeated. */
function isChange({ method, path }: Request): boolean {
  return !/^(GET |POST \/auth\/)/.test(`${method} ${path}`)
}

function isRaw(body: unknown): boolean {
  return body instanceof Blob || body instanceof ArrayBuffer || ArrayBuffer.isView(body) || isStream(body)
}

function isStream(body: unknown): boolean {
  return body instanceof ReadableStream
}

/** The error, if another proof with the nonce or the time of this answer can fix it. §5.2.4, §5.2.5 */
function proofError({ status, body }: RawAnswer): string | undefined {
  const error = (body as { readonly error?: unknown } | undefined | null)?.error
  if (status === 400 && error === 'use_dpop_nonce') return error
  return status === 401 && error === 'iat outside tolerance' ? error : undefined
}

async function bodyOf(response: Response, deadline: Deadline): Promise<unknown> {
  const parts: Uint8Array[] = []
  let length = 0
  const reader = response.body?.getReader()
  while (reader) {
    const { done, value } = await reader.read()
    if (done) break
    deadline.extend()
    parts.push(value)
    length += value.byteLength
  }
  if (length === 0) return undefined
  const bytes = joined(parts, length)
  const type = response.headers.get('content-type') ?? ''
  if (!/^(text\/|application\/([\w.-]+\+)?json)/i.test(type)) return bytes
  const text = new TextDecoder().decode(bytes)
  return /json/i.test(type) ? JSON.parse(text) : text
}

function joined(parts: readonly Uint8Array[], length: number): Uint8Array {
  const [first] = parts
  if (first && parts.length === 1) return first
  const whole = new Uint8Array(length)
  let at = 0
  for (const part of parts) {
    whole.set(part, at)
    at += part.byteLength
  }
  return whole
}

/** Aborts a request. */
interface Deadline {
  readonly signal: AbortSignal
  /** A byte has arrived. */
  extend(): void
  /** The request has ended, with or without an answer. */
  end(): void
}

/** A deadline that aborts after a time without a byte, or when the outer signal aborts. `silenceMs` Infinity: no limit. */
function deadlineOf({ now, sleep }: Platform, silenceMs: number, outer: AbortSignal | undefined): Deadline {
  const { signal, abort, unfollow } = following(outer)
  const ended = new AbortController()
  let lastByteAt = now()
  const watch = async () => {
    while (!ended.signal.aborted) {
      const leftMs = lastByteAt + silenceMs - now()
      if (leftMs <= 0) return abort(new ConnectionLost(`no data for ${silenceMs / 1000} s`))
      await sleep(leftMs, ended.signal)
    }
  }
  if (silenceMs !== Number.POSITIVE_INFINITY) void watch()
  return {
    signal,
    extend() {
      lastByteAt = now()
    },
    end() {
      ended.abort()
      unfollow()
    },
  }
}
