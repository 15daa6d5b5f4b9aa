import type { Principal } from '#model/caller'
import { addTo, changeCount, getOrInsert, removeFrom } from '#model/map-values'

/**
 * A map of limited size: a new entry above the limit evicts the oldest. For entries that can be computed or requested
 * again. Reading an entry does not make it younger, so that reading costs nothing.
 */
export class BoundedMap<K, V> {
  readonly #entries = new Map<K, V>()
  readonly #sizeMax: number
  /**
   * One iterator over all keys, which is never restarted. A map keeps the slots of deleted entries at its beginning. A
   * new iterator for each entry would have to skip them: with 65 536 of them, this took 30 µs.
   */
  readonly #keys = this.#entries.keys()
  /** The last key from the iterator, unless it was deleted or set again. */
  #first: { readonly key: K } | undefined

  constructor(sizeMax: number) {
    this.#sizeMax = sizeMax
  }

  get size(): number {
    return this.#entries.size
  }

  /** The key that was set longest ago. */
  get oldest(): K | undefined {
    this.#first ??= this.#nextKey()
    return this.#first?.key
  }

  get(key: K): V | undefined {
    return this.#entries.get(key)
  }

  /** Setting an existing key makes it the youngest. */
  set(key: K, value: V): void {
    this.delete(key)
    if (this.#entries.size >= this.#sizeMax) this.delete(this.oldest as K)
    this.#entries.set(key, value)
  }

  delete(key: K): boolean {
    if (this.#first?.key === key) this.#first = undefined
    return this.#entries.delete(key)
  }

  /**
   * Does not call the iterator while the map is empty: it would reach its end, and a finished iterator returns no more
   * keys.
   */
  #nextKey(): { readonly key: K } | undefined {
    if (this.#entries.size === 0) return undefined
    const next = this.#keys.next()
    return next.done ? undefined : { key: next.value }
  }
}

/**
 * A cache with two generations. An entry is evicted one to two generations after its last use. A full generation evicts
 * its oldest entry. For values that can be computed again.
 */
export class RecentMap<K, V> {
  readonly #generationMs: number
  readonly #sizeMax: number
  #young: BoundedMap<K, V>
  #old: BoundedMap<K, V>
  #youngSince = Number.NEGATIVE_INFINITY

  constructor({ generationMs, sizeMax }: { readonly generationMs: number; readonly sizeMax: number }) {
    this.#generationMs = generationMs
    this.#sizeMax = sizeMax
    this.#young = new BoundedMap(sizeMax)
    this.#old = this.#young
  }

  /** `now`: ms of any clock, the same clock in each call. */
  get(key: K, now: number): V | undefined {
    this.#move(now)
    const young = this.#young.get(key)
    if (young !== undefined) return young
    const old = this.#old.get(key)
    if (old !== undefined) this.#young.set(key, old)
    return old
  }

  set(key: K, value: V, now: number): void {
    this.#move(now)
    this.#young.set(key, value)
  }

  /** Begins a new generation `generationMs` after the last, or when the clock was set back by as much. */
  #move(now: number): void {
    const age = Math.abs(now - this.#youngSince)
    if (age < this.#generationMs) return
    this.#old = age < 2 * this.#generationMs ? this.#young : new BoundedMap(this.#sizeMax)
    this.#young = new BoundedMap(this.#sizeMax)
    this.#youngSince = now
  }
}

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
  /** The entries, in the order in which they expire. */
  readonly #entries: BoundedMap<K, Entry<V>>
  readonly #shares = new FairShares<K>()

  constructor(options: ExpiringMapOptions) {
    this.#options = options
    this.#entries = new BoundedMap(options.sizeMax)
  }

  get size(): number {
    return this.#entries.size
  }

  /** An entry is valid up to and including its last millisecond. */
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
    // A copy, because a caller object references much more than its name.
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

interface TenantShare<K> {
  readonly users: Map<string, BoundedMap<K, true>>
  readonly sizes: Sizes
}

/**
 * The keys of the entries of each user and tenant, in the order in which they were added. It finds the entry that a
 * full map evicts: the oldest of the user with the most entries in the tenant with the most entries. So one user or
 * tenant can fill a map only while the others do not need it. Every operation takes constant time.
 */
class FairShares<K> {
  readonly #tenants = new Map<string, TenantShare<K>>()
  readonly #sizes = new Sizes()

  add({ tenant, user }: Principal, key: K): void {
    const share = getOrInsert(this.#tenants, tenant, () => ({ users: new Map(), sizes: new Sizes() }))
    getOrInsert(share.users, user, () => new BoundedMap(Number.POSITIVE_INFINITY)).set(key, true)
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

  /** Undefined when there are no entries. */
  get oldestOfLargest(): K | undefined {
    const share = this.#tenants.get(this.#sizes.largest ?? '')
    return share?.users.get(share.sizes.largest ?? '')?.oldest
  }
}

/** Sizes by name. They change by one, so the largest size is known without a search. */
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
    removeFrom(this.#names, before, name)
    changeCount(this.#sizes, name, by)
    if (after > 0) addTo(this.#names, after, name)
    if (after > this.#largestSize || !this.#names.has(this.#largestSize)) this.#largestSize = after
  }
}
