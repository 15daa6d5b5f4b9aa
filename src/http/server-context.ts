import type { UnreadTotal } from '#http/body-stream'
import type { IdempotencyGuard } from '#http/call'
import type { Cors } from '#http/cors'
import type { Forwarding } from '#http/forwarding-headers'
import type { HttpMetrics } from '#http/http-metrics'
import type { OtherNodes } from '#http/other-nodes'
import type { PendingRequests } from '#http/pending-requests'
import type { Audit } from '#http/request-audit'
import type { OverloadLog, RefusedOrigins, ServerLog } from '#http/server-log'
import type { Problem } from '#model/problem'
import type { ConcurrencyLimit } from '#runtime/concurrency-limit'
import type { World } from '#runtime/world'

/** The state shared by all requests of one server. */
export interface ServerContext {
  readonly world: World
  readonly log: RequestLog
  readonly origins: Origins
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

interface RequestLog {
  readonly server: ServerLog
  readonly overloads: OverloadLog
  readonly brokenOff: OverloadLog
  readonly refusedOrigins: RefusedOrigins
  requestId(asked: string): string
  redactPath(path: string): string
}

interface Origins {
  readonly cors: Cors
  readonly forwarding: Forwarding
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
