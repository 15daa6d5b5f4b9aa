import type { Problem } from '#model/problem'
import type { ValueReader } from '#runtime/value-reader'
import type { ValueWriter } from '#runtime/value-writer'

/**
 * What an actor is.
 *
 * An actor is one thing with one writer: its state changes only in its own turns, one at a time. A turn is one
 * synchronous run from a command to a decision. `decide` reads and never changes anything that a later turn reads, because
 * its decision may be refused: state, caches and rates change in `apply` and `change` alone. (Counters of work and memory
 * that is used within one turn are not state.) `apply` changes and never reads beyond the event it is given,
 * because replay calls it again with the same events.
 *
 * What a turn says (its answer, its effects, its events) leaves only after the commit that holds it. A turn may tell
 * other actors something; it can never ask one.
 */
export interface ActorDefinition<State, Command, Event> {
  readonly kind: string
  /**
   * How the state rests. `redo`: a commit holds only the events, the snapshot follows when it is convenient; events
   * since the snapshot are applied again at the next start. `written_through`: the records a turn yields are in the
   * same commit as its events.
   */
  readonly rest: 'redo' | 'written_through'
  /** Builds the state from what is stored: records by name; of a `redo` actor the snapshot is named ''. */
  wake(address: ActorAddress, records: ReadonlyMap<string, unknown>): State
  decide(state: State, command: Command, turn: Turn): Decision<Event>
  /** Changes the state by one event of its own. The offset is the event's place in the tenant's stream. */
  apply(state: State, event: Event, offset: number): void
  /** Of `redo` actors: the state as a plain value to store; undefined when there is nothing (any more). */
  snapshot?(state: State): unknown
  /**
   * The same, written piece by piece, of actors there are very many of: to the byte what `snapshot` gives. False, and
   * nothing is written, when there is nothing.
   */
  writeSnapshot?(state: State, writer: ValueWriter): boolean
  /** The ids of the shared records that a snapshot names: they stay stored while it does. */
  sharedIn?(snapshot: unknown): readonly string[]
  /**
   * The state from what `writeSnapshot` wrote, as `wake` makes it. Undefined for anything it would not have written: it is
   * unpacked then, and led to `wake`.
   */
  readSnapshot?(address: ActorAddress, reader: ValueReader): State | undefined
  /**
   * Of `redo` actors: the id of the actor an event belongs to; undefined for events of other kinds of actors. It follows
   * from the event's kind and the names in it.
   */
  concerns?(event: Event): string | undefined
  /** Changes the state by something nobody hears of. */
  change?(state: State, change: unknown): void
  /** False: the actor's subject does not exist, and `System.look` returns undefined. Default: true. */
  isThere?(state: State): boolean
  /** False keeps an idle activation awake. Default: true. */
  isForgettable?(state: State): boolean
  /**
   * Versions and migrations of the stored records, by record name: '' the snapshot, 'role/*' any whose name begins so,
   * '*' any other.
   */
  readonly formats: Readonly<Record<string, RecordFormat>>
  /**
   * Of written-through actors of which there are very many: the names of all the records one can have. Nobody remembers
   * then which of them there are, nor reads their names at a start (350 B an actor); waking asks the store for each.
   * `formats` has one for each of them and no others, so that nothing is recorded that would not be found again.
   */
  readonly fixedRecords?: readonly string[]
  /**
   * Of written-through actors of which very many are asked once or twice: forgotten after each turn. The next one wakes
   * from what waits to be stored, or is.
   */
  readonly isBrief?: true
}

/**
 * Where an actor is found. `id` is unique within kind and tenant. `Seen` is the actor's state as `System.look` returns it,
 * `Command` what the actor takes.
 */
export interface ActorAddress<Seen = unknown, Command = unknown> {
  readonly kind: string
  readonly tenant: string
  readonly id: string
  /** For the compiler only: no address has it. As a method, an address of one kind of actor is also an `ActorAddress`. */
  [carried]?(command: Command): Seen
}

declare const carried: unique symbol

/**
 * The version of a stored record. A record of an older version is led up step by step: `upgrades[n]` makes version
 * n + 1 of version n. One of a newer version is refused: it was written by a newer release.
 */
export interface RecordFormat {
  readonly name: string
  readonly version: number
  readonly upgrades: Readonly<Record<number, (value: unknown) => unknown>>
}

/** What a turn may look at beside the state: the moment, chance, and when it is woken next. */
export interface Turn {
  /** Whose actor it is. */
  readonly tenant: string
  /** Unix milliseconds, the same for the whole turn. */
  readonly now: number
  random(byteCount: number): Uint8Array
  /** When the actor is to be woken, as it was set last, Unix ms; null for never. */
  reminder(): number | null
}

export type Decision<Event> = Recorded<Event> | Refused | Answered

/** Facts to be kept. The answer leaves when they are. */
export interface Recorded<Event> {
  readonly type: 'record'
  readonly events: readonly Event[]
  /**
   * What changes and nobody hears of, applied before the events. Of a written-through actor the records of the same turn
   * keep it; of a `redo` actor the next snapshot does, and a crash before that loses it.
   */
  readonly changes?: readonly unknown[]
  readonly records?: readonly RecordChange[]
  readonly indexes?: readonly IndexChange[]
  readonly shared?: readonly SharedRecord[]
  /** Of `redo` actors: the snapshot rests with this very commit. */
  readonly isCheckpointed?: boolean
  readonly tells?: readonly Tell[]
  /** Run after the commit, in order; never at replay. A refused commit drops them. */
  readonly effects?: readonly (() => void)[]
  /** When to be woken next, Unix ms; null for never. Absent: as it was. */
  readonly reminder?: number | null
  readonly answer?: unknown
}

export interface Refused {
  readonly type: 'refuse'
  readonly problem: Problem
}

/** Nothing changes. The answer still waits for what it may reflect. */
export interface Answered {
  readonly type: 'answer'
  readonly value: unknown
}

/** A named record of the deciding actor; `null` deletes it. The value is packed at once and may change afterwards. */
export interface RecordChange {
  readonly name: string
  readonly value: unknown
}

/** An entry of an index of the tenant: a key without a value, found again by scanning. */
export interface IndexChange {
  readonly index: string
  readonly entry: string
  readonly isPresent: boolean
}

/** A record of no actor, found by its content: the same id always has the same value. */
export interface SharedRecord {
  readonly kind: 'shape'
  readonly id: string
  readonly value: unknown
}

/** Plain data: it may be stored on its way. */
export interface Tell {
  readonly to: ActorAddress
  readonly command: unknown
}

/** `bytes`: of the command, counted while it waits for its commit. */
export interface Question<Command> {
  readonly to: ActorAddress<unknown, Command>
  readonly command: Command
  readonly bytes?: number
}

/** What an asker hears, once, after the gate. */
export interface Asker {
  answered(value: unknown): void
  refused(problem: Problem): void
  /**
   * Told at once, in the turn itself, of a refusal that may be tried again and will be heard after the gate: who numbers
   * what he asks must not ask on behind what was refused.
   */
  refusing?(problem: Problem): void
}

export function record<Event>(
  events: readonly Event[],
  more: Omit<Recorded<Event>, 'type' | 'events'> = {},
): Recorded<Event> {
  return { type: 'record', events, ...more }
}

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

/** Undoes `addressKey`. */
export function addressFrom(key: string): ActorAddress {
  const [kind = '', tenant = '', id = ''] = key.split('/')
  return { kind, tenant, id }
}
