import type { SignInPlace } from '#access/requests'
import type { Call } from '#http/call'

/** The origin of a login request. */
export function placeOf(call: Call): SignInPlace {
  const { host, address } = call.forwarded
  return { host, address, agent: call.header('user-agent'), signal: call.signal }
}

/** Answers with tokens must not be stored by caches. Contract 1.9. */
export const notStored = { 'Cache-Control': 'no-store' }
