/** One sign-in of one user. A session that never existed, or has ended, has an actor too. */
export interface SessionState {
  readonly tenant: string
  readonly id: string
  session: StoredSession | undefined
}

/** Times are Unix ms. */
export interface StoredSession {
  /** Bare id. */
  readonly user: string
  readonly scheme: SessionScheme
  /** Thumbprint of the key that its tokens are bound to; null: not bound. */
  readonly jkt: string | null
  /** Number of the current refresh token; the first is 1. 0: it has none. */
  readonly number: number
  readonly createdAt: number
  /** When the current refresh token was issued. */
  readonly rotatedAt: number
  /** When earlier refresh tokens were issued, newest first, while their access tokens are still accepted. */
  readonly rotatedBefore?: readonly number[]
  /** When its newest token expires, which ends the session and its sockets. */
  readonly endsAt: number
  /** Precise to the minute; with the client address at that time. */
  readonly lastUsedAt: number
  readonly address: string
  readonly agent: string
}

export type SessionScheme = 'basic' | 'dpop'

export const sessionRecord = 'session'

/**
 * How long after a refresh a lost answer can be requested again, and requests in flight may use the replaced access
 * token. Contract 2, Refresh.
 */
export const replacedMsMax = 10_000

/** `number`: the refresh token with which the access token was issued. */
export function isReplaced(session: StoredSession, number: number, now: number): boolean {
  const age = session.number - number
  if (age <= 0) return false
  const replacedAt = age === 1 ? session.rotatedAt : session.rotatedBefore?.[age - 2]
  return replacedAt === undefined || now - replacedAt > replacedMsMax
}

/** Expired from this moment on, like a token. RFC 7519 §4.1.4. */
export function isOver(session: StoredSession, now: number): boolean {
  return now >= session.endsAt
}
