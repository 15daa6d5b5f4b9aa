import { isIP } from 'node:net'
import { requestOriginOf } from '#http/forwarded'

/** A name has at most 253 characters (RFC 1035 §2.3.4), followed by a port. */
const hostCharactersMax = 260
/** There are few hosts; a client that sends others costs a URL to parse each, and no memory. */
const hostsMax = 1024

/** RFC 6761, RFC 6762, RFC 8375, and names reserved by ICANN: they are known at most within a network. */
const withinOnly = /\.(localhost|local|internal|home\.arpa|test|invalid)$/

/**
 * The host names that the server answers while authentication is off.
 *
 * A page of another site can let its own name resolve to this machine (DNS rebinding). Its browser then takes the
 * answers for those of that site, and sends no `Origin` with a GET: only the name reveals it. So the server answers
 * `localhost` and addresses, which no name server can redirect; names of one label and names that no public name server
 * has, as machines, containers and home networks use; and the names that the operator configured.
 */
export class AllowedHosts {
  readonly #named: ReadonlySet<string>
  readonly #known = new Map<string, boolean>()

  /** `urls` contain the names of the operator. */
  constructor(urls: readonly string[]) {
    const names = urls.filter((url) => URL.canParse(url)).map((url) => new URL(url).hostname)
    // A page inside an app (`app://…`) may have none.
    this.#named = new Set(names.filter((name) => name !== ''))
  }

  /** `host`: as in a request, with a port or without. */
  has(host: string): boolean {
    if (host.length > hostCharactersMax) return false
    let isOurs = this.#known.get(host)
    if (isOurs === undefined) {
      isOurs = this.#isOurs(host)
      if (this.#known.size >= hostsMax) this.#known.clear()
      this.#known.set(host, isOurs)
    }
    return isOurs
  }

  #isOurs(host: string): boolean {
    if (!host.includes('.')) return true
    const [origin] = requestOriginOf(`http://${host}`, host)
    if (origin === undefined) return false
    const { hostname } = new URL(origin)
    return isUnredirectable(origin) || withinOnly.test(hostname) || this.#named.has(hostname)
  }
}

/** Whether no name server can redirect this origin. */
export function isUnredirectable(origin: string): boolean {
  const { hostname } = new URL(origin)
  return hostname === 'localhost' || isIP(hostname.replace(/^\[|\]$/g, '')) !== 0
}
