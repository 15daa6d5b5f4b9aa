import { Activation, type AnyDefinition } from '#runtime/activation'
import type { ActorAddress } from '#runtime/actor'
import { addressKey } from '#runtime/actor'
import { Awake } from '#runtime/awake'
import type { Gate } from '#runtime/gate'
import type { Journal } from '#runtime/journal'
import { StreamHead } from '#runtime/stream-head'

/** What a snapshot is stored as: the state, and the last event it holds. */
interface StoredSnapshot {
  readonly offset: number
  readonly state: unknown
}

/**
 * Which actors are awake. Waking is synchronous: records are read at once, what waits at the gate lies over what is
 * stored, and events that no snapshot holds yet are applied again.
 */
export class Registry<Event> {
  readonly #definitions: ReadonlyMap<string, AnyDefinition<Event>>
  readonly #redoDefinitions: readonly AnyDefinition<Event>[]
  readonly #journal: Journal<Event>
  readonly #heads = new Map<string, StreamHead<Event>>()
  readonly #awake = new Awake<Event>()
  /** Names of the records of written-through actors, by actor: they are found at the start and kept since. */
  readonly #recordNames = new Map<string, Set<string>>()
  #gate: Gate<Event> | undefined
  #sweep: Iterator<Activation<Event>> | undefined

  constructor(definitions: readonly AnyDefinition<Event>[], journal: Journal<Event>) {
    this.#definitions = new Map(definitions.map((definition) => [definition.kind, definition]))
    this.#redoDefinitions = definitions.filter((definition) => definition.rest === 'redo')
    this.#journal = journal
  }

  /** The two know each other: waking looks at what waits there. */
  attach(gate: Gate<Event>): void {
    this.#gate = gate
  }

  /** How many written-through actors' records are remembered by name. */
  get namedCount(): number {
    return this.#recordNames.size
  }

  get awakeCount(): number {
    return this.#awake.size
  }

  definition(kind: string): AnyDefinition<Event> {
    const definition = this.#definitions.get(kind)
    if (!definition) throw new Error(`no actor is called ${kind}`)
    return definition
  }

  get redoDefinitions(): readonly AnyDefinition<Event>[] {
    return this.#redoDefinitions
  }

  head(tenant: string): StreamHead<Event> {
    let head = this.#heads.get(tenant)
    if (!head) {
      head = new StreamHead(tenant, 0)
      this.#heads.set(tenant, head)
    }
    return head
  }

  heads(): Iterable<StreamHead<Event>> {
    return this.#heads.values()
  }

  setHead(tenant: string, last: number): StreamHead<Event> {
    const head = new StreamHead<Event>(tenant, last)
    this.#heads.set(tenant, head)
    return head
  }

  awake(address: ActorAddress): Activation<Event> | undefined {
    return this.#awake.get(address)
  }

  wake(address: ActorAddress): Activation<Event> {
    const awake = this.#awake.get(address)
    if (awake) return awake
    const activation = this.#revive(address)
    this.#awake.add(activation)
    this.head(address.tenant).redo.succeed(activation)
    return activation
  }

  /** An activation for looking only: the one awake, or one that is forgotten at once. */
  look(address: ActorAddress): Activation<Event> {
    return this.#awake.get(address) ?? this.#revive(address)
  }

  /** Ends a body. Its unsaved events stay queued, so that the next one is made of them. */
  kill(activation: Activation<Event>): void {
    activation.isAlive = false
    this.#awake.delete(activation)
    this.head(activation.tenant).redo.died(activation)
  }

