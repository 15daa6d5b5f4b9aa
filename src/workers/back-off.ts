import { backOffMs } from '#runtime/back-off-time'
import type { World } from '#runtime/world'

const times = { firstMs: 1_000, longestMs: 5 * 60_000, spread: 0.5 }

/** How long a server that fails is left alone: as long as it asks for, or each time twice as long, and never quite so. */
export class BackOff {
  readonly #world: World
  #failures = 0
  /** World.monotonic. */
  #until = Number.NEGATIVE_INFINITY

  constructor(world: World) {
    this.#world = world
  }

  /** It failed last. */
  get isFailing(): boolean {
    return this.#failures > 0
  }

  /** 0: it may be asked. */
  waitMs(): number {
    return Math.max(this.#until - this.#world.monotonic(), 0)
  }

  /** What was asked before it was left alone, and fails as well, says nothing new. */
  failed(retryAfterMs: number | undefined): void {
    if (this.waitMs() > 0 && retryAfterMs === undefined) return
    if (this.waitMs() === 0) this.#failures++
    this.#until = Math.max(
      this.#until,
      this.#world.monotonic() + (retryAfterMs ?? backOffMs(times, this.#failures, fractionOf(this.#world))),
    )
  }

  succeeded(): void {
    this.#failures = 0
    this.#until = Number.NEGATIVE_INFINITY
  }
}

/** By chance, from 0 to below 1. */
export function fractionOf(world: World): number {
  return Buffer.from(world.random(4)).readUInt32BE(0) / 2 ** 32
}
