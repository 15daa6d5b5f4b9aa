import type { RouteEntry } from '#api/entry'

/** Requests that may be repeated and take effect once. Contract 1.10. */

/** By its lower-case name. */
export const idempotencyKeyHeader = 'idempotency-key'

/**
 * Whether a route uses the header. Reads are repeatable anyway; streamed bodies can't be compared as a whole;
 * unauthenticated callers have no keys.
 */
export function takesIdempotencyKey({ method, access, body }: RouteEntry): boolean {
  return method !== 'GET' && !body?.isStreamed && !keyless.has(access)
}

/** Callers of these are often unauthenticated. */
const keyless: ReadonlySet<RouteEntry['access']> = new Set(['none', 'link', 'proof', 'hook'])
