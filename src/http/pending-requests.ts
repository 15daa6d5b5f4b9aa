import type { Caller } from '#model/caller'
import type { ConcurrencyLimit } from '#runtime/fair-queue'
import type { World } from '#runtime/world'

/** A waiting request: its start, whether its answer has begun, and the reaction to a timeout. */
export interface PendingRequest {
  /** By `World.monotonic`. Set again when the time is renewed. */
  waitsSince: number
  readonly hasBegun: boolean
  /** The request counts for the limit of this caller while it waits. */
  readonly caller?: Caller | undefined
  expire(): void
}

/**
 * Requests that are not fully answered. All have the same time limit until their answer begins. So the first request
 * whose answer has not begun is due first, and one timer is enough.
 */
export class PendingRequests {
  readonly #world: World
  readonly #deadlineMs: number
  readonly #limit: ConcurrencyLimit | undefined
  readonly #waiting = new Set<PendingRequest>()
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

  add(waiting: PendingRequest): void {
    if (waiting.caller) this.#limit?.enter(waiting.caller)
    this.#waiting.add(waiting)
    this.#setTimer(this.#deadlineMs)
  }

  /** The caller of a waiting request became known. */
  callerKnown(waiting: PendingRequest): void {
    if (waiting.caller && this.#waiting.has(waiting)) this.#limit?.enter(waiting.caller)
  }

  /** The request made progress and gets its whole time again. Has no effect on a request that is not waiting. */
  renew(waiting: PendingRequest): void {
    if (!this.#waiting.delete(waiting)) return
    waiting.waitsSince = this.#world.monotonic()
    this.#waiting.add(waiting)
  }

  remove(waiting: PendingRequest): void {
    if (!this.#waiting.delete(waiting)) return
    if (waiting.caller) this.#limit?.leave(waiting.caller)
    if (this.#waiting.size > 0) return
    const emptied = this.#emptied
    this.#emptied = []
    for (const callback of emptied) callback()
  }

  /** Calls `callback` once when no request waits; at once if none does. */
  whenEmpty(callback: () => void): void {
    if (this.#waiting.size === 0) callback()
    else this.#emptied.push(callback)
  }

  #setTimer(delayMs: number): void {
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
        this.#setTimer(Math.max(1, leftMs))
        return
      }
      waiting.expire()
    }
  }
}
