import type { SignOutRequest } from '#access/requests'
import { boundSession } from '#access/session-refresh'
import type { SignInParts } from '#access/sign-in'
import { accountAddress } from '#actors/account/commands'
import { idOfCrn } from '#model/crn'
import { Problem } from '#model/problem'

/** `POST /auth/logout`. §5.2.10, contract 2, Sign-out. */
export async function signOut(parts: SignInParts, request: SignOutRequest): Promise<void> {
  const { tenant, user, session } = sessionOf(parts, request)
  try {
    await parts.system.ask(accountAddress(tenant, user), {
      type: 'end_sessions',
      ...(!request.isAll && { only: session }),
    })
  } catch (error) {
    // Another request ended the session in the meantime.
    if (!(error instanceof Problem && error.code === 'not_found')) throw error
  }
}

function sessionOf(
  parts: SignInParts,
  { caller, refreshToken, origin }: SignOutRequest,
): { readonly tenant: string; readonly user: string; readonly session: string } {
  const user = idOfCrn(caller.user, 'user')
  if (caller.session?.kind === 'session' && user !== undefined) {
    return { tenant: caller.tenant, user, session: caller.session.id }
  }
  if (refreshToken === undefined) {
    const details = [{ path: 'refreshToken', message: 'is needed without an access token' }]
    throw new Problem('invalid', undefined, { details })
  }
  const { token, stored } = boundSession(parts, refreshToken, caller.jkt, { origin, isSignOut: true })
  return { tenant: token.tenant, user: stored.user, session: token.session }
}
