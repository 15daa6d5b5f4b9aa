import { addressOfText } from '#http/remote-address'
import type { Seen } from '#model/seen'

export interface SeeingOptions {
  /** Whether the connection's other side is a proxy of ours, whose `X-Forwarded-…` are true. */
  readonly isProxyTrusted: boolean
  readonly publicUrls: readonly string[]
}

/** What of a request says how it came. */
interface SeenHeaders {
  /** By lower-case name; empty when absent, copies joined by a comma. */
  get(name: string): string
}

/**
 * How requests look from outside. Contract 2, DPoP: what a trusted proxy says, else the public URLs, else `Host`.
 *
 * With public URLs and no proxy, `Host` says nothing about where we are: whoever repeats somebody's proof elsewhere
 * could bring the fitting one along.
 */
export interface Seeing {
  /** Scheme, host and port of a page of our own. Not brought to any form. */
  ownOrigin(headers: SeenHeaders): string
  /** Whom the client asked for, as it and a trusted proxy say it. */
  hosts(headers: SeenHeaders): readonly string[]
  /** `peer`: the connection's other side; only asked for when the address is. */
  seenOf(headers: SeenHeaders, peer: () => string): Seen
}

/** Hosts are few; somebody who sends others costs a URL to parse each, and no memory. */
const hostsMax = 1024

export function seeingOf({ isProxyTrusted, publicUrls }: SeeingOptions): Seeing {
  const publicOrigins = publicUrls.flatMap(publicOriginOf)
  const known = new Map<string, Pick<Seen, 'origins' | 'host'>>()

  const forwarded = (headers: SeenHeaders, name: string) => (isProxyTrusted ? lastOf(headers.get(name)) : '')
  const schemeOf = (headers: SeenHeaders) =>
    /^(?:https|wss)$/i.test(forwarded(headers, 'x-forwarded-proto')) ? 'https' : 'http'
  const placeOf = (url: string, host: string, isForwarded: boolean) => ({
    origins: isForwarded || publicOrigins.length === 0 ? requestOriginOf(url, host) : publicOrigins,
    host: host.toLowerCase(),
  })

  return {
    ownOrigin: (headers) => `${schemeOf(headers)}://${forwarded(headers, 'x-forwarded-host') || headers.get('host')}`,
    hosts(headers) {
      const forwardedHost = forwarded(headers, 'x-forwarded-host')
      return forwardedHost === '' ? [headers.get('host')] : [headers.get('host'), forwardedHost]
    },
    seenOf(headers, peer) {
      const forwardedHost = forwarded(headers, 'x-forwarded-host')
      const host = forwardedHost || headers.get('host')
      const url = `${schemeOf(headers)}://${host}`
      const key = forwardedHost === '' ? url : `>${url}`
      let place = known.get(key)
      if (!place) {
        place = placeOf(url, host, forwardedHost !== '')
        if (known.size >= hostsMax) known.clear()
        known.set(key, place)
      }
      return new SeenRequest(place, () => addressOfText(forwarded(headers, 'x-forwarded-for')) ?? peer())
    },
  }
}

/**
 * The address is found out when it is first asked for: asking the socket costs as much as everything else here together,
 * and most requests never need it. A class, as a getter in a literal costs more than that.
 */
class SeenRequest implements Seen {
  readonly origins: readonly string[]
  readonly host: string
  readonly #findAddress: () => string
  #address: string | undefined

  constructor({ origins, host }: Pick<Seen, 'origins' | 'host'>, findAddress: () => string) {
    this.origins = origins
    this.host = host
    this.#findAddress = findAddress
  }

  get address(): string {
    this.#address ??= this.#findAddress()
    return this.#address
  }
}

/** The last one: what came before is what the client told the proxy. */
function lastOf(list: string): string {
  return list.slice(list.lastIndexOf(',') + 1).trim()
}

/** A name or an address, with a port if it has one: nothing that would make a URL of another host. */
const hostPattern = /^(?:\[[0-9a-f:.]+\]|[^\s/?#@\\:[\]]+)(?::\d{1,5})?$/i

/** Of a URL that is made from a `Host`; none when the host is not one. */
export function requestOriginOf(url: string, host: string): readonly string[] {
  return hostPattern.test(host) && URL.canParse(url) ? [new URL(url).origin] : []
}

/** What URLs below a public one begin with; none when it is no URL. */
export function publicOriginOf(url: string): string[] {
  if (!URL.canParse(url)) return []
  const { origin, pathname } = new URL(url)
  return [origin + pathname.replace(/\/+$/, '')]
}
