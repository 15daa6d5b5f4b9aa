/**
 * A map that never holds more than so many: a new one beyond takes the place of the oldest. For what can be found out
 * again, or asked for again; reading does not make younger, so that reading costs nothing.
 */
export class BoundedMap<K, V> {
  readonly #entries = new Map<K, V>()
  readonly #sizeMax: number

  constructor(sizeMax: number) {
    this.#sizeMax = sizeMax
  }

  get size(): number {
    return this.#entries.size
  }

  get(key: K): V | undefined {
    return this.#entries.get(key)
  }

  /** A key that is there already becomes the youngest. */
  set(key: K, value: V): void {
    this.#entries.delete(key)
    if (this.#entries.size >= this.#sizeMax) this.#dropOldest()
    this.#entries.set(key, value)
  }

  delete(key: K): boolean {
    return this.#entries.delete(key)
  }

  /** Oldest first. */
  entries(): IterableIterator<[K, V]> {
    return this.#entries.entries()
  }

  #dropOldest(): void {
    const oldest = this.#entries.keys().next()
    if (!oldest.done) this.#entries.delete(oldest.value)
  }
}
