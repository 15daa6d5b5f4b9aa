/**
 * A log that all nodes of a cluster share: all of them see its messages in the same order.
 *
 * Obligations:
 * - Sequences rise; a message never changes and never moves.
 * - Every follower receives every stored message, once and in order, even if its `append` was rejected.
 * - When `append` fulfils, a majority of the log's servers has stored the message, directly after the message `after`.
 * - When `append` rejects, the message may be stored or not, may be stored later, and more than once. Followers
 *   therefore decide by the content of a message alone whether it counts (`LogChain`).
 */
export interface SharedLog {
  /** Appends a message if the message with the sequence `after` is still the last one. Resolves with its sequence. */
  append(message: Uint8Array, after: number): Promise<number>
  /** The last sequence at the time of the call, or a later one; 0 for an empty log. */
  lastSequence(): Promise<number>
  /**
   * Calls `receive` with all messages after `after`, stored and future ones, until the returned function is called. If
   * `receive` returns a promise, the next message waits for it.
   */
  follow(after: number, receive: (sequence: number, message: Uint8Array) => Promise<void> | undefined): () => void
}

/**
 * Permits a node to claim the log. If two nodes nevertheless hold the lease at the same time, only the commits of one
 * of them count.
 */
export interface Lease {
  /** Waits until this node holds the lease. Rejects if `release` is called before. */
  acquire(): Promise<void>
  release(): Promise<void>
}
