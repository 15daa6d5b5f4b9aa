import { isIP } from 'node:net'
import type { ForwardedRequest } from '#model/forwarded-request'

export interface ForwardingOptions {
  /** Whether the peer is a trusted proxy, whose `X-Forwarded-…` headers count. */
  readonly isProxyTrusted: boolean
  /** Whether another node of the cluster sent the request: then its `X-Forwarded-…` headers count. Default: no. */
  readonly isFromNode?: (headers: ForwardingHeaders) => boolean
  readonly publicUrls: readonly string[]
}

/** The headers that show how a request reached the server. */
interface ForwardingHeaders {
  /** A header by its lower-case name; empty when absent, repeated lines joined by a comma. */
  get(name: string): string
}

/**
 * Finds the URL and the address of a request as its client sees them. The URL comes from the headers of a trusted
 * proxy; without them, from the public URLs; without these, from `Host`. Contract 2, DPoP.
 *
 * If there are public URLs, `Host` does not count: an attacker could replay a proof that was meant for another server,
 * with the `Host` of that server.
 */
export interface Forwarding {
  /** Scheme, host and port of the server's own pages. Not normalised. */
  ownOrigin(headers: ForwardingHeaders): string
  /** The hosts that the client requested, according to the client and a trusted proxy. */
  hosts(headers: ForwardingHeaders): readonly string[]
  /** `peer` returns the peer's address; only called when the address is needed. */
  requestOf(headers: ForwardingHeaders, peer: () => string): ForwardedRequest
  /** Headers from which another node finds the same URL and client address. Names and values, alternating. */
  headersForNode(headers: ForwardingHeaders, peer: () => string): readonly string[]
}

/**
 * The most cached hosts. Real clients use few. If a client sends many others, each takes time to parse, but no memory.
 */
const hostsMax = 1024

export function forwardingOf(options: ForwardingOptions): Forwarding {
  const { isProxyTrusted, publicUrls, isFromNode = () => false } = options
  const publicOrigins = publicUrls.flatMap(publicOriginOf)
  const known = new Map<string, Pick<ForwardedRequest, 'origins' | 'host'>>()

  const forwardedHeader = (headers: ForwardingHeaders, name: string) =>
    isProxyTrusted || isFromNode(headers) ? lastOf(headers.get(name)) : ''
  const schemeOf = (headers: ForwardingHeaders) =>
    /^(?:https|wss)$/i.test(forwardedHeader(headers, 'x-forwarded-proto')) ? 'https' : 'http'
  const addressOf = (headers: ForwardingHeaders, peer: () => string) =>
    addressOfText(forwardedHeader(headers, 'x-forwarded-for')) ?? peer()
  const placeOf = (url: string, host: string, isForwarded: boolean) => ({
    origins: isForwarded || publicOrigins.length === 0 ? requestOriginOf(url, host) : publicOrigins,
    host: host.toLowerCase(),
  })

  return {
    ownOrigin: (headers) =>
      `${schemeOf(headers)}://${forwardedHeader(headers, 'x-forwarded-host') || headers.get('host')}`,
    hosts(headers) {
      const forwardedHost = forwardedHeader(headers, 'x-forwarded-host')
      return forwardedHost === '' ? [headers.get('host')] : [headers.get('host'), forwardedHost]
    },
    requestOf(headers, peer) {
      const forwardedHost = forwardedHeader(headers, 'x-forwarded-host')
      const host = forwardedHost || headers.get('host')
      const url = `${schemeOf(headers)}://${host}`
      const key = forwardedHost === '' ? url : `>${url}`
      let place = known.get(key)
      if (!place) {
        place = placeOf(url, host, forwardedHost !== '')
        if (known.size >= hostsMax) known.clear()
        known.set(key, place)
      }
      return new LazyForwardedRequest(place, () => addressOf(headers, peer))
    },
    headersForNode(headers, peer) {
      const lines = ['X-Forwarded-For', addressOf(headers, peer)]
      for (const name of ['x-forwarded-proto', 'x-forwarded-host']) {
        const value = forwardedHeader(headers, name)
        if (value !== '') lines.push(name, value)
      }
      return lines
    },
  }
}

