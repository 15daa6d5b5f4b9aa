import type { World } from '#runtime/world'

export interface RateLimitOptions {
  readonly countMax: number
  readonly withinMs: number
}

/** A rate limit: at most `countMax` in each `withinMs`. Bursts are spread over time. */
export class RateLimit {
  readonly #world: World
  readonly #options: RateLimitOptions
  /** World.monotonic of the start of the current window, which may be in the future. */
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
