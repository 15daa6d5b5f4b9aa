import type { z } from 'zod'
import type { RouteEntry } from '#api/route-entry'
import type { AuthenticationRequest } from '#http/authentication'
import type { Caller, Principal } from '#model/caller'
import type { ForwardedRequest } from '#model/forwarded-request'
import type { SocketHandler } from '#runtime/socket'

/** A request that is authenticated, permitted and parsed: the argument of a route's handler. */
export interface Call<P = unknown, Q = unknown, B = unknown> {
  readonly caller: Caller
  readonly parameters: P
  readonly query: Q
  readonly body: B
  /** The raw body, for signatures over it; empty when the entry has no body. */
  readonly bodyBytes: Uint8Array
  /** The body as a stream, for entries that request it; `body` and `bodyBytes` are empty then. */
  readonly upload: BodyStream | undefined
  /** A request header by its lower-case name; empty when absent. */
  header(name: string): string
  /** Names the user that a request without a session is about, for the audit. */
  identified(user: Principal): void
  /**
   * Method, path and query as sent. The method is HEAD or GET for an entry of GET. Path and query are used for links to
   * further pages.
   */
  readonly target: { readonly method: string; readonly path: string; readonly query: string }
  readonly requestId: string
  /** The address of the connection's other end, for limits and logs. Behind a proxy, it is the address of the proxy. */
  readonly remoteAddress: string
  /** The request as its client sees it, also behind a trusted proxy: URL, host and client address. */
  readonly forwarded: ForwardedRequest
  /** Aborts when the client disconnects or the deadline passes. */
  readonly signal: AbortSignal
  /**
   * 16 random bytes. `seededRandom` derives the ids of new resources and messages from them, so the ids are the same
   * when the request is repeated under its `Idempotency-Key`. Not for secrets: the seed is stored in clear.
   */
  readonly seed: Uint8Array
  /** Whether the request came before under its `Idempotency-Key`, and got no answer. It may have taken effect then. */
  readonly isRepeated: boolean
}

/**
 * A body as a stream, for one iteration. A piece is valid until the next piece is requested. A reader that pauses also
 * pauses the sender. The iterator throws RequestEnded when the client disconnects, Problem `too_large` when the body
 * exceeds its limit, and Problem `overloaded` when the unread bytes of all bodies exceed theirs.
 */
export interface BodyStream extends AsyncIterable<Uint8Array> {
  /** The declared length; undefined for a chunked body. */
  readonly lengthBytes: number | undefined
  /**
   * The caller with the present permissions. Call it after the last piece.
   * @throws Problem `unauthorized`, `forbidden`, `not_found`
   */
  stillPermitted(): Caller
}

/**
 * The answer of a route. The server stringifies `json`. `text` is sent as it is, as JSON unless `headers` has another
 * type. `chunks` is streamed: each chunk is written when the client has taken the previous one, and `return` of the
 * iterator is called when the client disconnects. If the headers have a `Content-Length`, the chunks must add up to it;
 * otherwise they are sent chunked.
 */
export interface Reply {
  readonly status: number
  readonly headers?: Readonly<Record<string, string>>
  readonly json?: unknown
  /** A request repeated under its `Idempotency-Key` gets this answer: `json` contains a secret, which is not stored. */
  readonly repeatedJson?: unknown
  readonly text?: string
  readonly chunks?: AsyncIterable<string | Uint8Array>
}

export type Answerer<P = unknown, Q = unknown, B = unknown> = (call: Call<P, Q, B>) => Reply | Promise<Reply>

/** A route with its handler. */
export interface Binding {
  readonly entry: RouteEntry
  readonly answer: Answerer
  /** Replaces names in a body by identifiers, before the body is validated. @throws Problem for an unknown name */
  readonly resolve?: (caller: Caller, body: unknown) => unknown
  /** Each node of a cluster answers the requests itself, about its own state. */
  readonly isOfEachNode?: true
}

/** The same route, answered by each node of a cluster about itself. */
export function ofEachNode(binding: Binding): Binding {
  return { ...binding, isOfEachNode: true }
}

/** Binds an entry to its handler with the entry's own types. */
export function bind<const Path extends string, P extends z.ZodType, Q extends z.ZodType, B extends z.ZodType>(
  entry: RouteEntry<Path, P, Q, B>,
  answer: Answerer<z.infer<P>, z.infer<Q>, z.infer<B>>,
): Binding {
  return { entry: entry as unknown as RouteEntry, answer: answer as Answerer }
}

/** The fields of a call that depend on the record stored under its `Idempotency-Key`. */
export type BegunRequest = Pick<Call, 'seed' | 'isRepeated'>

/**
 * Makes sure that a request repeated under the same `Idempotency-Key` takes effect once. Contract 1.10.
 *
 * The guard runs only requests that have the header, on routes that change something for an authenticated caller. It
 * runs after all other checks, because these give a repeated request the same errors anyway.
 */
export interface IdempotencyGuard {
  /**
   * Returns the answer of `proceed`, or the stored answer if the request came before. `proceed` never runs twice at a
   * time for a key. It gets no seed if the request is not stored.
   * @throws Problem of `proceed`; `bad_request` for an invalid key, `conflict` while the same request runs,
   * `unprocessable` if the key belongs to another request, `overloaded`, `storage`
   */
  run(call: Call, entry: RouteEntry, proceed: (begun?: BegunRequest) => Reply | Promise<Reply>): Promise<Reply>
}

/** The parts of an upgrade request that a route reads. */
export interface UpgradeRequest extends AuthenticationRequest {
  readonly parameters: Readonly<Record<string, string>>
  readonly remoteAddress: string
  /** The negotiated subprotocol; empty when the route has none. */
  readonly protocol: string
}

/**
 * One path for websockets. `upgrade` decides on each request and returns the data for the handler's `opened`. If it
 * throws a Problem, this is the answer.
 */
export interface WebsocketRoute<Opening> {
  /** The path below the base path, with parameters as `:name`. */
  readonly path: string
  readonly handler: SocketHandler<Opening>
  upgrade(request: UpgradeRequest): Opening | Promise<Opening>
  /** A larger message closes the socket (1009 to the client, 1006 to the handler). */
  readonly maxPayloadBytes: number
  /** Above this many unsent bytes, messages are lost: see `SocketHandler.dropped`. */
  readonly maxBackpressureBytes: number
  /**
   * Subprotocols. If there are any, an upgrade that offers none of them is refused with 400. Of these, the first that
   * the client offers is used.
   */
  readonly protocols?: readonly string[]
}

/** A route with any opening data; each handler only gets the data of its own `upgrade`. */
export type AnyWebsocketRoute = WebsocketRoute<unknown>

export function websocketRoute<Opening>(route: WebsocketRoute<Opening>): AnyWebsocketRoute {
  return route as AnyWebsocketRoute
}
