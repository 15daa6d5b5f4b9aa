import type { ActorAddress, RecordFormat, SharedRecord } from '#runtime/actor'
import type { ValueReader, ValueWriter } from '#runtime/value-codec'

/**
 * How commits are stored, as the runtime needs it. Implemented in `src/store`.
 *
 * Obligations:
 * - `write` is atomic for all parts of a commit. If it resolves, the commit survives as `DURABILITY` promises. If it
 *   rejects, nothing of the commit may be published, and no later `write` succeeds until the store is opened again.
 * - `get` and `eventsSince` include every resolved write. The runtime adds what waits in memory.
 */
export interface Journal<Event> {
  /** Packs the value of a record with its version. */
  pack(format: RecordFormat, value: unknown): Uint8Array
  /**
   * Like `pack`, for a value that is written piece by piece: `endRecord` returns the bytes. They belong to the open
   * commit, and stay unchanged until it is stored.
   */
  beginRecord(format: RecordFormat): ValueWriter
  endRecord(): Uint8Array
  unpack(format: RecordFormat, bytes: Uint8Array): unknown
  /**
   * Reads a record that was written piece by piece. Returns undefined if the record has another version, or a form that
   * no `ValueWriter` writes, or if `read` returns undefined: the caller must then unpack it.
   */
  readRecord<Value>(
    format: RecordFormat,
    bytes: Uint8Array,
    read: (reader: ValueReader) => Value | undefined,
  ): Value | undefined
  recordKey(address: ActorAddress, name: string): string
  indexKey(tenant: string, index: string, entry: string): string
  reminderKey(address: ActorAddress): string
  tellKey(sequence: number): string
  shared(record: SharedRecord): { readonly key: string; readonly value: Uint8Array }
  /** Reads the stored bytes of a record synchronously. */
  get(recordKey: string): Uint8Array | undefined
  /** An empty packer for the events of one stream in one commit. `write` takes it back. */
  packer(): EventPacker<Event>
  /** Resolves with the bytes of each stream part, in the order of `streams`. */
  write(commit: SealedCommit<Event>): Promise<readonly number[]>
  /**
   * Reads stored events of a tenant from this offset on, synchronously, to recreate an activation. The offset must not
   * be before the stored redo position.
   */
  eventsSince(tenant: string, offset: number): Iterable<StreamEvent<Event>>
}

export interface StreamEvent<Event> {
  readonly offset: number
  readonly event: Event
}

/**
 * Packs events within their turn, so that an event that cannot be packed fails only this turn. In `write` it would fail
 * the commits of all tenants.
 */
export interface EventPacker<Event> {
  /** @throws Error if an event cannot be packed; then none is added */
  add(events: readonly Event[]): void
}

/** All changes of one commit. */
export interface SealedCommit<Event> {
  readonly now: number
  readonly streams: readonly StreamPart<Event>[]
  readonly records: ReadonlyMap<string, Uint8Array | null>
}

export interface StreamPart<Event> {
  readonly tenant: string
  readonly firstOffset: number
  readonly events: readonly Event[]
  /** Contains exactly `events`; undefined if there are none. */
  readonly packer: EventPacker<Event> | undefined
  /** The offset of the first event of this tenant that the next start must apply again. */
  readonly redoFrom: number
}

/**
 * Reads the streams of tenants for clients that resume. Implemented in `src/store`.
 *
 * Obligations: a chunk contains consecutive events. `recent` and `load` return the chunk that contains the offset, or
 * undefined if it is not stored; `recent` also if it is not in memory. Only committed events are returned.
 */
export interface StreamReader<Event> {
  /** The present epoch. */
  readonly epoch: string
  /** The first offset that can be read. */
  retainedFrom(tenant: string): number
  /** The last offset stored in an epoch; undefined if the epoch is unknown. */
  lastOffsetUnder(tenant: string, epoch: string): number | undefined
  /** Reads synchronously from memory. */
  recent(tenant: string, offset: number): Chunk<Event> | undefined
  load(tenant: string, offset: number): Promise<Chunk<Event> | undefined>
}

export interface Chunk<Event> {
  readonly firstOffset: number
  readonly events: readonly Event[]
}

/** A position in the stream of a tenant: the last received offset, and its epoch. */
export interface Position {
  readonly epoch: string
  readonly offset: number
}
