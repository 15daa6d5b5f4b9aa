import type { RouteAccess } from '#api/entry'
import type { Caller } from '#model/caller'
import type { ForwardedRequest } from '#model/forwarded-request'

/** The parts of a request that authentication reads. */
export interface AuthenticationRequest {
  /** As sent, in upper case; `GET` for an upgrade. */
  readonly method: string
  /** Path and query as sent, byte for byte. */
  readonly path: string
  readonly query: string
  readonly forwarded: ForwardedRequest
  readonly requestId: string
  /** By lower-case name; empty when absent, repeated lines joined by a comma. */
  header(name: string): string
  /** The number of lines with this name: a second credential must not hide behind the first. */
  headerCount(name: string): number
  /** Adds a header to the answer, for any status. */
  addReplyHeader(name: string, value: string): void
}

/**
 * Finds the caller of a request to a route with this access. Returns a promise only if a signature must be checked: the
 * decision itself is one synchronous step over data in memory. @throws Problem
 */
export type Authenticate = (request: AuthenticationRequest, access: RouteAccess) => Caller | Promise<Caller>