/**
 * A request whose client address is read on first use: reading it from the socket costs as much as all other work here,
 * and most requests never need it. It is a class, because a getter in a literal costs even more.
 */
class LazyForwardedRequest implements ForwardedRequest {
  readonly origins: readonly string[]
  readonly host: string
  readonly #findAddress: () => string
  #address: string | undefined

  constructor({ origins, host }: Pick<ForwardedRequest, 'origins' | 'host'>, findAddress: () => string) {
    this.origins = origins
    this.host = host
    this.#findAddress = findAddress
  }

  get address(): string {
    this.#address ??= this.#findAddress()
    return this.#address
  }
}

/** The last item of the list: the client may have sent the earlier items to the proxy. */
function lastOf(list: string): string {
  return list.slice(list.lastIndexOf(',') + 1).trim()
}

/** A name or an address, with an optional port, without characters that would change the host of a URL. */
const hostPattern = /^(?:\[[0-9a-f:.]+\]|[^\s/?#@\\:[\]]+)(?::\d{1,5})?$/i

/** The origin of a URL with this host; none if the host is not valid. */
export function requestOriginOf(url: string, host: string): readonly string[] {
  return hostPattern.test(host) && URL.canParse(url) ? [new URL(url).origin] : []
}

/** A public URL without query and without a slash at its end; none if the text is not a URL. */
export function publicOriginOf(url: string): string[] {
  if (!URL.canParse(url)) return []
  const { origin, pathname } = new URL(url)
  return [origin + pathname.replace(/\/+$/, '')]
}

/** The text of an address: `127.0.0.1` also if the socket maps it into IPv6, and IPv6 in its short form (`::1`). */
export function addressText(bytes: ArrayBuffer): string {
  const octets = new Uint8Array(bytes)
  if (octets.length === 4) return octets.join('.')
  if (octets.length !== 16) return ''
  if (isMapped(octets)) return octets.subarray(12).join('.')
  const groups = Array.from({ length: 8 }, (_, group) => octetPair(octets, group * 2).toString(16))
  return new URL(`http://[${groups.join(':')}]`).hostname.slice(1, -1)
}

/**
 * Parses an address into the form of `addressText`; undefined if the text is not an address. Proxies write `192.0.2.1`,
 * `2001:db8::1`, `[2001:db8::1]`, and some add a port.
 */
export function addressOfText(text: string): string | undefined {
  const [, bracketed, plain] = /^(?:\[([^\]]*)\](?::\d+)?|([^:]*)(?::\d+)?)$/.exec(text) ?? []
  const address = bracketed ?? plain ?? text
  const family = isIP(address)
  if (family === 4 && bracketed === undefined) return address
  // A zone (`%eth0`) is only valid on the machine that wrote it.
  if (family !== 6 || !URL.canParse(`http://[${address}]`)) return undefined
  const short = new URL(`http://[${address}]`).hostname.slice(1, -1)
  const [, high, low] = /^::ffff:([0-9a-f]+):([0-9a-f]+)$/.exec(short) ?? []
  if (high === undefined || low === undefined) return short
  return [high, low].flatMap((pair) => [Number.parseInt(pair, 16) >> 8, Number.parseInt(pair, 16) & 0xff]).join('.')
}

/** Whether the address, in the form of `addressText`, is this machine itself. */
export function isLoopbackAddress(address: string): boolean {
  return address === '::1' || /^127(\.\d{1,3}){3}$/.test(address)
}

function isMapped(octets: Uint8Array): boolean {
  return octets.subarray(0, 10).every((octet) => octet === 0) && octets[10] === 0xff && octets[11] === 0xff
}

function octetPair(octets: Uint8Array, index: number): number {
  return ((octets[index] ?? 0) << 8) | (octets[index + 1] ?? 0)
}
