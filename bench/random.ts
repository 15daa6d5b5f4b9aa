/**
 * Pseudo-random numbers that are the same for the same seed, so that a run can be repeated.
 *
 * The algorithm is mulberry32: 32 bits of state, and a few nanoseconds per number. Not for secrets.
 */
export class SeededRandom {
  #state: number

  constructor(seed: number) {
    this.#state = seed >>> 0
  }

  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0
    let mixed = this.#state
    mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296
  }

  /** In [low, high). */
  between(low: number, high: number): number {
    return low + this.next() * (high - low)
  }

  /** An integer in [0, count). */
  below(count: number): number {
    return Math.floor(this.next() * count)
  }

  /** An item of the list; undefined if it is empty. */
  pick<T>(list: readonly T[]): T | undefined {
    return list[this.below(list.length)]
  }
}
