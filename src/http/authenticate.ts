import type { RouteAccess } from '#api/entry'
import type { Caller } from '#model/caller'
import type { Seen } from '#model/seen'

/** What a request shows of itself to whoever finds out who is asking. */
export interface AuthenticationRequest {
  /** As it came, upper case; `GET` of an upgrade. */
  readonly method: string
  /** Path and query as they came, byte for byte. */
  readonly path: string
  readonly query: string
  readonly seen: Seen
  readonly requestId: string
  /** By lower-case name; empty when absent, copies joined by a comma. */
  header(name: string): string
  /** How many lines of this name came: a second credential must not hide behind the first. */
  headerCount(name: string): number
  /** Added to the answer, whatever it will be. */
  addReplyHeader(name: string, value: string): void
}

/**
 * Finds the caller of a request to a route with this access. A promise only where a signature has to be checked: the verdict
 * itself is one synchronous step over what is in memory. @throws Problem
 */
export type Authenticate = (request: AuthenticationRequest, access: RouteAccess) => Caller | Promise<Caller>
