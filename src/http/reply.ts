import type { Reply } from '#http/call'
import { Problem, type ProblemKind } from '#model/problem'

/** The one place that turns a Problem into a reply. Contract 1.3. `secFetchMode`: that header of the request. */
export function replyOf(problem: Problem, secFetchMode: string): Reply {
  const { status, body } = problem.kind
  const own = problem.headers ?? {}
  const isOwn = (name: string) => Object.keys(own).some((key) => key.toLowerCase() === name.toLowerCase())
  const headers: Record<string, string> = { ...own }
  for (const [name, value] of Object.entries(defaultHeaders[status]?.(secFetchMode) ?? {})) {
    if (!isOwn(name)) headers[name] = value
  }
  const json = bodies[body](problem)
  return json === undefined ? { status, headers } : { status, headers, json }
}

const bodies: Record<ProblemKind['body'], (problem: Problem) => unknown> = {
  empty: () => undefined,
  error: (problem) => ({ error: problem.message }),
  message: (problem) => ({ message: problem.message }),
  details: (problem) => ({ error: 'Validation Error', details: problem.details ?? [] }),
  // Without details: the log has them, under the request id of the answer.
  server_error: (problem) => ({
    error: problem.kind.text,
    message: 'The server failed; its log has the details under this request id.',
    statusCode: problem.kind.status,
  }),
}

const defaultHeaders: Readonly<Record<number, (secFetchMode: string) => Record<string, string>>> = {
  // A Basic challenge to a page's own request makes the browser show its password prompt over the page.
  401: (secFetchMode) => ({
    'WWW-Authenticate':
      secFetchMode === '' || secFetchMode === 'navigate' ? `${tokenChallenges}, ${basicChallenge}` : tokenChallenges,
  }),
  429: () => ({ 'Retry-After': '60' }),
  503: () => ({ 'Retry-After': '5' }),
}

const tokenChallenges = 'DPoP algs="ES256", Bearer'
const basicChallenge = 'Basic realm="device-data-backend", charset="UTF-8"'

/** The answer to any exception that is not a Problem. Defined after the tables that it uses. */
export const bugReply: Reply = replyOf(new Problem('bug'), '')

/** Runs a step with a value now, or when its promise is fulfilled. Makes no promise for an available value. */
export function mapMaybePromise<T, U>(value: T | Promise<T>, step: (value: T) => U | Promise<U>): U | Promise<U> {
  return isPromiseLike(value) ? value.then(step) : step(value)
}

/** A value or its promise: no promise is made for an available value. */
export function isPromiseLike<T>(value: T | PromiseLike<T>): value is PromiseLike<T> {
  return typeof (value as { then?: unknown } | undefined)?.then === 'function'
}
