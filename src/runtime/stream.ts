/**
 * Reads the streams of tenants for clients that resume. Implemented in `src/store`.
 *
 * Obligations: a chunk contains consecutive events. `recent` and `load` return the chunk with the offset, or nothing if
 * it is not retained (`recent`: or not in memory). Only committed events are returned.
 */
export interface StreamReader<Event> {
  /** The epoch of this process. */
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
