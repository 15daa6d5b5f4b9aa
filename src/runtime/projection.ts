/**
 * Something that follows the streams of all tenants and stores what it makes of them: history is one. It is behind the
 * commits, so no commit waits for it. `StreamFollower` gives it the stored chunks.
 *
 * Obligations:
 * - A checkpoint is stored in one batch with everything made of the entries before it. After a crash the projection goes
 *   on from a checkpoint, so it loses and repeats nothing that the streams still have.
 * - After a power loss the streams may end before a checkpoint, and later offsets are then given to other entries. The
 *   projection offers an older checkpoint for this case, and forgets everything after it. It keeps older ones until
 *   `confirm`.
 * - The methods are called one after the other, except `close`.
 */
export interface Projection {
  /** A word, for metrics and logs. */
  readonly name: string
  /** Opens it, or opens it again. Resolves with the checkpoints from which it can go on, the newest first. */
  open(): Promise<readonly Checkpoint[]>
  /** Continues from the checkpoint with this index; undefined: sets everything aside, and starts empty. */
  resume(index: number | undefined, epoch: string): Promise<void>
  /** Adds chunks of the streams, in order. Their bytes are valid during the call only. */
  apply(chunks: readonly StreamChunk[]): Promise<Applied>
  /** The streams certainly hold all entries of the state at `stored`. */
  confirm(stored: number): Promise<void>
  /** The entries of a tenant up to this offset cannot be read any more. `to`: when the first one after them was stored. */
  skip(tenant: string, offset: number, to: number): Promise<void>
  /** Deletes everything about a tenant, whose entries up to this offset are not applied any more. */
  removeTenant(tenant: string, offset: number): Promise<void>
  close(): Promise<void>
}

/** Everything up to the offset of each tenant is in a projection. */
export interface Checkpoint {
  readonly epoch: string
  readonly offsets: ReadonlyMap<string, number>
}

/** A chunk of the stream of a tenant, as stored. */
export interface StreamChunk {
  readonly tenant: string
  readonly firstOffset: number
  /** Entries. */
  readonly count: number
  /** When it was stored, Unix ms. */
  readonly time: number
  readonly bytes: Uint8Array
}

export interface Applied {
  /** Rises with each stored state. */
  readonly stored: number
  /** It has reason to call for `confirm`. */
  readonly isConfirmDue: boolean
}
