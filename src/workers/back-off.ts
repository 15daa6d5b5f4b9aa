import type { World } from '#runtime/world'
import { fractionOf } from '#workers/fraction'

const firstMs = 1_000
const longestMs = 5 * 60_000

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
    this.#until = Math.max(this.#until, this.#world.monotonic() + (retryAfterMs ?? this.#restMs()))
  }

  succeeded(): void {
    this.#failures = 0
    this.#until = Number.NEGATIVE_INFINITY
  }

  /** Between half of it and half more. */
  #restMs(): number {
    const ms = Math.min(firstMs * 2 ** (this.#failures - 1), longestMs)
    return ms * (0.5 + fractionOf(this.#world))
  }
}
