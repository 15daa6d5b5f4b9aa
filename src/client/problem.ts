/** One failure of a schema: where (`a.b.0`, '' for the whole body) and what. Contract 1.3. */
export interface ProblemDetail {
  readonly path: string
  readonly message: string
}

/** An answer that is a refusal. `message` is for people, `code` for programs. §7. */
export class Problem extends Error {
  override readonly name = 'Problem'
  readonly status: number
  /** What stood in `error` where that is a word for programs: `DEVICE_OFFLINE`, `use_dpop_nonce`, `2fa_required`. */
  readonly code: string | undefined
  readonly details: readonly ProblemDetail[] | undefined
  /** Of `Retry-After`, in seconds. */
  readonly retryAfterSeconds: number | undefined
  /** The line of the server's log that belongs to it has the same. */
  readonly requestId: string | undefined
  /** The answer's body, as it came. */
  readonly body: unknown

  constructor(status: number, body: unknown, headers?: Headers) {
    super(messageOf(status, body))
    this.status = status
    this.code = codeOf(body)
    this.details = detailsOf(body)
    this.retryAfterSeconds = secondsOf(headers?.get('retry-after'))
    this.requestId = headers?.get('x-request-id') ?? undefined
    this.body = body
  }
}

/** No answer came: the network, the server, or too long a time. Whether it was done is not known. */
export class ConnectionLost extends Error {
  override readonly name = 'ConnectionLost'
  /** Something was to be changed; else it can be asked for again at any time. */
  readonly mayHaveChanged: boolean

  constructor(message: string, more?: { readonly cause?: unknown; readonly mayHaveChanged?: boolean }) {
    super(message, more)
    this.mayHaveChanged = more?.mayHaveChanged ?? false
  }
}

/** What a status means where the body says nothing. Contract 1.3, 1.4. */
const meanings: Readonly<Record<number, string>> = {
  401: 'Nobody is signed in',
  403: 'Not permitted',
  404: 'Not found',
  409: 'It stands in the way of something that is there',
  413: 'Too large',
  429: 'Too many attempts',
  503: 'Not possible at the moment',
}

function messageOf(status: number, body: unknown): string {
  const details = detailsOf(body)
  if (details?.length) return details.map(({ path, message }) => (path ? `${path}: ${message}` : message)).join('; ')
  return textIn(body, 'message') ?? textIn(body, 'error') ?? meanings[status] ?? `Answered with ${status}`
}

/** Words in upper case, and those with underscores: the rest is for people. */
function codeOf(body: unknown): string | undefined {
  const error = textIn(body, 'error')
  return error !== undefined && /^[A-Za-z0-9]+(_[A-Za-z0-9]+)*$/.test(error) && /_|^[A-Z]+$/.test(error)
    ? error
    : undefined
}

function detailsOf(body: unknown): readonly ProblemDetail[] | undefined {
  const details = (body as { readonly details?: unknown } | undefined | null)?.details
  return Array.isArray(details) ? details : undefined
}

function textIn(body: unknown, name: 'error' | 'message'): string | undefined {
  const text = typeof body === 'object' && body !== null ? (body as Record<string, unknown>)[name] : undefined
  return typeof text === 'string' && text !== '' ? text : undefined
}

function secondsOf(text: string | null | undefined): number | undefined {
  return text && /^\d+$/.test(text) ? Number(text) : undefined
}

const pauseLeastMs = 500
const pauseMostMs = 30_000

/** A server that asks for more patience is not believed to mean it. */
const obeyedMsMax = 300_000

/** How long to wait before the how manyth attempt in a row, with full jitter: whoever failed together does not come together. */
export function pauseMs(attempt: number, random: () => number): number {
  return random() * Math.min(pauseMostMs, pauseLeastMs * 2 ** (attempt - 1))
}

/** The same behind what failed; who said when to come back is not asked before. `Retry-After`, RFC 9110 §10.2.3 */
export function pauseAfter(failed: unknown, attempt: number, random: () => number): number {
  const askedMs = failed instanceof Problem ? (failed.retryAfterSeconds ?? 0) * 1000 : 0
  return Math.min(askedMs, obeyedMsMax) + pauseMs(attempt, random)
}
