import type { SignInOrigin } from '#access/requests'
import type { Call } from '#http/call'
import type { Principal } from '#model/caller'

/** The origin of a login request. */
export function signInOriginOf(call: Call): SignInOrigin {
  const { host, address } = call.forwarded
  const identified = (user: Principal) => call.identified(user)
  return { host, address, agent: call.header('user-agent'), signal: call.signal, identified }
}

/** Answers with tokens must not be stored by caches. Contract 1.9. */
export const notStored = { 'Cache-Control': 'no-store' }
