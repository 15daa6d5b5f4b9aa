import type { World } from '#runtime/world'
import { isBusy } from '#workers/loop-load'
import { RateLimit } from '#workers/rate-limit'

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
