import type { Entry } from '#model/entry'
import {
  type ActorAddress,
  type ActorDefinition,
  type CommandOf,
  type Decision,
  type RecordChange,
  type Recorded,
  type RecordFormat,
  record,
  type Turn,
} from '#runtime/actor'

/** An actor whose state is exactly its records: applying them to an empty state restores it. */
interface RecordActor<State, Commands>
  extends Pick<ActorDefinition<State, unknown, Entry>, 'kind' | 'isBrief' | 'isForgettable' | 'recordStored'> {
  /**
   * The format of each record, by the name of the record or by a prefix with `*`. A string is the name of a format whose
   * version is 1.
   */
  readonly records: Readonly<Record<string, string | RecordFormat>>
  empty(address: ActorAddress): State
  /** Applies a record, also while the actor wakes. The value null deletes the record. */
  put(state: State, change: RecordChange): void
  readonly decisions: Decisions<State, Commands>
}

/** The decisions of an actor by type of command. */
export type Decisions<State, Commands> = {
  readonly [Type in keyof Commands]: (state: State, command: CommandOf<Commands, Type>, turn: Turn) => Decision<Entry>
}

/** `Commands`: the table of the actor's commands. */
export function recordActor<State, Commands>({
  records,
  empty,
  put,
  decisions,
  ...definition
}: RecordActor<State, Commands>): ActorDefinition<State, CommandOf<Commands>, Entry> {
  const names = Object.keys(records)
  const formats = names.map((name) => [name, formatOf(records[name] as string | RecordFormat)])
  return {
    ...definition,
    persistence: 'write_through',
    formats: Object.fromEntries(formats),
    ...(names.every((name) => !name.endsWith('*')) && { fixedRecords: names }),
    wake(address, stored) {
      const state = empty(address)
      for (const [name, value] of stored) put(state, { name, value })
      return state
    },
    change: (state, change) => put(state, change as RecordChange),
    // The records of a turn contain everything that its entries contain.
    apply: () => {},
    decide: (state, command, turn) => decisions[command.type](state, command, turn),
  }
}

/** `put` of an actor with one record. */
export function putStored<Stored>(state: { stored: Stored | undefined }, { value }: RecordChange): void {
  state.stored = (value as Stored | null) ?? undefined
}

/** Sets the entry of one record. `value` null: deletes the entry. */
export function putIn<Key, Value>(map: Map<Key, Value>, key: Key, value: unknown): void {
  if (value === null) map.delete(key)
  else map.set(key, value as Value)
}

/** A string is the name of a format whose version is 1. */
export function formatOf(format: string | RecordFormat): RecordFormat {
  return typeof format === 'string' ? { name: format, version: 1, upgrades: {} } : format
}

/**
 * A decision that changes records and has no entry. It is for changes about which clients receive no event: every entry
 * is sent as an event.
 */
export function recordsWithoutEntry(
  records: readonly RecordChange[],
  more: Omit<Recorded<Entry>, 'type' | 'events' | 'changes' | 'records'> = {},
): Recorded<Entry> {
  return record<Entry>([], { ...more, records })
}

/**
 * A random id for an edit. A later command about this edit contains the id, so that it has no effect on a newer edit.
 */
export function newEditId(turn: Turn): number {
  return Buffer.from(turn.random(6)).readUIntBE(0, 6)
}
