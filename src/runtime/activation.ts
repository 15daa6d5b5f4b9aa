import type { ActorAddress, ActorDefinition } from '#runtime/actor'

export type AnyDefinition<Event> = ActorDefinition<unknown, unknown, Event>

/**
 * The state of an actor in memory. Anyone who keeps a reference must check `isAlive` before use: an exception in a
 * turn, a failed commit or idleness ends an activation, and the next command creates another.
 *
 * There is one for each active device. To save memory, its place in the redo queue is kept in its own fields.
 */
export class Activation<Event> {
  readonly definition: AnyDefinition<Event>
  readonly tenant: string
  readonly id: string
  state: unknown
  isAlive = true
  /** The state has changes that are in no event and no record: only the next snapshot stores them. */
  isChanged = false
  /** The offset of the last applied event; 0 before the first. */
  lastOffset: number
  #touchedAtS = 0
  /**
   * The offset of the first event that no snapshot includes; 0 if there is none. Set by `RedoQueue`, like the fields
   * below.
   */
  unsavedFrom = 0
  /** The estimated length of the stream in bytes when the actor was queued. */
  bytesBefore = 0
  /** The neighbours in the redo queue. */
  queuedBefore: Activation<Event> | undefined = undefined
  queuedBehind: Activation<Event> | undefined = undefined

  constructor(definition: AnyDefinition<Event>, { tenant, id }: ActorAddress, state: unknown, lastOffset: number) {
    this.definition = definition
    this.tenant = tenant
    this.id = id
    this.state = state
    this.lastOffset = lastOffset
  }

  /**
   * World.monotonic of the sweep before the last turn; 0 before the first turn. Kept in whole seconds, because a small
   * integer needs no heap object.
   */
  get touchedAtMs(): number {
    return this.#touchedAtS * 1000
  }

  set touchedAtMs(ms: number) {
    this.#touchedAtS = (ms / 1000) | 0
  }

  get address(): ActorAddress {
    return { kind: this.definition.kind, tenant: this.tenant, id: this.id }
  }

  /** Whether events are missing in the stored snapshot. */
  get isUnsaved(): boolean {
    return this.unsavedFrom > 0
  }
}

/** Activations by kind, then tenant, then id, so that no combined keys must be created or kept. */
export class ActivationIndex<Event> {
  readonly #kinds = new Map<string, Map<string, Map<string, Activation<Event>>>>()

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

  /** The address must not have another activation. */
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
  }

  /** Does nothing if another activation has the address by now. */
  delete(activation: Activation<Event>): void {
    const activations = this.#kinds.get(activation.definition.kind)?.get(activation.tenant)
    if (activations?.get(activation.id) === activation) activations.delete(activation.id)
  }

  /** Removes all activations of a tenant, and returns them. */
  deleteTenant(tenant: string): readonly Activation<Event>[] {
    const deleted: Activation<Event>[] = []
    for (const tenants of this.#kinds.values()) {
      const activations = tenants.get(tenant)
      if (!activations) continue
      for (const activation of activations.values()) deleted.push(activation)
      tenants.delete(tenant)
      // An iteration in progress must not yield these activations.
      activations.clear()
    }
    return deleted
  }

  clear(): void {
    this.#kinds.clear()
  }

  /** Iterates over all activations. Changes during the iteration are permitted. */
  *[Symbol.iterator](): Iterator<Activation<Event>> {
    for (const tenants of this.#kinds.values()) for (const activations of tenants.values()) yield* activations.values()
  }
}
