import type { ConnectionLost, Problem, ProblemDetail } from '#client/problem'

/** Texts for failed calls: what happened, and what to do. */

/** The fields of the client's errors; other errors have at most `message` and `cause`. */
type ProblemFields = Partial<Omit<Problem, 'name'>> & Partial<Pick<ConnectionLost, 'mayHaveChanged'>>

const byCode: Readonly<Record<string, string>> = {
  DEVICE_OFFLINE: 'The device is offline, so nothing was sent. Try again when it is online.',
  DEVICE_TIMEOUT: 'The device did not answer in time. It may still have applied the change: check the value.',
  STORAGE: 'The server cannot write to its disk at the moment, so nothing was changed.',
  OVERLOADED: 'The server is overloaded. Try again in a moment.',
  STOPPING: 'The server is stopping. Try again when it is back.',
  'invalid credentials': 'Name or password is wrong.',
  'invalid code': 'The code is wrong, or was used before.',
  'invalid or expired code': 'The name or the code is wrong, or the code was used or has expired.',
  'invalid or expired token': 'That took too long. Start over.',
}

const byStatus: Readonly<Record<number, string>> = {
  401: 'Your session has ended, so nothing was done. Sign in and try again.',
  403: 'You may not do this.',
  404: 'It does not exist, or you may not see it.',
  409: 'It exists already, or is in use.',
  412: 'Another user changed it at the same moment, so your change was not saved. Save again to see the current version.',
  413: 'It is too large.',
  429: 'Too many attempts.',
  500: 'The server failed.',
  503: 'The server cannot do this at the moment. Try again.',
  504: 'The server did not answer in time.',
}

/** A text for the user. */
export function problemText(problem: unknown): string {
  const { status, code, message, details, retryAfterSeconds, requestId } = (problem ?? {}) as ProblemFields
  if (status === undefined) return lostText(problem)
  if (details !== undefined && details.length > 0) return details.map(detailText).join(' ')
  const known = byCode[code ?? ''] ?? byCode[message ?? '']
  const own = message && /^[a-z]/i.test(message) && !/^(Problem|\d{3})\b/.test(message) ? sentence(message) : undefined
  const text =
    known ?? (status === 400 || status === 409 ? own : undefined) ?? byStatus[status] ?? own ?? `Refused (${status}).`
  const wait = retryAfterSeconds ? ` Wait ${retryAfterSeconds} s.` : ''
  const where = status === 500 && requestId ? ` Its log contains the request ${requestId}.` : ''
  return text + wait + where
}

export function statusOf(problem: unknown): number | undefined {
  return ((problem ?? {}) as ProblemFields).status
}

const unknownText =
  'The server did not answer, so the change may or may not have been made. Check this before you try again.'

/** Errors of browsers and the client, by name. */
const byName: Readonly<Record<string, string>> = {
  ConnectionLost: 'The server cannot be reached at the moment.',
  // The errors of passkeys: https://www.w3.org/TR/webauthn-3/#sctn-privacy-considerations-client
  NotAllowedError: 'It was cancelled or took too long.',
  InvalidStateError: 'This passkey is already registered.',
  SecurityError: 'Passkeys work only under the server’s own host name: that of PUBLIC_URL, or localhost.',
}

function lostText(problem: unknown): string {
  if (!(problem instanceof Error)) return 'It did not work.'
  if ((problem as ProblemFields).mayHaveChanged) return unknownText
  return byName[problem.name] ?? (problem.message ? sentence(problem.message) : 'It did not work.')
}

function detailText({ path, message }: ProblemDetail): string {
  return sentence(path === '' ? message : `“${path}” ${message}`)
}

function sentence(text: string): string {
  const capitalized = text.charAt(0).toUpperCase() + text.slice(1)
  return /[.!?]$/.test(capitalized) ? capitalized : `${capitalized}.`
}

/**
 * The faults of the fields of a refused request, also inside an `ExplainedError`. A `path` looks like `a.b.0`. Contract
 * 1.3.
 */
export function detailsOf(problem: unknown): readonly ProblemDetail[] {
  const { cause, details = [] } = (problem ?? {}) as ProblemFields
  return problem instanceof ExplainedError ? detailsOf(cause) : details
}

/** The fault of a field or anything in it: `devices` also finds `devices.3`. */
export function detailAt(problem: unknown, field: string): string | undefined {
  const detail = detailsOf(problem).find(({ path }) => path === field || path.startsWith(`${field}.`))
  if (!detail) return undefined
  const inside = detail.path.slice(field.length + 1)
  return sentence(inside === '' ? detail.message : `${detail.message} (at ${inside})`)
}

/** A refusal with a text for this action, because its status alone is too general. */
export class ExplainedError extends Error {
  constructor(message: string, cause?: unknown) {
    super(message, { cause })
    this.name = 'ExplainedError'
  }
}

type Explanation = string | undefined | ((error: string) => string | undefined)

/**
 * Settles like `work`, but a refusal with one of these statuses becomes an `ExplainedError` with its text. A text may
 * depend on the server's error (`the release is in use`); undefined keeps the problem.
 */
export async function withExplanation<Value>(
  work: Promise<Value>,
  explanations: Readonly<Record<number, Explanation>>,
): Promise<Value> {
  try {
    return await work
  } catch (problem) {
    const explanation = explanations[statusOf(problem) ?? 0]
    const text = typeof explanation === 'function' ? explanation(serverErrorOf(problem)) : explanation
    throw text === undefined ? problem : new ExplainedError(text, problem)
  }
}

/** The answer, or `value` if the resource does not exist. */
export async function answerOrDefault<Answer, Value>(
  call: Promise<Answer>,
  value: Value,
  isMissing = (problem: unknown) => statusOf(problem) === 404,
): Promise<Answer | Value> {
  try {
    return await call
  } catch (problem) {
    if (isMissing(problem)) return value
    throw problem
  }
}

export function serverErrorOf(problem: unknown): string {
  return ((problem ?? {}) as ProblemFields).message ?? ''
}
