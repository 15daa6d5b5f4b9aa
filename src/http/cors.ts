import { isUnredirectable, OwnNames } from '#http/own-names'

/**
 * Which pages may read the answers. Contract 1.9.
 *
 * - `none`: no `Origin`, so not a page of elsewhere asking.
 * - `allowed`: the server's own origin or one that is configured.
 * - `foreign`: anything else, `null` (sandboxed frames, files) among it, always.
 *
 * A page's own origin is that of a public URL, or that of the request as seen. Without authentication the Host
 * proves nothing: a hostile name can be made to resolve to this machine (DNS rebinding), and the page under that name
 * then looks like our own. So with IAM off only `localhost` and addresses count, which no name server can redirect.
 */
export type OriginVerdict = 'none' | 'allowed' | 'foreign'

export interface CorsOptions {
  readonly corsOrigins: readonly string[]
  readonly publicUrls: readonly string[]
  readonly iamOff: boolean
}

export interface Cors {
  /** `own`: scheme, host and port as the request came. */
  judge(origin: string, own: string): OriginVerdict
  /** Whether a request of this origin gets no further at all, whatever its method. */
  isRefused(verdict: OriginVerdict, kind: 'request' | 'upgrade'): boolean
  /** Those that requests have to name, with an `Origin` or without; undefined: the name says nothing. */
  readonly ownNames: OwnNames | undefined
}

export const exposedHeaders =
  'DPoP-Nonce, Date, X-Request-Id, Retry-After, Stream-Epoch, Stream-Offset, Link, ETag, Location, WWW-Authenticate'
export const allowedHeaders = 'Authorization, DPoP, Content-Type, If-None-Match, Idempotency-Key, X-API-Key'
/** Browsers cap it themselves (Chromium at two hours). */
export const preflightMaxAgeS = 7200

export function corsOf(options: CorsOptions): Cors {
  const known = new Set([...options.corsOrigins, ...options.publicUrls].map(originOf))
  known.delete(undefined)

  return {
    judge(origin, ownUrl) {
      if (origin === '') return 'none'
      const asked = originOf(origin)
      // An `Origin` is nothing but an origin; one with a path or a login is not a browser's.
      if (asked === undefined || asked !== origin.toLowerCase()) return 'foreign'
      if (known.has(asked)) return 'allowed'
      const own = originOf(ownUrl)
      if (asked !== own) return 'foreign'
      return options.iamOff && !isUnredirectable(own) ? 'foreign' : 'allowed'
    },
    isRefused(verdict, kind) {
      return verdict === 'foreign' && (options.iamOff || kind === 'upgrade')
    },
    ownNames: options.iamOff ? new OwnNames([...options.publicUrls, ...options.corsOrigins]) : undefined,
  }
}

/** Scheme, host and port in the form browsers send; undefined for what has no such origin. */
function originOf(url: string): string | undefined {
  if (!URL.canParse(url)) return undefined
  const { origin, protocol } = new URL(url)
  // Of other schemes the origin is the text `null`; a page inside an app (`app://…`) has to be configured, by its text.
  if (origin !== 'null') return origin
  return protocol === 'null:' ? undefined : url.toLowerCase()
}
