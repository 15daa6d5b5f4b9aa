import { BoundedMap } from '#access/bounded-map'

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
