import { hookSignatureHeader } from '#api/update-hook'
import type { Authenticate } from '#http/authentication'
import { type Caller, unauthenticated } from '#model/caller'
import { everything } from '#model/scope'
import { anonymousName } from '#model/user'

/** Who everybody is while identity and access management is off: may do everything in `default`. Contract 2. */
export const anonymous: Caller = {
  tenant: 'default',
  user: `crn#user:${anonymousName}`,
  name: anonymousName,
  roles: [],
  scope: everything,
  access: 'anonymous',
  scopeSince: -1,
  isCurrent: () => true,
  now() {
    return this
  },
}

/**
 * Who is asking while identity is off: everybody is `anonymous`, whatever comes with the request. But a signature of the
 * update hook, where a secret is set, is judged by the answerer, and alone, as it is with identity on: whoever signs badly
 * does not know what he is doing. Contract 2 and 6.
 */
export function anonymousCallers(hookSecret: string | undefined): Authenticate {
  const canSign = hookSecret !== undefined && hookSecret !== ''
  return (request, access) =>
    canSign && access === 'hook' && request.headerCount(hookSignatureHeader) > 0 ? unauthenticated : anonymous
}
