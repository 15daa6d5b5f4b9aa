import { backOffMs } from '#runtime/back-off-time'
import type { World } from '#runtime/world'

const times = { firstMs: 1_000, longestMs: 5 * 60_000, spread: 0.5 }

/**
 * The pause before a failing server is asked again: the time that the server requests, or twice the previous pause,
 * with jitter.
 */
export class BackOff {
  readonly #world: World
  #failures = 0
  /** The end of the pause, by `World.monotonic`. */
  #until = Number.NEGATIVE_INFINITY

  constructor(world: World) {
    this.#world = world
  }

  get isFailing(): boolean {
    return this.#failures > 0
  }

  /** The time until the server may be asked again; 0: now. */
  waitMs(): number {
    return Math.max(this.#until - this.#world.monotonic(), 0)
  }

  /**
   * A failure starts a pause. During a pause, only a time that the server requests extends it. Other failures are
   * ignored, because their requests may have been sent before the pause.
   */
  failed(retryAfterMs: number | undefined): void {
    if (this.waitMs() > 0 && retryAfterMs === undefined) return
    if (this.waitMs() === 0) this.#failures++
    this.#until = Math.max(
      this.#until,
      this.#world.monotonic() + (retryAfterMs ?? backOffMs(times, this.#failures, randomFraction(this.#world))),
    )
  }

  succeeded(): void {
    this.#failures = 0
    this.#until = Number.NEGATIVE_INFINITY
  }
}

/** A random number in [0, 1). */
export function randomFraction(world: World): number {
  return Buffer.from(world.random(4)).readUInt32BE(0) / 2 ** 32
}
