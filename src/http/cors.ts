import { isIP } from 'node:net'
import { requestOriginOf } from '#http/forwarding-headers'

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

export interface Cors {
  /** `own`: scheme, host and port of the request. */
  verdictOf(origin: string, own: string): OriginVerdict
  /** Whether a request of this origin is refused, for any method. */
  isRefused(verdict: OriginVerdict, kind: 'request' | 'upgrade'): boolean
  /** The hosts that requests may have in `Host`, whether they have an `Origin` or not. Undefined: any. */
  readonly allowedHosts: AllowedHosts | undefined
}

export const exposedHeaders =
  'DPoP-Nonce, Date, X-Request-Id, Retry-After, Stream-Epoch, Stream-Offset, Link, ETag, Location, WWW-Authenticate'
export const allowedHeaders = 'Authorization, DPoP, Content-Type, If-None-Match, Idempotency-Key, X-API-Key'
/** Browsers limit the age themselves (Chromium to two hours). */
export const preflightMaxAgeS = 7200

export function corsOf(options: CorsOptions): Cors {
  const known = new Set([...options.corsOrigins, ...options.publicUrls].map(originOf))
  known.delete(undefined)

  return {
    verdictOf(origin, ownUrl) {
      if (origin === '') return 'none'
      const asked = originOf(origin)
      // No browser sends a path or a password in `Origin`.
      if (asked === undefined || asked !== origin.toLowerCase()) return 'foreign'
      if (known.has(asked)) return 'allowed'
      const own = originOf(ownUrl)
      if (asked !== own) return 'foreign'
      return options.iamOff && !isUnredirectable(own) ? 'foreign' : 'allowed'
    },
    isRefused(verdict, kind) {
      return verdict === 'foreign' && (options.iamOff || kind === 'upgrade')
    },
    allowedHosts: options.iamOff ? new AllowedHosts([...options.publicUrls, ...options.corsOrigins]) : undefined,
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
/**
 * The most cached hosts. Real clients use few. If a client sends many others, each takes time to parse, but no memory.
 */
const hostsMax = 1024

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
