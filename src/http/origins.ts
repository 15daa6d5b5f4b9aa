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
 * The most cached hosts. Real clients use few. If a client sends many others, each takes time to parse, but no memory.
 */
const hostsMax = 1024

/**
 * Finds the URL and the address of a request as its client sees them. The URL comes from the headers of a trusted
 * proxy; without them, from the public URLs; without these, from `Host`. Contract 2, DPoP.
 *
 * If there are public URLs, `Host` does not count: an attacker could replay a proof that was meant for another server,
 * with the `Host` of that server.
 */
export class Forwarding {
  readonly #isForwarder: (headers: ForwardingHeaders) => boolean
  readonly #publicOrigins: readonly string[]
  readonly #known = new Map<string, Pick<ForwardedRequest, 'origins' | 'host'>>()

  constructor({ isProxyTrusted, publicUrls, isFromNode = () => false }: ForwardingOptions) {
    this.#isForwarder = isProxyTrusted ? () => true : isFromNode
    this.#publicOrigins = publicUrls.flatMap(publicOriginOf)
  }

  /** Scheme, host and port of the server's own pages. Not normalised. */
  ownOrigin(headers: ForwardingHeaders): string {
    return `${this.#schemeOf(headers)}://${this.#forwarded(headers, 'x-forwarded-host') || headers.get('host')}`
  }

  /** The hosts that the client requested, according to the client and a trusted proxy. */
  hosts(headers: ForwardingHeaders): readonly string[] {
    const forwardedHost = this.#forwarded(headers, 'x-forwarded-host')
    return forwardedHost === '' ? [headers.get('host')] : [headers.get('host'), forwardedHost]
  }

