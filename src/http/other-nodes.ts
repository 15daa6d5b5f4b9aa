import type { Reply } from '#http/call'

/** A request that another node of the cluster answers. */
export interface ForwardableRequest {
  /** The path of the route, with its parameters as `:name`. */
  readonly path: string
  readonly method: string
  /** Whether a second owner may handle the request, although the first owner may have handled it. */
  readonly mayRepeat: boolean
  /** Since when the request has waited for an owner, by `World.monotonic`. */
  readonly since: number
  /** Path and query as sent. */
  readonly target: string
  /** Names and values, alternating: those of the request, and those about its client. */
  readonly headers: readonly string[]
  /** Bytes can be sent again; a stream cannot. */
  readonly body: Uint8Array | AsyncIterable<Uint8Array>
  readonly signal: AbortSignal
}

/** The other nodes of a cluster, as the HTTP server uses them. Implemented in `src/cluster`. */
export interface OtherNodes {
  /** Whether this node answers all requests itself at present. */
  readonly isOwner: boolean
  /** Whether another node sent this request. */
  isFromNode(headers: { get(name: string): string }): boolean
  /** Whether another node asks for this node's own state, and this node may answer. */
  mayAnswerFromOwnState(headers: { get(name: string): string }): boolean
  /** The answer of the owner; undefined if this node has to answer itself. @throws Problem `storage` */
  forward(request: ForwardableRequest): Promise<Reply | undefined>
  /** Calls `task` if a state read still waits when this node is no longer the owner: another node can answer it. */
  onReadStuck(request: Pick<ForwardableRequest, 'method' | 'path'>, isWaiting: () => boolean, task: () => void): void
  /**
   * The answer to another node that takes this node for the owner; undefined if this node becomes the owner in time.
   */
  notOwner(): Promise<Reply | undefined>
}
