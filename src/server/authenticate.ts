import type { Caller } from '#iam/caller'

/** What a request shows of itself to whoever finds out who is asking. */
export interface AuthenticationRequest {
  /** As it came, upper case. */
  readonly method: string
  /** Path and query as they came, byte for byte. */
  readonly path: string
  readonly query: string
  /** By lower-case name; empty when absent, copies joined by a comma. */
  header(name: string): string
  readonly remoteAddress: string
  readonly requestId: string
  /** Added to the answer, whatever it will be. */
  addReplyHeader(name: string, value: string): void
}

/** Who is asking, or a Problem thrown. */
export type Authenticate = (request: AuthenticationRequest) => Caller | Promise<Caller>
