import type { World } from '#runtime/world'

export interface RateOptions {
  readonly countMax: number
  readonly withinMs: number
}

/** At most so many in so long: what comes as a crowd is spread. */
export class Rate {
  readonly #world: World
  readonly #options: RateOptions
  /** World.monotonic of when the stretch begins that is being filled, which may be later than now. */
  #from = Number.NEGATIVE_INFINITY
  #count = 0

  constructor(world: World, options: RateOptions) {
    this.#world = world
    this.#options = options
  }

  /** Takes the next place. How long to wait for it, ms. */
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
