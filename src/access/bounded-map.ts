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
