/**
 * A log that all nodes of a cluster share: one order of messages for everyone.
 *
 * Obligations:
 * - Sequences rise; a message never changes and never moves.
 * - Every follower receives every message, once and in order, also one whose `append` failed.
 * - A fulfilled `append` has stored the message directly behind `after`, where a majority of the log's servers keeps it.
 * - A rejected `append` promises nothing: the message may be stored, or be stored later, and more than once. Followers
 *   therefore judge messages by their content alone (`LogChain`).
 */
export interface SharedLog {
  /** Appends a message behind the message `after`, if that is still the last one. Resolves with its sequence. */
  append(message: Uint8Array, after: number): Promise<number>
  /** The last sequence, at a moment after the call; 0 for an empty log. */
  lastSequence(): Promise<number>
  /** Passes on all messages behind `after`, then those that are appended, until the returned function is called. */
  follow(after: number, receive: (sequence: number, message: Uint8Array) => void): () => void
}

/** The right to be the owner. It makes two owners rare; the log alone makes them harmless. */
export interface Lease {
  /** Waits until this node holds the lease. */
  acquire(): Promise<void>
  release(): Promise<void>
}
