import { BoundedMap } from '#access/bounded-map'
import type { Principal } from '#model/caller'

/** The entries of one tenant. */
interface TenantShare<K> {
  readonly users: Map<string, BoundedMap<K, true>>
  readonly sizes: Sizes
}

/**
 * Which entries of a store belong to which user and tenant, in the order in which they were added. It names the entry
 * that a full store evicts: the oldest of the user with the most entries in the tenant with the most entries. One
 * user or tenant can fill a store only while the others do not need it. Every operation takes constant time.
 */
export class FairShares<K> {
  readonly #tenants = new Map<string, TenantShare<K>>()
  readonly #sizes = new Sizes()

  add({ tenant, user }: Principal, key: K): void {
    let share = this.#tenants.get(tenant)
    if (!share) {
      share = { users: new Map(), sizes: new Sizes() }
      this.#tenants.set(tenant, share)
    }
    let keys = share.users.get(user)
    if (!keys) {
      keys = new BoundedMap(Number.POSITIVE_INFINITY)
      share.users.set(user, keys)
    }
    keys.set(key, true)
    share.sizes.change(user, 1)
    this.#sizes.change(tenant, 1)
  }

  /** Undoes `add`. */
  remove({ tenant, user }: Principal, key: K): void {
    const share = this.#tenants.get(tenant)
    const keys = share?.users.get(user)
    if (!share || !keys?.delete(key)) return
    share.sizes.change(user, -1)
    this.#sizes.change(tenant, -1)
    if (keys.size === 0) share.users.delete(user)
    if (share.users.size === 0) this.#tenants.delete(tenant)
  }

  /** Undefined when there is none. */
  get oldestOfLargest(): K | undefined {
    const share = this.#tenants.get(this.#sizes.largest ?? '')
    return share?.users.get(share.sizes.largest ?? '')?.oldest
  }
}

/** Sizes by name. They change by one, so the largest is known without a search. */
class Sizes {
  readonly #sizes = new Map<string, number>()
  readonly #names = new Map<number, Set<string>>()
  #largestSize = 0

  get largest(): string | undefined {
    return this.#names.get(this.#largestSize)?.values().next().value
  }

  change(name: string, by: 1 | -1): void {
    const before = this.#sizes.get(name) ?? 0
    const after = before + by
    const alike = this.#names.get(before)
    alike?.delete(name)
    if (alike?.size === 0) this.#names.delete(before)
    if (after === 0) this.#sizes.delete(name)
    else {
      this.#sizes.set(name, after)
      const names = this.#names.get(after)
      if (names) names.add(name)
      else this.#names.set(after, new Set([name]))
    }
    if (after > this.#largestSize || !this.#names.has(this.#largestSize)) this.#largestSize = after
  }
}
