import type { Activation } from '#runtime/activation'
import type { ActorAddress } from '#runtime/actor'

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
