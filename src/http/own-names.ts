import { isIP } from 'node:net'
import { requestOriginOf } from '#http/seen'

/** A name has 253 characters at most (RFC 1035 §2.3.4), and a port behind it. */
const hostCharactersMax = 260
/** Hosts are few; somebody who sends others costs a URL to parse each, and no memory. */
const hostsMax = 1024

/** RFC 6761, RFC 6762, RFC 8375, and what ICANN has set apart: they are known within a network, if at all. */
const withinOnly = /\.(localhost|local|internal|home\.arpa|test|invalid)$/

/**
 * The names that a server answers to where nobody signs in.
 *
 * A page of elsewhere can let its own name lead to this machine (DNS rebinding). Its browser then takes our answers for those
 * of its own site, and sends no `Origin` with a GET: nothing but the name gives it away. So there are `localhost` and
 * addresses, which no name server can redirect; names of one label and those that no public name server gives out, as
 * machines, containers and networks at home have; and what the operator has named.
 */
export class OwnNames {
  readonly #named: ReadonlySet<string>
  readonly #known = new Map<string, boolean>()

  /** `urls`: with the names of the operator. */
  constructor(urls: readonly string[]) {
    const names = urls.filter((url) => URL.canParse(url)).map((url) => new URL(url).hostname)
    // A page inside an app (`app://…`) may have none.
    this.#named = new Set(names.filter((name) => name !== ''))
  }

  /** `host`: as a request has it, with a port or without. */
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

/** Whether no name server has a say in where this origin is. */
export function isUnredirectable(origin: string): boolean {
  const { hostname } = new URL(origin)
  return hostname === 'localhost' || isIP(hostname.replace(/^\[|\]$/g, '')) !== 0
}
