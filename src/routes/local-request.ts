import type { Call } from '#http/call'
import { isLoopbackAddress } from '#http/origins'
import { Problem } from '#model/problem'

/** Headers that proxies add: a request with one of them comes from another machine, even on a local connection. */
const forwardingHeaders = [
  'forwarded',
  'via',
  'x-forwarded-for',
  'x-forwarded-host',
  'x-forwarded-proto',
  'x-forwarded-port',
  'x-real-ip',
]

/**
 * Names that always resolve to this machine. Under any other name the request may come from a foreign page in a local
 * browser: an attacker can point such a name at this machine (DNS rebinding), and browsers send no `Origin` to a page's
 * own origin.
 */
const ownName = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])(?::\d+)?$/i

/**
 * Values of `Sec-Fetch-Site` for local requests: a page of another site cannot read the answer and must not start the
 * work either.
 */
const ownSites = ['', 'none', 'same-origin']

/** Accepts only direct requests from this machine that no foreign page sent. @throws Problem `forbidden` */
export function mustBeLocal(call: Call): void {
  const isForwarded = forwardingHeaders.some((name) => call.header(name) !== '')
  const isOwnPage = ownName.test(call.header('host')) && ownSites.includes(call.header('sec-fetch-site'))
  if (isForwarded || !isOwnPage || !isLoopbackAddress(call.remoteAddress)) throw new Problem('forbidden')
}
