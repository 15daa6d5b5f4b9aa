import type { UnreadTotal } from '#http/body-stream'
import type { IdempotencyGuard, Reply } from '#http/call'
import type { HttpMetrics } from '#http/http-metrics'
import type { Cors, Forwarding } from '#http/origins'
import type { PendingRequests } from '#http/pending-requests'
import type { Audit, RequestLog } from '#http/request-log'
import type { Problem } from '#model/problem'
import type { ConcurrencyLimit } from '#runtime/fair-queue'
import type { World } from '#runtime/world'

/** The state shared by all requests of one server. */
export interface ServerContext {
  readonly world: World
  readonly log: RequestLog
  readonly origins: { readonly cors: Cors; readonly forwarding: Forwarding }
  readonly load: ServerLoad
  readonly limits: BodyLimits
  readonly metrics: HttpMetrics
  /** The other nodes of the cluster. Undefined: this server is not a node of a cluster. */
  readonly otherNodes: OtherNodes | undefined
  /** Lets repeated requests take effect once. Undefined: `Idempotency-Key` is ignored. */
  readonly idempotency: IdempotencyGuard | undefined
  /** The log of changes and sign-ins. Undefined: requests are not recorded. */
  readonly audit: Audit | undefined
  /**
   * Counts a malformed request to a sign-in route. @throws Problem `too_many_requests` after too many from one address
   */
  failedSignIn(address: string): void
  /** The error for an unknown path. */
  notFound(path: string): Problem
  /** Set when the server stops: answers then close their connection. */
  isStopping: boolean
}

/** The requests in progress. */
interface ServerLoad {
  readonly pending: PendingRequests
  /** Requests whose body is still arriving. */
  readonly receiving: PendingRequests
  /** Requests of authenticated callers whose answers are not complete. */
  readonly requests: ConcurrencyLimit
  /** Requests whose handlers run. A handler may run on after the client disconnected, such as a write to a device. */
  readonly work: ConcurrencyLimit
  /** The unread bytes of all streamed bodies. */
  readonly allUnread: UnreadTotal
}

export interface BodyLimits {
  /** The largest body of entries without a limit of their own. */
  readonly bodyBytesMax: number
  /** The largest streamed body of entries without a limit of their own. */
  readonly streamedBytesMax: number
}

/** A request that another node of the cluster answers. */
export interface ForwardableRequest {
  /** The path of the route, with its parameters as `:name`. */
  readonly path: string
  readonly method: string
  /** Whether a second owner may handle the request, even if the first owner has handled it. */
  readonly mayRepeat: boolean
  /** When the request began to wait for an owner, by `World.monotonic`. */
  readonly since: number
  /** Path and query as sent. */
  readonly target: string
  /** The headers of the request, and headers about its client. Names and values, alternating. */
  readonly headers: readonly string[]
  /** Bytes can be sent again; a stream cannot. */
  readonly body: Uint8Array | AsyncIterable<Uint8Array>
  readonly signal: AbortSignal
}

/** The other nodes of a cluster, as the HTTP server uses them. Implemented in `src/cluster`. */
export interface OtherNodes {
  /** Whether this node is the owner of the store, and answers all requests itself. */
  readonly isOwner: boolean
  /** Whether another node sent this request. */
  isFromNode(headers: { get(name: string): string }): boolean
  /** Whether another node asks for this node's own state, and this node may answer. */
  mayAnswerFromOwnState(headers: { get(name: string): string }): boolean
  /** The answer of the owner; undefined if this node has to answer itself. @throws Problem `storage` */
  forward(request: ForwardableRequest): Promise<Reply | undefined>
  /**
   * Calls `task` if this node stops being the owner while a state read waits: another node can answer the read then.
   */
  onReadStuck(request: Pick<ForwardableRequest, 'method' | 'path'>, isWaiting: () => boolean, task: () => void): void
  /**
   * The answer to another node that takes this node for the owner; undefined if this node becomes the owner in time.
   */
  notOwner(): Promise<Reply | undefined>
}
