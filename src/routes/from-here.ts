import { Problem } from '#model/problem'
import type { Call } from '#server/call'
import { isLoopbackAddress } from '#server/remote-address'

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

/** Straight from this machine: nobody else can have asked. @throws Problem `forbidden` */
export function mustBeFromHere(call: Call): void {
  const isForwarded = forwardingHeaders.some((name) => call.header(name) !== '')
  if (isForwarded || !isLoopbackAddress(call.remoteAddress)) throw new Problem('forbidden')
}
