import type { Caller } from '#model/caller'
import type { ConcurrencyLimit } from '#runtime/concurrency-limit'
import type { World } from '#runtime/world'

/** Something that waits: since when, whether its answer has begun, and what happens when it takes too long. */
export interface Waiting {
  /** Set anew where it is renewed. */
  waitsSince: number
  readonly hasBegun: boolean
  /** For whom it is counted, while it waits. */
  readonly caller?: Caller | undefined
  expire(): void
}

/**
 * The requests that have not been answered to the end, and their common deadline: first the one that has waited longest. One
 * timer for all: the deadline is the same for each, so only the first can be due.
 */
export class Pending {
  readonly #world: World
  readonly #deadlineMs: number
  readonly #limit: ConcurrencyLimit | undefined
  readonly #waiting = new Set<Waiting>()
  #isTimed = false
  #emptied: (() => void)[] = []

  constructor(world: World, deadlineMs: number, limit?: ConcurrencyLimit) {
    this.#world = world
    this.#limit = limit
    this.#deadlineMs = deadlineMs
  }

  get size(): number {
    return this.#waiting.size
  }

  add(waiting: Waiting): void {
    if (waiting.caller) this.#limit?.enter(waiting.caller)
    this.#waiting.add(waiting)
    this.#time(this.#deadlineMs)
  }

  /** Its caller was found while it waits. */
  identified(waiting: Waiting): void {
    if (waiting.caller && this.#waiting.has(waiting)) this.#limit?.enter(waiting.caller)
  }

  /** It moves on, and has its whole time again. Does nothing for one that does not wait. */
  renew(waiting: Waiting): void {
    if (!this.#waiting.delete(waiting)) return
    waiting.waitsSince = this.#world.monotonic()
    this.#waiting.add(waiting)
  }

  remove(waiting: Waiting): void {
    if (!this.#waiting.delete(waiting)) return
    if (waiting.caller) this.#limit?.leave(waiting.caller)
    if (this.#waiting.size > 0) return
    const emptied = this.#emptied
    this.#emptied = []
    for (const tell of emptied) tell()
  }

  /** Calls once, when nobody waits any more; at once if so already. */
  whenEmpty(tell: () => void): void {
    if (this.#waiting.size === 0) tell()
    else this.#emptied.push(tell)
  }

  #time(delayMs: number): void {
    if (this.#isTimed) return
    this.#isTimed = true
    this.#world.after(delayMs, () => {
      this.#isTimed = false
      this.#expireDue()
    })
  }

  #expireDue(): void {
    const now = this.#world.monotonic()
    for (const waiting of [...this.#waiting]) {
      if (waiting.hasBegun) continue
      const leftMs = waiting.waitsSince + this.#deadlineMs - now
      // A timer may fire a fraction early; never wait for less than a millisecond.
      if (leftMs > 0) {
        this.#time(Math.max(1, leftMs))
        return
      }
      waiting.expire()
    }
  }
}
