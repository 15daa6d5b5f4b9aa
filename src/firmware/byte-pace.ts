import type { World } from '#runtime/world'

/** So much may go ahead of its time: timers come late and in whole milliseconds, and nobody shall lose by that. */
const aheadMs = 50

/** From here on the loop is left to those who report: bytes take twice their time. */
const busyFrom = 1 / 3

/** So many bytes a second in all, half as many beside a busy loop, given in the order they are asked for. */
export class BytePace {
  readonly #world: World
  readonly #bytesPerMs: number
  /** When all that was given is over, at the permitted speed. */
  #freeAt: number

  constructor(world: World, bytesPerSecondMax: number) {
    this.#world = world
    this.#bytesPerMs = bytesPerSecondMax / 1000
    this.#freeAt = world.monotonic()
  }

  /** Comes back when so many bytes may go. They count from now on, whether they go or not. */
  take(byteCount: number): Promise<void> {
    const now = this.#world.monotonic()
    this.#freeAt = Math.max(this.#freeAt, now)
    const waitMs = this.#freeAt - now - aheadMs
    const times = this.#world.loopShare() >= busyFrom ? 2 : 1
    this.#freeAt += (times * byteCount) / this.#bytesPerMs
    if (waitMs <= 0) return Promise.resolve()
    return new Promise((resolve) => void this.#world.after(waitMs, resolve))
  }
}
