import { defaultTenant } from '#actors/tenant/state'
import { hookSignatureHeader } from '#api/updates'
import type { Authenticate } from '#http/authentication'
import { type Caller, unauthenticated } from '#model/caller'
import { everything } from '#model/scope'
import { anonymousName } from '#model/user'

/** The caller of every request while authentication is off. Contract 2. */
export const anonymous = builtInCaller(anonymousName)

/** The user who starts a local server, and signs in with the token that it prints. */
export const operator = builtInCaller('operator')

/** A caller with all rights, without an account, and without a session that could end. */
function builtInCaller(name: string): Caller {
  return {
    tenant: defaultTenant,
    user: `crn#user:${name}`,
    name,
    roles: [],
    scope: everything,
    access: name,
    scopeSince: -1,
    isCurrent: () => true,
    now() {
      return this
    },
  }
}

/**
 * The authenticator while authentication is off: every caller is `anonymous`, and credentials are ignored. If the
 * update hook has a secret, its route still checks signatures, so that the sender of a wrong signature gets an error.
 * Contract 2 and 6.
 */
export function anonymousCallers(hookSecret: string | undefined): Authenticate {
  const canSign = hookSecret !== undefined && hookSecret !== ''
  return (request, access) =>
    canSign && access === 'hook' && request.headerCount(hookSignatureHeader) > 0 ? unauthenticated : anonymous
}
