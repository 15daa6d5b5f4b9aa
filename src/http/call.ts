import type { z } from 'zod'
import type { RouteEntry } from '#api/entry'
import type { Caller } from '#model/caller'
import type { Seen } from '#model/seen'

/** A request after the border: authenticated, permitted, parsed. What a route's answerer is given. */
export interface Call<P = unknown, Q = unknown, B = unknown> {
  readonly caller: Caller
  readonly parameters: P
  readonly query: Q
  readonly body: B
  /** The body as it came, for signatures over it; empty when the entry has no body. */
  readonly bodyBytes: Uint8Array
  /** The body as it comes, of entries that want it streamed; `body` and `bodyBytes` are empty then. */
  readonly upload: BodyStream | undefined
  /** A request header by its lower-case name; empty when absent. */
  header(name: string): string
  /** Method, path and query as they came: HEAD is answered by GET's entry; links to further pages are made of the others. */
  readonly target: { readonly method: string; readonly path: string; readonly query: string }
  readonly requestId: string
  /** The connection's other side, for limits and logs; behind a proxy that is the proxy. */
  readonly remoteAddress: string
  /** How the request came, a trusted proxy looked through. */
  readonly seen: Seen
  /** Aborts when the other side went away or the deadline passed. */
  readonly signal: AbortSignal
  /**
   * 16 bytes of chance. What is made of them (`seeded`: ids of new things and of what is sent) is the same again when the
   * request is repeated under its `Idempotency-Key`. Not for secrets: it is stored as it is.
   */
  readonly seed: Uint8Array
  /** The request was begun before under its `Idempotency-Key`, and may have been done: nobody heard how it ended. */
  readonly isRepeated: boolean
}

/**
 * A body on its way, once through. A piece is lent until the next is asked for. Who takes none holds the sender back. Whoever goes away midway makes the
 * iterator throw, as one does who sends more than is allowed: Problem `too_large`.
 */
export interface BodyStream extends AsyncIterable<Uint8Array> {
  /** As the header says it; undefined when it comes in chunks. */
  readonly lengthBytes: number | undefined
  /**
   * The caller, judged anew by what he may do now: to be asked when the last piece has come.
   * @throws Problem `unauthorized`, `forbidden`, `not_found`
   */
  stillPermitted(): Caller
}

/**
 * What a route answers. `json` is stringified by the server, `text` is JSON already; `chunks` is streamed: each chunk is written when the one
 * before it has been taken, the iterator is returned when the other side goes away. With a `Content-Length` among the
 * headers the chunks must add up to it; without one they go out chunked.
 */
export interface Reply {
  readonly status: number
  readonly headers?: Readonly<Record<string, string>>
  readonly json?: unknown
  readonly text?: string
  readonly chunks?: AsyncIterable<string | Uint8Array>
}

export type Answerer<P = unknown, Q = unknown, B = unknown> = (call: Call<P, Q, B>) => Reply | Promise<Reply>

/** A route bound to who answers it. */
export interface Binding {
  readonly entry: RouteEntry
  readonly answer: Answerer
}

/** Binds an entry to its answerer with the entry's own types. */
export function bind<const Path extends string, P extends z.ZodType, Q extends z.ZodType, B extends z.ZodType>(
  entry: RouteEntry<Path, P, Q, B>,
  answer: Answerer<z.infer<P>, z.infer<Q>, z.infer<B>>,
): Binding {
  return { entry: entry as unknown as RouteEntry, answer: answer as Answerer }
}
