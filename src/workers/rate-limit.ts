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

const fullFrom = 9 / 10

/**
 * How many pieces of work may start, for each load of the event loop: in 100 ms while it is idle or busy, and in 250 ms
 * while it is full.
 */
export interface LoadLimits {
  readonly idle: number
  readonly busy: number
  readonly full: number
}

/** Limits work that costs more than the change of a property, so that it does not delay such changes. */
export class LoadLimit {
  readonly #world: World
  readonly #idle: RateLimit
  readonly #busy: RateLimit
  readonly #full: RateLimit

  constructor(world: World, { idle, busy, full }: LoadLimits) {
    this.#world = world
    this.#idle = new RateLimit(world, { countMax: idle, withinMs: 100 })
    this.#busy = new RateLimit(world, { countMax: busy, withinMs: 100 })
    this.#full = new RateLimit(world, { countMax: full, withinMs: 250 })
  }

  /** Reserves the next start. Returns how long to wait for it, in ms. */
  take(): number {
    if (this.#world.loopShare() >= fullFrom) return this.#full.take()
    return (isBusy(this.#world) ? this.#busy : this.#idle).take()
  }
}

/**
 * A loop that works for at least this share of its time counts as busy: background work slows down in favour of reports
 * and reads.
 */
const busyShare = 1 / 2

/** Whether the loop recently worked for at least `busyShare` of its time. */
export function isBusy(world: World): boolean {
  return world.loopShare() >= busyShare
}
