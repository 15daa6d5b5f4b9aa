import type { Problem } from '#model/problem'
import type { ValueReader, ValueWriter } from '#runtime/value-codec'

/**
 * The definition of a kind of actor.
 *
 * An actor is the only writer of its state, which changes only in its own turns, one at a time. A turn is one
 * synchronous run from a command to a decision. `decide` only reads and never changes anything that a later turn reads,
 * because its decision may be refused: state, caches and rates change in `apply` and `change` only. (Counters of work,
 * and memory used within one turn, are not state.) `apply` depends only on its arguments, because a replay calls it
 * again with the same events.
 *
 * The results of a turn (answer, effects, events) are released only after the commit of the turn. A turn may send
 * commands to other actors (`tells`), but cannot wait for their answers.
 */
export interface ActorDefinition<State, Command, Event> {
  readonly kind: string
  /**
   * How the state is stored. `redo`: a commit contains only the events, a snapshot follows later, and the next start
   * applies the events since the snapshot again. `write_through`: the records of a turn are in the same commit as its
   * events.
   */
  readonly persistence: 'redo' | 'write_through'
  /** Creates the state from the stored records by name. A `redo` actor has none: it wakes so if it has no snapshot. */
  wake(address: ActorAddress, records: ReadonlyMap<string, unknown>): State
  decide(state: State, command: Command, turn: Turn): Decision<Event>
  /**
   * Applies one event of this actor to the state. The offset is the position of the event in the stream of the tenant.
   */
  apply(state: State, event: Event, offset: number): void
  /**
   * For `redo` actors: writes the snapshot of the state. Returns false, and writes nothing, if the object of the actor does
   * not exist.
   */
  writeSnapshot?(state: State, writer: ValueWriter): boolean
  /** For `redo` actors: creates the state that `writeSnapshot` wrote. Undefined if the value has another form. */
  readSnapshot?(address: ActorAddress, reader: ValueReader): State | undefined
  /**
   * The ids of the shared records that a snapshot refers to. A shared record stays stored while a stored snapshot or a
   * stored event refers to it.
   */
  sharedIn?(snapshot: unknown): readonly string[]
  /**
   * For `redo` actors: the id of the actor of an event, from its type and names; undefined if the event belongs to
   * another kind of actor.
   */
  concerns?(event: Event): string | undefined
  /** The index entry that the commit of an event adds or removes. Called when the offset of the event is known. */
  indexOf?(event: Event, offset: number): IndexChange | undefined
  /** Applies a change that is not an event. The changes of a written-through actor are its records. */
  change?(state: State, change: unknown): void
  /**
   * For written-through actors: a record was stored. Called after the commit of a turn, for each record of the turn in
   * order, before the effects of the turn. Also called on a node that applies the commits of another one. Not called
   * when the server starts and reads all records. This method must not read the actor, which may have newer records
   * that are not stored.
   */
  recordStored?(address: ActorAddress, change: RecordChange): void
  /**
   * If false, the object of the actor does not exist, and `System.peek` and `System.wake` return undefined. Default:
   * true.
   */
  exists?(state: State): boolean
  /** If false, an idle activation stays in memory. Default: true. */
  isForgettable?(state: State): boolean
  /**
   * Versions and migrations of stored records by name: '' is the snapshot, 'role/*' all names that begin with 'role/',
   * '*' all others.
   */
  readonly formats: Readonly<Record<string, RecordFormat>>
  /**
   * For written-through kinds with very many actors: all names of records that an actor can have. The names of stored
   * records are then neither read at the start nor tracked, which saves 350 B an actor; an activation looks up each
   * name of this list. `formats` must have exactly these names: a record with another name would not be found again.
   */
  readonly fixedRecords?: readonly string[]
  /**
   * For written-through kinds with very many actors that get one or two commands: the activation ends after each turn.
   * The next turn reads the pending or stored records.
   */
  readonly isBrief?: true
}

/**
 * The address of an actor. `id` is unique within kind and tenant. `Seen` is the type of the state that `System.peek`
 * returns, `Command` the type of the actor's commands.
 */
export interface ActorAddress<Seen = unknown, Command = unknown> {
  readonly kind: string
  readonly tenant: string
  readonly id: string
  /** For types only; no address has it. A method, so that the address of one kind is also an `ActorAddress`. */
  [carried]?(command: Command): Seen
}

declare const carried: unique symbol

/**
 * The version of a stored record. Older records are upgraded step by step: `upgrades[n]` converts version n to n + 1. A
 * newer version is refused: a newer release wrote it.
 */
export interface RecordFormat {
  readonly name: string
  readonly version: number
  readonly upgrades: Readonly<Record<number, (value: unknown) => unknown>>
}

/** Input of a turn in addition to the state and the command. */
export interface Turn {
  /** The tenant of the actor. */
  readonly tenant: string
  /** Unix milliseconds, the same for the whole turn. */
  readonly now: number
  random(byteCount: number): Uint8Array
  /** When the next reminder is due, Unix ms; null for never. */
  reminder(): number | null
}

