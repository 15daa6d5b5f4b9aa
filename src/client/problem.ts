/** A place where a body does not match its schema (`a.b.0`, '' for the whole body), and what is wrong. Contract 1.3. */
export interface ProblemDetail {
  readonly path: string
  readonly message: string
}

/** A refusal by the server. `message` is for people, `code` for programs. §7. */
export class Problem extends Error {
  override readonly name = 'Problem'
  readonly status: number
  /** The value of `error` if it is a code for programs: `DEVICE_OFFLINE`, `use_dpop_nonce`, `2fa_required`. */
  readonly code: string | undefined
  readonly details: readonly ProblemDetail[] | undefined
  /** From `Retry-After`, in seconds. */
  readonly retryAfterSeconds: number | undefined
  /** The server's log contains the same id. */
  readonly requestId: string | undefined
  /** The body of the answer. */
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

/**
 * No answer of the server arrived: the network failed, the server failed or took too long, or a proxy answered. The
 * request may have been processed.
 */
export class ConnectionLost extends Error {
  override readonly name = 'ConnectionLost'
  /** Whether the request may have changed something. If false, the request can be repeated. */
  readonly mayHaveChanged: boolean

  constructor(message: string, more?: { readonly cause?: unknown; readonly mayHaveChanged?: boolean }) {
    super(message, more)
    this.mayHaveChanged = more?.mayHaveChanged ?? false
  }
}

/** Messages for answers without a text. Contract 1.3, 1.4. */
const defaultMessages: Readonly<Record<number, string>> = {
  401: 'Not signed in',
  403: 'Not permitted',
  404: 'Not found',
  409: 'Conflicts with existing data',
  413: 'Too large',
  429: 'Too many attempts',
  503: 'Temporarily unavailable',
}

function messageOf(status: number, body: unknown): string {
  const details = detailsOf(body)
  if (details?.length) return details.map(({ path, message }) => (path ? `${path}: ${message}` : message)).join('; ')
  return textIn(body, 'message') ?? textIn(body, 'error') ?? defaultMessages[status] ?? `Status ${status}`
}

/** Codes are words in upper case or with underscores; other texts are for people. */
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

/** The longest pause after the first attempt. The longest pause doubles with each attempt, up to `pauseMsMax`. */
const firstPauseMsMax = 500
const pauseMsMax = 30_000

/** Limits `Retry-After`: a longer delay is probably a mistake. */
const retryAfterMsMax = 300_000

/**
 * The pause after a failed attempt, with full jitter, so that clients that failed together do not retry together.
 * `attempt` counts from 1.
 */
export function pauseMs(attempt: number, random: () => number): number {
  return random() * Math.min(pauseMsMax, firstPauseMsMax * 2 ** (attempt - 1))
}

/** The server's `Retry-After` (RFC 9110 §10.2.3), of which at most `retryAfterMsMax` counts, plus `pauseMs`. */
export function pauseMsAfter(failed: unknown, attempt: number, random: () => number): number {
  const retryAfterMs = failed instanceof Problem ? (failed.retryAfterSeconds ?? 0) * 1000 : 0
  return Math.min(retryAfterMs, retryAfterMsMax) + pauseMs(attempt, random)
}
