/** An item that waits. */
interface Waiting {
  readonly tenant: string
  /** Unique within the tenant. */
  readonly id: string
}

/**
 * A fair queue: takes tenants in turn, and of each tenant the item that has waited longest. So a tenant with many items
 * does not delay the items of other tenants.
 */
export class RoundRobin<T extends Waiting> {
  /** By tenant id. Contains only tenants with queued items, the next tenant first. */
  readonly #byTenant = new Map<string, Map<string, T>>()
  #size = 0

  get size(): number {
    return this.#size
  }

  has({ tenant, id }: Waiting): boolean {
    return this.#byTenant.get(tenant)?.has(id) ?? false
  }

  of(tenant: string): Iterable<T> {
    return this.#byTenant.get(tenant)?.values() ?? []
  }

  /** Adds the item after all others of the tenant; a queued item keeps its position. */
  add(item: T): void {
    if (this.has(item)) return
    const others = this.#byTenant.get(item.tenant)
    if (others) others.set(item.id, item)
    else this.#byTenant.set(item.tenant, new Map([[item.id, item]]))
    this.#size++
  }

  /**
   * Removes and returns the next item; its tenant moves to the end. Tenants for which `mayTake` is false are skipped.
   */
  take(mayTake: (tenant: string) => boolean = () => true): T | undefined {
    for (const [tenant, waiting] of this.#byTenant) {
      if (!mayTake(tenant)) continue
      for (const item of waiting.values()) {
        waiting.delete(item.id)
        this.#size--
        this.#byTenant.delete(tenant)
        if (waiting.size > 0) this.#byTenant.set(tenant, waiting)
        return item
      }
    }
    return undefined
  }

  remove({ tenant, id }: Waiting): void {
    const waiting = this.#byTenant.get(tenant)
    if (!waiting?.delete(id)) return
    this.#size--
    if (waiting.size === 0) this.#byTenant.delete(tenant)
  }

  forget(tenant: string): void {
    this.#size -= this.#byTenant.get(tenant)?.size ?? 0
    this.#byTenant.delete(tenant)
  }

  clear(): void {
    this.#byTenant.clear()
    this.#size = 0
  }
}
