/**
 * Stored data that is computed from the streams of all tenants, such as history. `StreamFollower` applies chunks of the
 * streams after their commits, so no commit waits for a projection.
 *
 * Obligations:
 * - A checkpoint is stored in one batch with all data computed from the entries before it. After a crash the projection
 *   continues from a checkpoint, so it loses and repeats nothing that the streams still have.
 * - After a power loss the streams may end before a checkpoint, and the offsets after their end are given to other
 *   entries. So the projection keeps older checkpoints until `confirm`. It can continue from one of them, and then
 *   forgets everything after it.
 * - The methods are called one after the other.
 */
export interface Projection {
  /** One word, for metrics and logs. */
  readonly name: string
  /**
   * Opens the projection, also for a second time. Resolves with the checkpoints from which it can continue, the newest
   * first.
   */
  open(): Promise<readonly Checkpoint[]>
  /**
   * Continues from the checkpoint with this index; undefined: sets everything aside, and starts empty. `epoch`: the
   * present epoch of the streams.
   */
  resume(index: number | undefined, epoch: string): Promise<void>
  /** Adds chunks of the streams, in order. Their bytes are valid during the call only. */
  apply(chunks: readonly StreamChunk[]): Promise<Applied>
  /**
   * The streams have synced all entries of the state with this number (`Applied.stored`), so older checkpoints may be
   * dropped.
   */
  confirm(stored: number): Promise<void>
  /**
   * The entries of a tenant up to this offset cannot be read any more. `to`: when the next entry was stored, perhaps
   * estimated, Unix ms.
   */
  skip(tenant: string, offset: number, to: number): Promise<void>
  /** Deletes everything about a tenant, whose entries up to this offset are not applied any more. */
  removeTenant(tenant: string, offset: number): Promise<void>
  close(): Promise<void>
}

/** A state of a projection that contains all entries up to these offsets. */
export interface Checkpoint {
  readonly epoch: string
  readonly offsets: ReadonlyMap<string, number>
}

/** A chunk of the stream of a tenant, as stored. */
export interface StreamChunk {
  readonly tenant: string
  readonly firstOffset: number
  /** The number of entries. */
  readonly count: number
  /** When it was stored, Unix ms. */
  readonly time: number
  readonly bytes: Uint8Array
}

export interface Applied {
  /** The number of the stored state, for `confirm`. It rises. */
  readonly stored: number
  /** Whether the projection needs a call of `confirm`. */
  readonly isConfirmDue: boolean
}
