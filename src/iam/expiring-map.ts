import { BoundedMap } from '#iam/bounded-map'

export interface ExpiringMapOptions {
  /** Unix ms. */
  readonly now: () => number
  readonly lifetimeMs: number
  readonly sizeMax: number
}

/**
 * A bounded map whose entries all live equally long, from when they were last set. What has ended is gone for whoever
 * asks, and leaves when the next one comes.
 */
export class ExpiringMap<K extends string, V> {
  readonly #options: ExpiringMapOptions
  readonly #entries: BoundedMap<K, { readonly value: V; readonly endsAt: number }>

  constructor(options: ExpiringMapOptions) {
    this.#options = options
    this.#entries = new BoundedMap(options.sizeMax)
  }

  get size(): number {
    return this.#entries.size
  }

  /** Good up to and including its last millisecond. */
  get(key: K): V | undefined {
    const entry = this.#entries.get(key)
    return entry && entry.endsAt >= this.#options.now() ? entry.value : undefined
  }

  set(key: K, value: V): void {
    this.#dropEnded()
    this.#entries.set(key, { value, endsAt: this.#options.now() + this.#options.lifetimeMs })
  }

  /** What was there, which then is there no more. */
  take(key: K): V | undefined {
    const value = this.get(key)
    this.#entries.delete(key)
    return value
  }

  delete(key: K): void {
    this.#entries.delete(key)
  }

  #dropEnded(): void {
    const now = this.#options.now()
    for (;;) {
      const oldest = this.#entries.oldest
      const entry = oldest === undefined ? undefined : this.#entries.get(oldest)
      if (oldest === undefined || !entry || entry.endsAt >= now) return
      this.#entries.delete(oldest)
    }
  }
}
