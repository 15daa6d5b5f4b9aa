import type { Unread } from '#http/body-stream'
import type { Cors } from '#http/cors'
import type { HttpFigures } from '#http/http-figures'
import type { IdempotencyGuard } from '#http/idempotency'
import type { Pending } from '#http/pending'
import type { Seeing } from '#http/seen'
import type { ServerLog } from '#http/server-log'
import type { TurnedAway } from '#http/turned-away'
import type { Problem } from '#model/problem'
import type { ConcurrencyLimit } from '#runtime/concurrency-limit'
import type { World } from '#runtime/world'

/** What all requests of one server share. */
export interface ServerContext {
  readonly world: World
  readonly log: ServerLog
  readonly cors: Cors
  readonly seeing: Seeing
  readonly pending: Pending
  /** Requests of known callers whose answers are not complete. */
  readonly requests: ConcurrencyLimit
  /** Requests whose answers are being made, also after the client went away: a write waits for its device all the same. */
  readonly work: ConcurrencyLimit
  /** Of bodies that are handed on as they come. */
  readonly allUnread: Unread
  /** Those whose body is still coming. */
  readonly receiving: Pending
  readonly turnedAway: TurnedAway
  readonly brokenOff: TurnedAway
  readonly figures: HttpFigures
  readonly bodyBytesMax: number
  /** The same for bodies that are handed on as they come. */
  readonly streamedBytesMax: number
  /** Undefined: `Idempotency-Key` means nothing. */
  readonly idempotency: IdempotencyGuard | undefined
  /** A malformed request where people sign in. @throws Problem `too_many_requests` after too many of its address */
  failedSignIn(address: string): void
  requestId(asked: string): string
  redactPath(path: string): string
  /** What a path that leads nowhere is answered. */
  notFound(path: string): Problem
  /** Set when the server stops: answers then close their connection. */
  isStopping: boolean
}
