import type { ActorAddress, RecordFormat, SharedRecord } from '#runtime/actor'
import type { ValueReader } from '#runtime/value-reader'
import type { ValueWriter } from '#runtime/value-writer'

/**
 * How the runtime's commits rest, as the runtime needs it; `src/store` keeps it.
 *
 * Obligations
 * - `write` is atomic over all that a commit holds. Fulfilled: it survives as `DURABILITY` promises. Rejected: nothing
 *   of it may be told to anybody, and no further `write` succeeds until `reopened`.
 * - `records` and `eventsSince` see every fulfilled write; what waits in memory is the runtime's to overlay.
 */
export interface Journal<Event> {
  /** Packs a record's value with its version. */
  pack(format: RecordFormat, value: unknown): Uint8Array
  /**
   * The same for a value that is written piece by piece: one after `beginRecord`, then `endRecord` gives its bytes. They
   * are for the commit that is open, and stay as they are until it is stored.
   */
  beginRecord(format: RecordFormat): ValueWriter
  endRecord(): Uint8Array
  unpack(format: RecordFormat, bytes: Uint8Array): unknown
  /**
   * Reads a record that was written piece by piece. Undefined when it is of another version, when `read` makes nothing of
   * it, or when it is not as it would have been written: it is to be unpacked then.
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
  /** Bytes stored under a record's key, at once. */
  get(recordKey: string): Uint8Array | undefined
  /** An empty packer for the events of one stream in one commit; `write` takes it back. */
  packer(): EventPacker<Event>
  /** Fulfilled with the bytes that each stream's part took, in the order of `streams`. */
  write(commit: SealedCommit<Event>): Promise<readonly number[]>
  /**
   * Stored events of a tenant from an offset on, at once: for an activation that has to be made anew. Only from within
   * the redo window.
   */
  eventsSince(tenant: string, offset: number): Iterable<Placed<Event>>
}

export interface Placed<Event> {
  readonly offset: number
  readonly event: Event
}

/**
 * Packs events within the turn that takes them: one that cannot be packed is the fault of that turn alone. Within `write`
 * it would fail the commit of every tenant.
 */
export interface EventPacker<Event> {
  /** @throws Error when one cannot be packed; then none of them is added */
  add(events: readonly Event[]): void
}

/** All that one commit changes: a replicated log could take its place. */
export interface SealedCommit<Event> {
  readonly now: number
  readonly streams: readonly StreamPart<Event>[]
  readonly records: ReadonlyMap<string, Uint8Array | null>
}

export interface StreamPart<Event> {
  readonly tenant: string
  readonly firstOffset: number
  readonly events: readonly Event[]
  /** Holds exactly `events`; undefined where there are none. */
  readonly packer: EventPacker<Event> | undefined
  /** From where this tenant's events must be applied again at the next start. */
  readonly redoFrom: number
}