  forgetAll(): void {
    for (const activation of this.#awake) activation.isAlive = false
    this.#awake.clear()
    this.#recordNames.clear()
    this.#heads.clear()
    this.#sweep = undefined
  }

  /** A written-through actor has this record, or has it no more. */
  knowRecord(address: ActorAddress, name: string, isThere: boolean): void {
    if (this.definition(address.kind).fixedRecords) return
    const key = addressKey(address)
    const names = this.#recordNames.get(key)
    if (isThere) {
      if (names) names.add(name)
      else this.#recordNames.set(key, new Set([name]))
    } else if (names?.delete(name) && names.size === 0) this.#recordNames.delete(key)
  }

  /** One record as it is now: what waits at the gate lies over what is stored. Undefined when there is none. */
  recordOf(address: ActorAddress, name: string): unknown {
    const records = new Map<string, unknown>()
    this.#read(this.definition(address.kind), address, name, records)
    return records.get(name)
  }

  /** Ends all bodies of a tenant. Nothing of them is saved, and their events are not applied again. */
  forgetTenant(tenant: string): void {
    for (const activation of this.#awake.deleteTenant(tenant)) activation.isAlive = false
    for (const key of this.#recordNames.keys()) if (key.split('/', 2)[1] === tenant) this.#recordNames.delete(key)
    this.head(tenant).redo.clear()
  }

  /** Applies a stored event at the start: outcomes only, nothing is decided again. */
  replay(address: ActorAddress, event: Event, offset: number): void {
    const activation = this.wake(address)
    if (offset <= activation.lastOffset) return
    activation.definition.apply(activation.state, event, offset)
    activation.lastOffset = offset
    const head = this.head(address.tenant)
    head.redo.add(activation, offset, head.bytesTaken)
  }

  /** The snapshot as it is now, packed. Null when there is nothing to keep. */
  snapshot(activation: Activation<Event>): Uint8Array | null {
    const { definition, state, lastOffset } = activation
    if (definition.writeSnapshot) {
      const writer = this.#journal.beginRecord(formatOf(definition, ''))
      writer.object(2)
      writer.text('offset')
      writer.number(lastOffset)
      writer.text('state')
      return definition.writeSnapshot(state, writer) ? this.#journal.endRecord() : null
    }
    const snapshot = definition.snapshot?.(state)
    if (snapshot === undefined) return null
    return this.#journal.pack(formatOf(definition, ''), {
      offset: lastOffset,
      state: snapshot,
    } satisfies StoredSnapshot)
  }

  pack(activation: Activation<Event>, name: string, value: unknown): Uint8Array {
    return this.#journal.pack(formatOf(activation.definition, name), value)
  }

  recordKey(address: ActorAddress, name: string): string {
    return this.#journal.recordKey(address, name)
  }

  /** The next activations to look at, going round and round. */
  *nextForSweep(countMax: number): Iterable<Activation<Event>> {
    for (let count = 0; count < countMax; count++) {
      this.#sweep ??= this.#awake[Symbol.iterator]()
      const next = this.#sweep.next()
      if (next.done) {
        this.#sweep = undefined
        return
      }
      yield next.value
    }
  }

  /** Ends the body of something that is not there, so that asking for names costs no memory. */
  forgetNothing(activation: Activation<Event>): void {
    const { definition, state } = activation
    if (definition.rest !== 'redo' || !activation.isAlive || activation.isUnsaved) return
    if (definition.snapshot?.(state) === undefined) this.forget(activation)
  }

  forget(activation: Activation<Event>): void {
    activation.isAlive = false
    this.#awake.delete(activation)
  }

  #revive(address: ActorAddress): Activation<Event> {
    const definition = this.definition(address.kind)
    if (definition.rest === 'written_through') {
      const names = definition.fixedRecords ?? this.#recordNames.get(addressKey(address)) ?? []
      const records = new Map<string, unknown>()
      for (const name of names) this.#read(definition, address, name, records)
      return new Activation(definition, address, definition.wake(address, records), 0)
    }
    const records = new Map<string, unknown>()
    this.#read(definition, address, '', records)
    const snapshot = records.get('') as StoredSnapshot | undefined
    if (snapshot) records.set('', snapshot.state)
    const activation = new Activation(definition, address, definition.wake(address, records), snapshot?.offset ?? 0)
    this.#redo(activation)
    return activation
  }

  #read(definition: AnyDefinition<Event>, address: ActorAddress, name: string, into: Map<string, unknown>): void {
    const key = this.#journal.recordKey(address, name)
    const waiting = this.#gate?.waiting(key)
    const bytes = waiting === undefined ? this.#journal.get(key) : waiting
    if (bytes) into.set(name, this.#journal.unpack(formatOf(definition, name), bytes))
  }

  #redo(activation: Activation<Event>): void {
    const { definition, tenant, id } = activation
    const head = this.head(tenant)
    const from = head.redo.unsavedFrom(activation.address)
    if (from === undefined) return
    const apply = ({ offset, event }: { offset: number; event: Event }) => {
      if (offset <= activation.lastOffset || definition.concerns?.(event) !== id) return
      definition.apply(activation.state, event, offset)
      activation.lastOffset = offset
    }
    for (const placed of this.#journal.eventsSince(tenant, from)) {
      if (placed.offset <= head.committed) apply(placed)
    }
    for (const placed of this.#gate?.waitingEvents(head) ?? []) apply(placed)
  }
}

function formatOf<Event>({ kind, formats }: AnyDefinition<Event>, name: string) {
  const format = formats[name] ?? formats[`${name.slice(0, name.indexOf('/') + 1)}*`] ?? formats['*']
  if (!format) throw new Error(`${kind} keeps no record called '${name}'`)
  return format
}
