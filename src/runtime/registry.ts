import { Activation, ActivationIndex, type AnyDefinition } from '#runtime/activation'
import { type ActorAddress, addressKey } from '#runtime/actor'
import type { Gate } from '#runtime/gate'
import type { Journal } from '#runtime/journal'
import { StorageFailure } from '#runtime/storage'
import { StreamHead } from '#runtime/stream-head'

/** The stored form of a snapshot: the state, and the last event that it includes. */
interface StoredSnapshot {
  readonly offset: number
  readonly state: unknown
}

/** Null or undefined if there is no such record. */
type Bytes = Uint8Array | null | undefined

/**
 * The activations of actors. Activation is synchronous: it reads the records (pending ones before stored ones), and
 * applies events that no snapshot includes.
 */
export class Registry<Event> {
  readonly #definitions: ReadonlyMap<string, AnyDefinition<Event>>
  readonly redoDefinitions: readonly AnyDefinition<Event>[]
  readonly #journal: Journal<Event>
  readonly #heads = new Map<string, StreamHead<Event>>()
  readonly #activations = new ActivationIndex<Event>()
  /**
   * The names of the records of each written-through actor without `fixedRecords`. Read when the server starts, then
   * updated.
   */
  readonly #recordNames = new Map<string, Set<string>>()
  #gate: Gate<Event> | undefined
  #sweep: Iterator<Activation<Event>> | undefined

  constructor(definitions: readonly AnyDefinition<Event>[], journal: Journal<Event>) {
    this.#definitions = new Map(definitions.map((definition) => [definition.kind, definition]))
    this.redoDefinitions = definitions.filter((definition) => definition.persistence === 'redo')
    this.#journal = journal
  }

  /** Sets the gate, whose pending records are read. The two depend on each other. */
  attach(gate: Gate<Event>): void {
    this.#gate = gate
  }

  /** How many written-through actors have tracked records. */
  get namedCount(): number {
    return this.#recordNames.size
  }

