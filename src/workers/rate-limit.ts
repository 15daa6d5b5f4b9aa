import type { World } from '#runtime/world'

export interface RateLimitOptions {
  readonly countMax: number
  readonly withinMs: number
}

/**
 * A rate limit: at most `countMax` starts in each window of `withinMs`, so at most twice as many across the end of a
 * window. Further starts get places in later windows.
 */
export class RateLimit {
  readonly #world: World
  readonly #options: RateLimitOptions
  /** The start of the window that is being filled, by `World.monotonic`. In the future if earlier windows are full. */
  #from = Number.NEGATIVE_INFINITY
  #count = 0

  constructor(world: World, options: RateLimitOptions) {
    this.#world = world
    this.#options = options
  }

  /** Takes the next place. Returns the ms to wait for it. */
  take(): number {
    const { countMax, withinMs } = this.#options
    const now = this.#world.monotonic()
    if (now >= this.#from + withinMs) this.#begin(now)
    else if (this.#count === countMax) this.#begin(this.#from + withinMs)
    this.#count++
    return Math.max(0, this.#from - now)
  }

  #begin(from: number): void {
    this.#from = from
    this.#count = 0
  }
}
