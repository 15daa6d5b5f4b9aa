/** Sooner than it ends, so that it is good when it arrives. */
const earlierMs = 15_000

/** What an access token says by itself; nothing is known of one that says nothing. Contract 2, Tokens. */
export interface TokenClaims {
  /** Whose it is, and of which session of his. */
  readonly sub?: unknown
  readonly sid?: unknown
  /** Unix seconds. */
  readonly iat?: unknown
  readonly exp?: unknown
}

/** Whether an access token is about to end, by the server's clock. One that does not say when is taken as good. */
export function isEnding(accessToken: string, now: number): boolean {
  const { iat, exp } = claimsOf(accessToken)
  if (typeof iat !== 'number' || typeof exp !== 'number') return false
  return now > exp * 1000 - Math.min(earlierMs, ((exp - iat) * 1000) / 4)
}

/** Not verified: whose it was is known to who was given it. */
export function claimsOf(accessToken: string): TokenClaims {
  try {
    const claims = accessToken.split('.')[1] ?? ''
    return JSON.parse(atob(claims.replaceAll('-', '+').replaceAll('_', '/')))
  } catch {
    return {}
  }
}