export type Decision<Event> = Recorded<Event> | Refused | Answered

/** A change to store. The answer is released after the commit. */
export interface Recorded<Event> {
  readonly type: 'record'
  readonly events: readonly Event[]
  /**
   * For `redo` actors: changes that are not events, applied before the events. The next snapshot stores them, and a
   * crash before it loses them.
   */
  readonly changes?: readonly unknown[]
  /** The records to store. For a written-through actor, they are also the changes of its state, applied before the events. */
  readonly records?: readonly RecordChange[]
  readonly indexes?: readonly IndexChange[]
  readonly shared?: readonly SharedRecord[]
  /** For `redo` actors: the commit also contains the snapshot. */
  readonly isCheckpointed?: boolean
  readonly tells?: readonly Tell[]
  /** Run after the commit, in order, never during a replay. Dropped if the commit fails. */
  readonly effects?: readonly (() => void)[]
  /** When the next reminder is due, Unix ms; null for never. Absent if it does not change. */
  readonly reminder?: number | null
  readonly answer?: unknown
}

export interface Refused {
  readonly type: 'refuse'
  readonly problem: Problem
}

/** No change. The answer still waits for the commits that it may reflect. */
export interface Answered {
  readonly type: 'answer'
  readonly value: unknown
}

/** A named record of the actor; `null` deletes it. The value is packed synchronously and may change afterwards. */
export interface RecordChange {
  readonly name: string
  readonly value: unknown
}

/** An entry of an index of the tenant, to add (`isPresent`) or to remove. Entries have no values; scans find them. */
export interface IndexChange {
  readonly index: string
  readonly entry: string
  readonly isPresent: boolean
}

/** A record that belongs to no actor. Its id is derived from its content, so the value of an id never changes. */
export interface SharedRecord {
  readonly kind: 'shape'
  readonly id: string
  readonly value: unknown
}

/** A command to another actor. Plain data, because it may be stored before delivery. */
export interface Tell {
  readonly to: ActorAddress
  readonly command: unknown
}

/** A command, from a table with the fields of each command by its type. */
export type CommandOf<Commands, Type extends keyof Commands = keyof Commands> = {
  [Each in Type]: { readonly type: Each } & Commands[Each]
}[Type]

/** In a table of commands: a command without fields. */
export type NoFields = unknown

export interface Question<Command> {
  readonly to: ActorAddress<unknown, Command>
  readonly command: Command
  /** The weight of the command while it waits for its commit. */
  readonly bytes?: number
}

/** Receives exactly one answer or refusal: after the commits that it may reflect, or at once if no turn could run. */
export interface Responder {
  answered(value: unknown): void
  refused(problem: Problem): void
  /**
   * Called before `turn` returns, if the turn ended with a temporary refusal; `refused` follows after the commit. A
   * caller that numbers its commands must send none after the refused one.
   */
  refusing?(problem: Problem): void
}

export function record<Event>(
  events: readonly Event[],
  more: Omit<Recorded<Event>, 'type' | 'events'> = {},
): Recorded<Event> {
  return { type: 'record', events, ...more }
}

/** The effects of a turn, with the calls of `recordStored` for its records before them. */
export function effectsOf<State, Command, Event>(
  definition: ActorDefinition<State, Command, Event>,
  address: ActorAddress,
  { records, effects }: Recorded<Event>,
): Recorded<Event>['effects'] {
  if (!definition.recordStored || !records) return effects
  return [...records.map((change) => () => definition.recordStored?.(address, change)), ...(effects ?? [])]
}

/** The changes of indexes of a turn. `first`: the offset of its first event. */
export function indexesOf<State, Command, Event>(
  { indexOf }: ActorDefinition<State, Command, Event>,
  { events, indexes = noIndexes }: Recorded<Event>,
  first: number,
): readonly IndexChange[] {
  let more: IndexChange[] | undefined
  for (let at = 0; indexOf && at < events.length; at++) {
    const change = indexOf(events[at] as Event, first + at)
    if (!change) continue
    more ??= [...indexes]
    more.push(change)
  }
  return more ?? indexes
}

const noIndexes: readonly IndexChange[] = []

export function refuse(problem: Problem): Refused {
  return { type: 'refuse', problem }
}

export function answer(value: unknown): Answered {
  return { type: 'answer', value }
}

/** The types make sure that the actor takes the command. */
export function tell<const Command>(to: ActorAddress<unknown, Command>, command: Command): Tell {
  return { to, command }
}

export function addressKey(address: ActorAddress): string {
  return `${address.kind}/${address.tenant}/${address.id}`
}

/** The inverse of `addressKey`. */
export function addressFrom(key: string): ActorAddress {
  const [kind = '', tenant = '', id = ''] = key.split('/')
  return { kind, tenant, id }
}
