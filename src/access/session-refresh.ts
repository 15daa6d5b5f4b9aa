import type { BasicRefreshRequest, BasicTokens, RefreshRequest, SignInOrigin, TokenPair } from '#access/requests'
import {
  activeSession,
  identifyUser,
  issueBasicTokens,
  issueTokenPair,
  refuseBasic,
  type SignInParts,
  tenantOf,
  wrongRefreshToken,
} from '#access/sign-in'
import { hasValidMac, type RefreshToken, readRefreshToken } from '#access/tokens'
import { type AccountState, accountAddress, factorNames } from '#actors/account/state'
import type { TenantRow } from '#actors/directory/state'
import { type Rotation, type StoredSession, sessionAddress } from '#actors/session/state'
import { proofProblem } from '#http/authentication'

/** `POST /auth/token`. Contract 2, Refresh. */
export async function refresh(parts: SignInParts, { refreshToken, jkt, origin }: RefreshRequest): Promise<TokenPair> {
  const { token, stored } = boundSession(parts, refreshToken, jkt, { origin, isSignOut: false })
  const { tenant, session, number } = token
  refuseWithoutFactor(tenantOf(parts, { tenant }), parts.system.peek(accountAddress(tenant, stored.user)))
  const next = await rotate(parts, tenant, session, number)
  return issueTokenPair(parts, { tenant, session, ...next, user: stored.user, jkt: stored.jkt ?? '' })
}

/**
 * The session of a refresh token of the DPoP scheme. Checks that `jkt` is the key that the session is bound to. Changes
 * nothing. The user must be allowed to sign in under the host of the request, except for a sign-out.
 */
export function boundSession(
  parts: SignInParts,
  text: string,
  jkt: string | undefined,
  { origin, isSignOut }: { readonly origin: SignInOrigin; readonly isSignOut: boolean },
): { readonly token: RefreshToken; readonly stored: StoredSession } {
  if (jkt === undefined) throw proofProblem('missing proof')
  const token = readRefreshToken(text)
  const stored = token && activeSession(parts, token, 'dpop', isSignOut ? undefined : origin.host)
  const bound = stored?.jkt ?? undefined
  if (!stored || bound === undefined || !hasValidMac(parts.fileKeys().refresh, token, bound)) throw wrongRefreshToken()
  identifyUser(origin, { tenant: token.tenant, user: stored.user })
  if (bound !== jkt) throw proofProblem('key mismatch')
  return { token, stored }
}

/** `POST /iam/token`. Checks new requirements of the tenant or the user before the token is used up. */
export async function refreshBasic(
  parts: SignInParts,
  { refreshToken, origin }: BasicRefreshRequest,
): Promise<BasicTokens> {
  const token = await parts.tokens.readBasicRefresh(refreshToken)
  const stored = token && activeSession(parts, token, 'basic', origin.host)
  if (!stored) throw wrongRefreshToken()
  const { tenant, session, number } = token
  identifyUser(origin, { tenant, user: stored.user })
  refuseBasic(tenantOf(parts, { tenant }), parts.system.peek(accountAddress(tenant, stored.user)))
  const next = await rotate(parts, tenant, session, number)
  return issueBasicTokens(parts, { tenant, session, ...next, user: stored.user })
}

/** If the tenant now requires a second factor, a user without a factor has to sign in again, and to set one up. */
function refuseWithoutFactor({ twoFactor }: TenantRow, { factors }: AccountState): void {
  if (twoFactor === 'required' && factorNames(factors).length === 0) throw wrongRefreshToken()
}

/**
 * Returns the number of the next refresh token. A number that was used before ends the session, unless a session of the
 * DPoP scheme repeats its last rotation within seconds.
 */
async function rotate(
  { world, system, lifetimes }: SignInParts,
  tenant: string,
  session: string,
  number: number,
): Promise<{ readonly number: number; readonly endsAt: number }> {
  const endsAt = world.now() + lifetimes.refreshMs
  const rotation = (await system.ask(sessionAddress(tenant, session), { type: 'rotate', number, endsAt })) as Rotation
  if (!('number' in rotation)) throw wrongRefreshToken()
  return { number: rotation.number, endsAt: rotation.endsAt }
}
