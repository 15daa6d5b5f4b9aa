import type { RouteAccess } from '#api/entry'
import type { Caller } from '#iam/caller'
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
 * Who is asking, where the route's access says that somebody has to be known, or a Problem thrown. Synchronous: it looks
 * at what is in memory, and nothing that came in meanwhile can stand between the verdict and the answer.
 */
export type Authenticate = (request: AuthenticationRequest, access: RouteAccess) => Caller