  /** Counts one by one; only tests need the number. */
  get awakeCount(): number {
    return [...this.#activations].length
  }

  get kinds(): Iterable<string> {
    return this.#definitions.keys()
  }

  awakeCountOf(kind: string): number {
    return this.#activations.sizeOf(kind)
  }

  definition(kind: string): AnyDefinition<Event> {
    const definition = this.#definitions.get(kind)
    if (!definition) throw new Error(`there is no kind of actor named ${kind}`)
    return definition
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
    return this.#activations.get(address)
  }

  wake(address: ActorAddress): Activation<Event> {
    const awake = this.#activations.get(address)
    if (awake) return awake
    return this.#add(this.#revive(address))
  }

  /** Whether a tenant has no activations of a kind. */
  isAsleep(kind: string, tenant: string): boolean {
    return this.#activations.isEmptyOf(kind, tenant)
  }

  /**
   * Activates a `redo` actor from its stored snapshot while the server starts, when nothing is pending. The caller must
   * ensure that the actor is not active. A check here would make waking a million actors take 1.5 times as long.
   */
  wakeFrom(address: ActorAddress, snapshot: Uint8Array): Activation<Event> {
    return this.#add(this.#reviveFrom(this.definition(address.kind), address, snapshot))
  }

  /** An activation for reads only: the present one, or one that is not kept. */
  peek(address: ActorAddress): Activation<Event> {
    return this.#activations.get(address) ?? this.#revive(address)
  }

  /** Ends an activation. Its unsaved events stay queued for the next activation. */
  kill(activation: Activation<Event>): void {
    activation.isAlive = false
    this.#activations.delete(activation)
    this.head(activation.tenant).redo.died(activation)
  }

  forgetAll(): void {
    for (const activation of this.#activations) activation.isAlive = false
    this.#activations.clear()
    this.#recordNames.clear()
    this.#heads.clear()
    this.#sweep = undefined
  }

  /** Another node stored a snapshot of a redo actor, which includes all events that were applied here. */
  snapshotStored(address: ActorAddress): void {
    const awake = this.#activations.get(address)
    if (awake) this.forget(awake)
    this.head(address.tenant).redo.saved(address, awake)
  }

  /** Tracks whether a written-through actor has this record. */
  trackRecord(address: ActorAddress, name: string, isThere: boolean): void {
    if (this.definition(address.kind).fixedRecords) return
    const key = addressKey(address)
    const names = this.#recordNames.get(key)
    if (isThere) {
      if (names) names.add(name)
      else this.#recordNames.set(key, new Set([name]))
    } else if (names?.delete(name) && names.size === 0) this.#recordNames.delete(key)
  }

  /** The present value of a record, pending or stored. Undefined if there is none. */
  recordOf(address: ActorAddress, name: string): unknown {
    const definition = this.definition(address.kind)
    const bytes = this.#bytes(address, name)
    return bytes ? this.#journal.unpack(formatOf(definition, name), bytes) : undefined
  }

  /** Ends all activations of a tenant, without snapshots. Later activations do not apply their unsaved events. */
  forgetTenant(tenant: string): void {
    for (const activation of this.#activations.deleteTenant(tenant)) activation.isAlive = false
    for (const key of this.#recordNames.keys()) if (key.split('/', 2)[1] === tenant) this.#recordNames.delete(key)
    this.head(tenant).redo.clear()
  }

  /** Applies a stored event, while the server starts or from a commit of another node. Nothing is decided again. */
  replay(activation: Activation<Event>, event: Event, offset: number): void {
    if (offset <= activation.lastOffset) return
    activation.definition.apply(activation.state, event, offset)
    activation.lastOffset = offset
    const head = this.head(activation.tenant)
    head.redo.add(activation, offset, head.bytesTaken)
  }

  /** The packed present snapshot. Null if there is nothing to store. */
  snapshot(activation: Activation<Event>): Uint8Array | null {
    const { definition, state, lastOffset } = activation
    const writer = this.#journal.beginRecord(formatOf(definition, ''))
    writer.object(2)
    writer.text('offset')
    writer.number(lastOffset)
    writer.text('state')
    return definition.writeSnapshot?.(state, writer) ? this.#journal.endRecord() : null
  }

  /** The ids of the shared records that a stored snapshot refers to. */
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

  /** Whether the sweep is complete or has not begun. */
  get isSwept(): boolean {
    return this.#sweep === undefined
  }

  /** The next activations of the sweep, which repeats for ever. */
  *nextForSweep(countMax: number): Iterable<Activation<Event>> {
    for (let count = 0; count < countMax; count++) {
      this.#sweep ??= this.#activations[Symbol.iterator]()
      const next = this.#sweep.next()
      if (next.done) {
        this.#sweep = undefined
        return
      }
      yield next.value
    }
  }

  /**
   * Ends an activation of a brief kind, or of a `redo` actor whose object does not exist: commands for unknown names
   * must leave nothing in memory.
   */
  releaseIfEmpty(activation: Activation<Event>): void {
    const { definition, state } = activation
    if (definition.isBrief) this.forget(activation)
    if (definition.persistence !== 'redo' || !activation.isAlive || activation.isUnsaved) return
    if (definition.exists?.(state) === false) this.forget(activation)
  }

  forget(activation: Activation<Event>): void {
    activation.isAlive = false
    this.#activations.delete(activation)
  }

  #add(activation: Activation<Event>): Activation<Event> {
    this.#activations.add(activation)
    this.head(activation.tenant).redo.succeed(activation)
    return activation
  }

  #revive(address: ActorAddress): Activation<Event> {
    const definition = this.definition(address.kind)
    if (definition.persistence === 'write_through') {
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
    const activation = snapshot
      ? (this.#readSnapshot(definition, address, snapshot) ?? this.#readUnpacked(definition, address, snapshot))
      : new Activation(definition, address, definition.wake(address, new Map()), 0)
    this.#redo(activation)
    return activation
  }

  /** The inverse of `snapshot`. Undefined for another version, and for bytes that `snapshot` did not write. */
  #readSnapshot(
    definition: AnyDefinition<Event>,
    address: ActorAddress,
    bytes: Uint8Array,
  ): Activation<Event> | undefined {
    return this.#journal.readRecord(formatOf(definition, ''), bytes, (reader) => {
      if (reader.object() !== 2 || !reader.passText('offset')) return undefined
      const offset = reader.number()
      const state = reader.passText('state') ? definition.readSnapshot?.(address, reader) : undefined
      return state === undefined ? undefined : new Activation(definition, address, state, offset)
    })
  }

  /**
   * Reads a snapshot of an older version, or in a form that only `unpack` reads: packs it again first.
   * @throws StorageFailure `damaged`
   */
  #readUnpacked(definition: AnyDefinition<Event>, address: ActorAddress, bytes: Uint8Array): Activation<Event> {
    const format = formatOf(definition, '')
    const upgraded = this.#journal.pack(format, this.#journal.unpack(format, bytes))
    const activation = this.#readSnapshot(definition, address, upgraded)
    if (!activation) throw new StorageFailure('damaged', `a stored ${format.name} cannot be read`)
    return activation
  }

  /** The bytes of a record, pending or stored. */
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

export function formatOf<Event>({ kind, formats }: AnyDefinition<Event>, name: string) {
  const format = formats[name] ?? formats[`${name.slice(0, name.indexOf('/') + 1)}*`] ?? formats['*']
  if (!format) throw new Error(`${kind} keeps no record called '${name}'`)
  return format
}
