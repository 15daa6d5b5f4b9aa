/** One sign-in of one user. Of one that never was, or is over, there is an actor too: it says so. */
export interface SessionState {
  readonly tenant: string
  readonly id: string
  session: StoredSession | undefined
}

/** Its one record. Times are Unix ms. */
export interface StoredSession {
  /** Bare id. */
  readonly user: string
  readonly scheme: SessionScheme
  /** Thumbprint of the key that its tokens are bound to; null: not bound. */
  readonly jkt: string | null
  /** Of the refresh token that is good now; the first is 1. 0: it has none. */
  readonly number: number
  readonly createdAt: number
  /** When the refresh token of now was given. */
  readonly rotatedAt: number
  /** When the refresh tokens before it were given, newest first, while older access tokens are accepted. */
  readonly rotatedBefore?: readonly number[]
  /** When its newest token ends, and with it the session and its sockets. */
  readonly endsAt: number
  /** To the minute, and from where that was. */
  readonly lastUsedAt: number
  readonly address: string
  readonly agent: string
}

export type SessionScheme = 'basic' | 'dpop'

export const sessionRecord = 'session'

/**
 * How long after a refresh its answer, if it was lost, may be asked for again, and requests in flight may show the access
 * token that was replaced. Contract 2, Refresh.
 */
export const replacedMsMax = 10_000

/** `number`: of the refresh token that the access token was issued with. */
export function isReplaced(session: StoredSession, number: number, now: number): boolean {
  const age = session.number - number
  if (age <= 0) return false
  const replacedAt = age === 1 ? session.rotatedAt : session.rotatedBefore?.[age - 2]
  return replacedAt === undefined || now - replacedAt > replacedMsMax
}

/** As a token is: from the moment named on it is no good. RFC 7519 §4.1.4. */
export function isOver(session: StoredSession, now: number): boolean {
  return now >= session.endsAt
}
