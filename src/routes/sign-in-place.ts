import type { SignInPlace } from '#access/requests'
import type { Call } from '#http/call'

/** From where a request to sign in came. */
export function placeOf(call: Call): SignInPlace {
  const { host, address } = call.forwarded
  return { host, address, agent: call.header('user-agent'), signal: call.signal }
}

/** Answers that hold tokens are kept by nobody on the way. Contract 1.9. */
export const notStored = { 'Cache-Control': 'no-store' }
