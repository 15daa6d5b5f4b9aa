/**
 * Reading the tenants' streams, for who tells clients what they missed. `src/store` keeps it.
 *
 * Obligations: a chunk holds consecutive events; `recent` and `load` give the chunk that holds the offset, or nothing
 * when it is not retained (or not in memory, for `recent`); only committed events are given.
 */
export interface StreamReader<Event> {
  /** The epoch this process writes under. */
  readonly epoch: string
  /** The first offset that can still be read. */
  retainedFrom(tenant: string): number
  /** The last offset stored under an epoch; undefined for an epoch the store does not know. */
  lastOffsetUnder(tenant: string, epoch: string): number | undefined
  /** At once, from memory. */
  recent(tenant: string, offset: number): Chunk<Event> | undefined
  load(tenant: string, offset: number): Promise<Chunk<Event> | undefined>
}

export interface Chunk<Event> {
  readonly firstOffset: number
  readonly events: readonly Event[]
}

/** A position in a tenant's stream: the last offset heard, under which epoch. */
export interface Position {
  readonly epoch: string
  readonly offset: number
}
