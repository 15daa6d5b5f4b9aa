/** Both tokens, as sign-in and refresh answer them. §2.8 */
export interface TokenPair {
  readonly accessToken: string
  readonly refreshToken: string
}

/** Not everything that is answered, or kept, is one: whatever stands in between may answer 200 as well. */
export function isTokenPair(it: unknown): it is TokenPair {
  const { accessToken, refreshToken } = (it ?? {}) as Partial<Record<keyof TokenPair, unknown>>
  return typeof accessToken === 'string' && typeof refreshToken === 'string'
}
