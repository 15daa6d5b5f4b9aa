import type { Subscriber } from '#notifications/deliverer'

/**
 * A fair queue of subscribers: takes tenants in turn, and of each tenant the subscriber that has waited longest. So the
 * mails of a tenant with many subscribers do not delay those of other tenants.
 */
export class RoundRobin {
  /** By tenant id; only tenants with queued subscribers, the next one first. */
  readonly #byTenant = new Map<string, Map<string, Subscriber>>()
  #size = 0

  get size(): number {
    return this.#size
  }

  has({ tenant, id }: Subscriber): boolean {
    return this.#byTenant.get(tenant)?.has(id) ?? false
  }

  of(tenant: string): Iterable<Subscriber> {
    return this.#byTenant.get(tenant)?.values() ?? []
  }

  /** Adds the subscriber after all others of the tenant; a queued subscriber keeps its position. */
  add(subscriber: Subscriber): void {
    if (this.has(subscriber)) return
    const others = this.#byTenant.get(subscriber.tenant)
    if (others) others.set(subscriber.id, subscriber)
    else this.#byTenant.set(subscriber.tenant, new Map([[subscriber.id, subscriber]]))
    this.#size++
  }

  /** Removes and returns the next subscriber; its tenant moves to the end. */
  take(): Subscriber | undefined {
    for (const [tenant, waiting] of this.#byTenant) {
      for (const subscriber of waiting.values()) {
        waiting.delete(subscriber.id)
        this.#size--
        this.#byTenant.delete(tenant)
        if (waiting.size > 0) this.#byTenant.set(tenant, waiting)
        return subscriber
      }
    }
    return undefined
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
