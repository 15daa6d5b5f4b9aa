import type { Subscriber } from '#notifications/deliverer'

/**
 * Who is seen to next: one of each tenant in turn, and of each tenant who has waited longest. So the mails of a tenant with
 * many subscribers hold up nobody else's.
 */
export class Ring {
  /** By id, in order; only tenants with somebody in turn, the next one first. */
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

  /** Behind all others of his tenant; who is in turn keeps his place. */
  add(who: Subscriber): void {
    if (this.has(who)) return
    const others = this.#byTenant.get(who.tenant)
    if (others) others.set(who.id, who)
    else this.#byTenant.set(who.tenant, new Map([[who.id, who]]))
    this.#size++
  }

  /** The next one, who is in turn no more; his tenant comes again behind all others. */
  take(): Subscriber | undefined {
    for (const [tenant, waiting] of this.#byTenant) {
      for (const who of waiting.values()) {
        waiting.delete(who.id)
        this.#size--
        this.#byTenant.delete(tenant)
        if (waiting.size > 0) this.#byTenant.set(tenant, waiting)
        return who
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
