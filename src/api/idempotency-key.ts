import type { RouteEntry } from '#api/entry'

/** Requests that may come twice and are done once. Contract 1.10. */

/** By its lower-case name. */
export const idempotencyKeyHeader = 'idempotency-key'

/**
 * Whether the header means anything on a route. Reading repeats by itself, and so does what is streamed: it is not there
 * whole to be compared. Of nobody there is no key.
 */
export function takesIdempotencyKey({ method, access, body }: RouteEntry): boolean {
  return method !== 'GET' && !body?.isStreamed && !keyless.has(access)
}

/** Whoever comes by these is often nobody. */
const keyless: ReadonlySet<RouteEntry['access']> = new Set(['none', 'link', 'proof', 'hook'])
