import type { Call } from '#http/call'
import { isLoopbackAddress } from '#http/remote-address'
import { Problem } from '#model/problem'

/** What proxies add: a request that bears one comes from somewhere else, whatever the connection says. */
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
 * Names that lead to this machine whatever a name server says. Under any other name a page of elsewhere could be in the browser
 * that asks: its name is made to lead here (DNS rebinding), and browsers send no `Origin` to a page's own origin.
 */
const ownName = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])(?::\d+)?$/i

/** What browsers say of who asks: a page of another site can't read the answer, and shall not begin it either. */
const ownSites = ['', 'none', 'same-origin']

/** Straight from this machine, and by no page of elsewhere: nobody else can have asked. @throws Problem `forbidden` */
export function mustBeFromHere(call: Call): void {
  const isForwarded = forwardingHeaders.some((name) => call.header(name) !== '')
  const isByOurselves = ownName.test(call.header('host')) && ownSites.includes(call.header('sec-fetch-site'))
  if (isForwarded || !isByOurselves || !isLoopbackAddress(call.remoteAddress)) throw new Problem('forbidden')
}
