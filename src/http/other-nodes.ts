import type { Reply } from '#http/call'

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
