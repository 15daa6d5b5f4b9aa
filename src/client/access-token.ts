/** Sooner than it ends, so that it is good when it arrives. */
const earlierMs = 15_000

/** Whether an access token is about to end, by the server's clock: it says when by itself. One that does not is taken as good. */
export function isEnding(accessToken: string, now: number): boolean {
  const times = timesOf(accessToken)
  if (!times) return false
  const lifetimeMs = times.exp - times.iat
  return now > times.exp - Math.min(earlierMs, lifetimeMs / 4)
}

/** Unix milliseconds. */
function timesOf(accessToken: string): { readonly iat: number; readonly exp: number } | undefined {
  try {
    const claims = accessToken.split('.')[1] ?? ''
    const { iat, exp } = JSON.parse(atob(claims.replaceAll('-', '+').replaceAll('_', '/')))
    return typeof iat === 'number' && typeof exp === 'number' ? { iat: iat * 1000, exp: exp * 1000 } : undefined
  } catch {
    return undefined
  }
}
