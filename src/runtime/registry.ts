import { Activation, type AnyDefinition, Awake } from '#runtime/activation'
import { type ActorAddress, addressKey } from '#runtime/actor'
import type { Gate } from '#runtime/gate'
import type { Journal } from '#runtime/journal'
import { StreamHead } from '#runtime/stream-head'

/** What a snapshot is stored as: the state, and the last event it holds. */
interface StoredSnapshot {
  readonly offset: number
  readonly state: unknown
}

/** Null or undefined: there is no such record. */
type Bytes = Uint8Array | null | undefined

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

  get kinds(): Iterable<string> {
    return this.#definitions.keys()
  }

  awakeCountOf(kind: string): number {
    return this.#awake.sizeOf(kind)
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
    return this.#add(this.#revive(address))
  }

  /** Whether nobody of a kind is awake. */
  isAsleep(kind: string, tenant: string): boolean {
    return this.#awake.isEmptyOf(kind, tenant)
  }

  /**
   * Wakes an actor that rests by redo and whose stored snapshot was just read: at the start, when nothing waits at the gate.
   * It must not be awake; with a million of them asking that costs as much as half of the rest.
   */
  wakeFrom(address: ActorAddress, snapshot: Uint8Array): Activation<Event> {
    return this.#add(this.#reviveFrom(this.definition(address.kind), address, snapshot))
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
    const definition = this.definition(address.kind)
    const bytes = this.#bytes(address, name)
    return bytes ? this.#journal.unpack(formatOf(definition, name), bytes) : undefined
  }

  /** Ends all bodies of a tenant. Nothing of them is saved, and their events are not applied again. */
  forgetTenant(tenant: string): void {
    for (const activation of this.#awake.deleteTenant(tenant)) activation.isAlive = false
    for (const key of this.#recordNames.keys()) if (key.split('/', 2)[1] === tenant) this.#recordNames.delete(key)
    this.head(tenant).redo.clear()
  }

  /** Applies a stored event at the start: outcomes only, nothing is decided again. */
  replay(address: ActorAddress, event: Event, offset: number): void {
    this.replayOn(this.wake(address), event, offset)
  }

  /** The same, for who has the activation at hand. */
  replayOn(activation: Activation<Event>, event: Event, offset: number): void {
    if (offset <= activation.lastOffset) return
    activation.definition.apply(activation.state, event, offset)
    activation.lastOffset = offset
    const head = this.head(activation.tenant)
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

  /** The ids of the shared records that the stored snapshot of an actor names. */
  sharedIn(kind: string, snapshot: Uint8Array): readonly string[] {
    const definition = this.definition(kind)
    const { state } = this.#journal.unpack(formatOf(definition, ''), snapshot) as StoredSnapshot
    return definition.sharedIn?.(state) ?? []
  }

  pack(activation: Activation<Event>, name: string, value: unknown): Uint8Array {
    return this.#journal.pack(formatOf(activation.definition, name), value)
  }

  recordKey(address: ActorAddress, name: string): string {
    return this.#journal.recordKey(address, name)
  }

  /** Whether nobody is gone round, or all were just looked at. */
  get isSwept(): boolean {
    return this.#sweep === undefined
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

  /**
   * Ends the body of something that is not there, so that asking for names costs no memory; and of what is not worth
   * keeping.
   */
  forgetNothing(activation: Activation<Event>): void {
    const { definition, state } = activation
    if (definition.isBrief) this.forget(activation)
    if (definition.rest !== 'redo' || !activation.isAlive || activation.isUnsaved) return
    if (definition.snapshot?.(state) === undefined) this.forget(activation)
  }

  forget(activation: Activation<Event>): void {
    activation.isAlive = false
    this.#awake.delete(activation)
  }

  #add(activation: Activation<Event>): Activation<Event> {
    this.#awake.add(activation)
    this.head(activation.tenant).redo.succeed(activation)
    return activation
  }

  #revive(address: ActorAddress): Activation<Event> {
    const definition = this.definition(address.kind)
    if (definition.rest === 'written_through') {
      const names = definition.fixedRecords ?? this.#recordNames.get(addressKey(address)) ?? []
      const records = new Map<string, unknown>()
      for (const name of names) {
        const bytes = this.#bytes(address, name)
        if (bytes) records.set(name, this.#journal.unpack(formatOf(definition, name), bytes))
      }
      return new Activation(definition, address, definition.wake(address, records), 0)
    }
    return this.#reviveFrom(definition, address, this.#bytes(address, ''))
  }

  #reviveFrom(definition: AnyDefinition<Event>, address: ActorAddress, snapshot: Bytes): Activation<Event> {
    const read = snapshot && this.#readSnapshot(definition, address, snapshot)
    const activation = read ?? this.#unpackSnapshot(definition, address, snapshot)
    this.#redo(activation)
    return activation
  }

  /** Undone by `snapshot`, where that writes piece by piece. */
  #readSnapshot(
    definition: AnyDefinition<Event>,
    address: ActorAddress,
    bytes: Uint8Array,
  ): Activation<Event> | undefined {
    if (!definition.readSnapshot) return undefined
    return this.#journal.readRecord(formatOf(definition, ''), bytes, (reader) => {
      if (reader.object() !== 2 || !reader.passText('offset')) return undefined
      const offset = reader.number()
      const state = reader.passText('state') ? definition.readSnapshot?.(address, reader) : undefined
      return state === undefined ? undefined : new Activation(definition, address, state, offset)
    })
  }

  #unpackSnapshot(definition: AnyDefinition<Event>, address: ActorAddress, snapshot: Bytes): Activation<Event> {
    const records = new Map<string, unknown>()
    if (!snapshot) return new Activation(definition, address, definition.wake(address, records), 0)
    const { offset, state } = this.#journal.unpack(formatOf(definition, ''), snapshot) as StoredSnapshot
    records.set('', state)
    return new Activation(definition, address, definition.wake(address, records), offset)
  }

  /** Of a record: what waits at the gate, else what is stored. */
  #bytes(address: ActorAddress, name: string): Bytes {
    const key = this.#journal.recordKey(address, name)
    const waiting = this.#gate?.waiting(key)
    return waiting === undefined ? this.#journal.get(key) : waiting
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
