import { isOurs, type RefreshToken, readRefreshToken } from '#access/refresh-token'
import type { BasicRefreshRequest, Pair, RefreshRequest, TokenAnswer } from '#access/requests'
import {
  pairOf,
  refuseBasic,
  type SignInParts,
  standingSession,
  tenantOf,
  tokensOf,
  wrongRefreshToken,
} from '#access/sign-in'
import { accountAddress } from '#actors/account/address'
import { type AccountState, factorNames } from '#actors/account/state'
import type { TenantRow } from '#actors/directory/state'
import { sessionAddress } from '#actors/session/address'
import type { Rotation } from '#actors/session/commands'
import type { StoredSession } from '#actors/session/state'
import { proofProblem } from '#http/credential-problems'

/** `POST /auth/token`. Contract 2, Refresh. */
export async function refresh(parts: SignInParts, { refreshToken, jkt, place }: RefreshRequest): Promise<Pair> {
  const { token, stored } = boundSession(parts, refreshToken, jkt, place.host)
  const { tenant, session, number } = token
  refuseWithoutFactor(tenantOf(parts, { tenant }), parts.system.peek(accountAddress(tenant, stored.user)))
  const next = await rotate(parts, tenant, session, number)
  return pairOf(parts, { tenant, session, ...next, user: stored.user, jkt: stored.jkt ?? '' })
}

/**
 * The session that a refresh token of the DPoP scheme belongs to, shown by the key it is bound to. Nothing is consumed.
 *
 * @param host under which its user must be able to sign in; undefined where he signs out
 */
export function boundSession(
  parts: SignInParts,
  text: string,
  jkt: string | undefined,
  host: string | undefined,
): { readonly token: RefreshToken; readonly stored: StoredSession } {
  if (jkt === undefined) throw proofProblem('missing proof')
  const token = readRefreshToken(text)
  const stored = token && standingSession(parts, token, 'dpop', host)
  const bound = stored?.jkt ?? undefined
  if (!stored || bound === undefined || !isOurs(parts.fileKeys().refresh, token, bound)) throw wrongRefreshToken()
  if (bound !== jkt) throw proofProblem('key mismatch')
  return { token, stored }
}

/** `POST /iam/token`. What the tenant or the user asks for since is looked at before anything is consumed. */
export async function refreshBasic(
  parts: SignInParts,
  { refreshToken, place }: BasicRefreshRequest,
): Promise<TokenAnswer> {
  const token = await parts.tokens.readBasicRefresh(refreshToken)
  const stored = token && standingSession(parts, token, 'basic', place.host)
  if (!stored) throw wrongRefreshToken()
  const { tenant, session, number } = token
  refuseBasic(tenantOf(parts, { tenant }), parts.system.peek(accountAddress(tenant, stored.user)))
  const next = await rotate(parts, tenant, session, number)
  return tokensOf(parts, { tenant, session, ...next, user: stored.user })
}

/** The tenant asks for a second factor since: who has none signs in again, and is led to set one up. */
function refuseWithoutFactor({ twoFactor }: TenantRow, { factors }: AccountState): void {
  if (twoFactor === 'required' && factorNames(factors).length === 0) throw wrongRefreshToken()
}

/** The number that is good from now on. One that was used before has ended the session. */
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
