import { FairShares } from '#access/fair-shares'
import type { Principal } from '#model/caller'

/**
 * A map of limited size: a new entry evicts the oldest. For entries that can be computed or requested again. Reading
 * does not renew an entry, so that reading costs nothing.
 */
export class BoundedMap<K, V> {
  readonly #entries = new Map<K, V>()
  readonly #sizeMax: number
  /**
   * One iterator over all keys that never starts again: a map keeps the slots of deleted entries at its beginning,
   * and skipping them for each new entry took 30 µs with 65 536 of them.
   */
  readonly #keys = this.#entries.keys()
  /** The last key from the iterator, if it is still there and was not set again. */
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
   * The iterator reaches its end only when the map is empty, and is not asked then: a finished iterator returns no
   * more keys.
   */
  #nextKey(): { readonly key: K } | undefined {
    if (this.#entries.size === 0) return undefined
    const next = this.#keys.next()
    return next.done ? undefined : { key: next.value }
  }
}

/**
 * A cache with two generations: an entry unused for one to two generations is evicted, and a full generation evicts
 * its oldest entries first. For values that can be computed again.
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

  /** `now`: Unix ms, here as below. */
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

  /** Also moves on for a clock that was set back. */
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
