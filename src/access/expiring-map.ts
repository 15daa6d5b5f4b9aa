import { BoundedMap } from '#access/bounded-map'
import { FairShares } from '#access/fair-shares'
import type { Principal } from '#model/caller'

export interface ExpiringMapOptions {
  /** Unix ms. */
  readonly now: () => number
  readonly lifetimeMs: number
  readonly sizeMax: number
}

interface Entry<V> {
  readonly value: V
  readonly owner: Principal
  readonly endsAt: number
}

/**
 * A bounded map whose entries live equally long after they were last set. Expired entries are not found, and are
 * removed when the next entry is set. A full map evicts the oldest entry of its largest owner: see `FairShares`.
 */
export class ExpiringMap<K extends string, V> {
  readonly #options: ExpiringMapOptions
  /** In the order in which they expire. */
  readonly #entries: BoundedMap<K, Entry<V>>
  readonly #shares = new FairShares<K>()

  constructor(options: ExpiringMapOptions) {
    this.#options = options
    this.#entries = new BoundedMap(options.sizeMax)
  }

  get size(): number {
    return this.#entries.size
  }

  /** Valid up to and including its last millisecond. */
  get(key: K): V | undefined {
    const entry = this.#entries.get(key)
    return entry && entry.endsAt >= this.#options.now() ? entry.value : undefined
  }

  set(key: K, value: V, { tenant, user }: Principal): void {
    const { now, lifetimeMs, sizeMax } = this.#options
    this.#dropExpired(now())
    this.delete(key)
    const surplus = this.size < sizeMax ? undefined : this.#shares.oldestOfLargest
    if (surplus !== undefined) this.delete(surplus)
    // A caller object holds much more than its name.
    const owner = { tenant, user }
    this.#entries.set(key, { value, owner, endsAt: now() + lifetimeMs })
    this.#shares.add(owner, key)
  }

  /** Removes the entry and returns its value. */
  take(key: K): V | undefined {
    const value = this.get(key)
    this.delete(key)
    return value
  }

  delete(key: K): void {
    const entry = this.#entries.get(key)
    if (!entry) return
    this.#entries.delete(key)
    this.#shares.remove(entry.owner, key)
  }

  #dropExpired(now: number): void {
    for (let { oldest } = this.#entries; oldest !== undefined; { oldest } = this.#entries) {
      const entry = this.#entries.get(oldest)
      if (!entry || entry.endsAt >= now) return
      this.delete(oldest)
    }
  }
}
