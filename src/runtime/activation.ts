import type { ActorAddress, ActorDefinition } from '#runtime/actor'

/** A definition whose types are known only to itself. */
export type AnyDefinition<Event> = ActorDefinition<unknown, unknown, Event>

/**
 * An actor's body in memory. Whoever keeps a reference asks `isAlive` before use: a turn that throws, a failed commit
 * and idleness each end an activation, and the next question wakes another one.
 *
 * There are as many as there are devices that report: so its parts are fields of its own and no objects.
 */
export class Activation<Event> {
  readonly definition: AnyDefinition<Event>
  readonly tenant: string
  readonly id: string
  state: unknown
  isAlive = true
  /** Something changed that neither an event nor a record holds: the next snapshot does. */
  isChanged = false
  /** The last event applied; 0 before the first. */
  lastOffset: number
  #touchedAtS = 0
  /** Its first event that no snapshot holds; 0 when every one is held. Kept by `RedoQueue`, as are the others below. */
  unsavedFrom = 0
  /** The stream's length in bytes, as estimated, when it was queued. */
  bytesBefore = 0
  /** Its neighbours in the queue. */
  queuedBefore: Activation<Event> | undefined = undefined
  queuedBehind: Activation<Event> | undefined = undefined

  constructor(definition: AnyDefinition<Event>, { tenant, id }: ActorAddress, state: unknown, lastOffset: number) {
    this.definition = definition
    this.tenant = tenant
    this.id = id
    this.state = state
    this.lastOffset = lastOffset
  }

  /** World.monotonic of the last turn, rounded down to a second: in whole seconds it is no object of its own. */
  get touchedAtMs(): number {
    return this.#touchedAtS * 1000
  }

  set touchedAtMs(ms: number) {
    this.#touchedAtS = (ms / 1000) | 0
  }

  get address(): ActorAddress {
    return { kind: this.definition.kind, tenant: this.tenant, id: this.id }
  }

  /** Whether its snapshot lags behind its events. */
  get isUnsaved(): boolean {
    return this.unsavedFrom > 0
  }
}

/**
 * Activations by address. By kind, then tenant, then id, so that finding one builds no text and keeping one keeps none:
 * ids are there anyway.
 */
export class Awake<Event> {
  readonly #kinds = new Map<string, Map<string, Map<string, Activation<Event>>>>()
  #size = 0

  get size(): number {
    return this.#size
  }

  get({ kind, tenant, id }: ActorAddress): Activation<Event> | undefined {
    return this.#kinds.get(kind)?.get(tenant)?.get(id)
  }

  sizeOf(kind: string): number {
    let size = 0
    for (const activations of this.#kinds.get(kind)?.values() ?? []) size += activations.size
    return size
  }

  isEmptyOf(kind: string, tenant: string): boolean {
    return (this.#kinds.get(kind)?.get(tenant)?.size ?? 0) === 0
  }

  /** There must be none of its address. */
  add(activation: Activation<Event>): void {
    const { kind } = activation.definition
    let tenants = this.#kinds.get(kind)
    if (!tenants) {
      tenants = new Map()
      this.#kinds.set(kind, tenants)
    }
    let activations = tenants.get(activation.tenant)
    if (!activations) {
      activations = new Map()
      tenants.set(activation.tenant, activations)
    }
    activations.set(activation.id, activation)
    this.#size++
  }

  /** Does nothing when another one stands at its address by now. */
  delete(activation: Activation<Event>): void {
    const activations = this.#kinds.get(activation.definition.kind)?.get(activation.tenant)
    if (activations?.get(activation.id) !== activation) return
    activations.delete(activation.id)
    this.#size--
  }

  /** Takes all of a tenant out, and gives them. */
  deleteTenant(tenant: string): readonly Activation<Event>[] {
    const deleted: Activation<Event>[] = []
    for (const tenants of this.#kinds.values()) {
      const activations = tenants.get(tenant)
      if (!activations) continue
      for (const activation of activations.values()) deleted.push(activation)
      tenants.delete(tenant)
      // Who goes through them at the moment is through.
      activations.clear()
    }
    this.#size -= deleted.length
    return deleted
  }

  clear(): void {
    this.#kinds.clear()
    this.#size = 0
  }

  /** All of them; goes on properly when some come and go meanwhile. */
  *[Symbol.iterator](): Iterator<Activation<Event>> {
    for (const tenants of this.#kinds.values()) for (const activations of tenants.values()) yield* activations.values()
  }
}