  /** `peer` returns the peer's address; only called when the address is needed. */
  requestOf(headers: ForwardingHeaders, peer: () => string): ForwardedRequest {
    const forwardedHost = this.#forwarded(headers, 'x-forwarded-host')
    const host = forwardedHost || headers.get('host')
    const url = `${this.#schemeOf(headers)}://${host}`
    const key = forwardedHost === '' ? url : `>${url}`
    let place = this.#known.get(key)
    if (!place) {
      const isPublic = forwardedHost === '' && this.#publicOrigins.length > 0
      place = { origins: isPublic ? this.#publicOrigins : requestOriginOf(url, host), host: host.toLowerCase() }
      if (this.#known.size >= hostsMax) this.#known.clear()
      this.#known.set(key, place)
    }
    return new LazyForwardedRequest(place, () => this.#addressOf(headers, peer))
  }

  /** Headers from which another node finds the same URL and client address. Names and values, alternating. */
  headersForNode(headers: ForwardingHeaders, peer: () => string): readonly string[] {
    const lines = ['X-Forwarded-For', this.#addressOf(headers, peer)]
    for (const name of ['x-forwarded-proto', 'x-forwarded-host']) {
      const value = this.#forwarded(headers, name)
      if (value !== '') lines.push(name, value)
    }
    return lines
  }

  #forwarded(headers: ForwardingHeaders, name: string): string {
    return this.#isForwarder(headers) ? lastOf(headers.get(name)) : ''
  }

  #schemeOf(headers: ForwardingHeaders): 'http' | 'https' {
    return /^(?:https|wss)$/i.test(this.#forwarded(headers, 'x-forwarded-proto')) ? 'https' : 'http'
  }

  #addressOf(headers: ForwardingHeaders, peer: () => string): string {
    return addressOfText(this.#forwarded(headers, 'x-forwarded-for')) ?? peer()
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
function requestOriginOf(url: string, host: string): readonly string[] {
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

/**
 * The origin of a request, and whether pages of this origin may read the answer. Contract 1.9.
 *
 * - `none`: no `Origin`. The request may still come from a page of another site, see `isForeignFetch`.
 * - `allowed`: the server's own origin or a configured one.
 * - `foreign`: any other origin, and always `null` (sandboxed frames, files).
 *
 * The server's own origin is that of a public URL, or that of the request's `Host` (behind a trusted proxy, of
 * `X-Forwarded-Host`). With authentication off, this host counts only if it is `localhost` or an IP address: any other
 * name could be made to resolve to this machine (DNS rebinding), and a page of that name would then look like the
 * server's own.
 */
export type OriginVerdict = 'none' | 'allowed' | 'foreign'

export interface CorsOptions {
  readonly corsOrigins: readonly string[]
  readonly publicUrls: readonly string[]
  readonly iamOff: boolean
}

export const exposedHeaders =
  'DPoP-Nonce, Date, X-Request-Id, Retry-After, Stream-Epoch, Stream-Offset, Link, ETag, Location, WWW-Authenticate'
export const allowedHeaders = 'Authorization, DPoP, Content-Type, If-None-Match, Idempotency-Key, X-API-Key'
/** Browsers limit the age themselves (Chromium to two hours). */
export const preflightMaxAgeS = 7200

export class Cors {
  /** The hosts that requests may have in `Host`, whether they have an `Origin` or not. Undefined: any. */
  readonly allowedHosts: AllowedHosts | undefined
  readonly #iamOff: boolean
  readonly #known: ReadonlySet<string | undefined>

  constructor({ corsOrigins, publicUrls, iamOff }: CorsOptions) {
    this.#iamOff = iamOff
    this.#known = new Set([...corsOrigins, ...publicUrls].map(originOf))
    this.allowedHosts = iamOff ? new AllowedHosts([...publicUrls, ...corsOrigins]) : undefined
  }

  /** `ownUrl`: scheme, host and port of the request. */
  verdictOf(origin: string, ownUrl: string): OriginVerdict {
    if (origin === '') return 'none'
    const asked = originOf(origin)
    // No browser sends a path or a password in `Origin`.
    if (asked === undefined || asked !== origin.toLowerCase()) return 'foreign'
    if (this.#known.has(asked)) return 'allowed'
    const own = originOf(ownUrl)
    if (asked !== own) return 'foreign'
    return this.#iamOff && !isUnredirectable(own) ? 'foreign' : 'allowed'
  }

  /** Whether a request of this origin is refused, for any method. */
  isRefused(verdict: OriginVerdict, kind: 'request' | 'upgrade'): boolean {
    return verdict === 'foreign' && (this.#iamOff || kind === 'upgrade')
  }
}

/** Scheme, host and port in the form browsers send; undefined if there is no such origin. */
function originOf(url: string): string | undefined {
  if (!URL.canParse(url)) return undefined
  const { origin, protocol } = new URL(url)
  // For other schemes the origin is `null`. So for a page inside an app (`app://…`), the configured text itself counts.
  if (origin !== 'null') return origin
  return protocol === 'null:' ? undefined : url.toLowerCase()
}

/** A name has at most 253 characters (RFC 1035 §2.3.4), followed by a port. */
const hostCharactersMax = 260
/** Names that no public name server has. RFC 6761, RFC 6762, RFC 8375, and names reserved by ICANN. */
const privateNames = /\.(localhost|local|internal|home\.arpa|test|invalid)$/

/**
 * The host names that the server answers while authentication is off.
 *
 * A hostile site can let its own name resolve to this machine (DNS rebinding). The browser then treats the answers as
 * those of that site, and sends no `Origin` with a GET: only `Host` shows the name of the site. So the server answers
 * only for IP addresses, names without a dot, names of private networks, and names that the operator configured.
 */
class AllowedHosts {
  readonly #named: ReadonlySet<string>
  readonly #known = new Map<string, boolean>()

  /** `urls`: URLs whose host names the operator configured. */
  constructor(urls: readonly string[]) {
    const names = urls.filter((url) => URL.canParse(url)).map((url) => new URL(url).hostname)
    // The address of a page inside an app (`app://…`) may have no host name.
    this.#named = new Set(names.filter((name) => name !== ''))
  }

  /** `host`: as in a request, with a port or without. */
  has(host: string): boolean {
    if (host.length > hostCharactersMax) return false
    let isAllowed = this.#known.get(host)
    if (isAllowed === undefined) {
      isAllowed = this.#isAllowed(host)
      if (this.#known.size >= hostsMax) this.#known.clear()
      this.#known.set(host, isAllowed)
    }
    return isAllowed
  }

  #isAllowed(host: string): boolean {
    if (!host.includes('.')) return true
    const [origin] = requestOriginOf(`http://${host}`, host)
    if (origin === undefined) return false
    const { hostname } = new URL(origin)
    return isUnredirectable(origin) || privateNames.test(hostname) || this.#named.has(hostname)
  }
}

/** Whether no name server can redirect this origin. */
function isUnredirectable(origin: string): boolean {
  const { hostname } = new URL(origin)
  return hostname === 'localhost' || isIP(hostname.replace(/^\[|\]$/g, '')) !== 0
}
