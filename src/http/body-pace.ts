import type { Pending, Waiting } from '#http/pending'
import { Problem } from '#model/problem'

/** How long a sender may take for so many bytes; the parser asks for 16 KiB a second too, but looks 8 to 12 s later. */
export const bodyPaceMs = 7_000
const stepBytes = 7 * 16 * 1024

/** Of a request, what its pace needs. */
export interface Paced {
  readonly hasBegun: boolean
  fail(error: Problem, isCutting: boolean): void
}

/**
 * How a body comes in. One that comes too slowly is answered 408 (RFC 9110 §15.5.9), before the parser cuts its connection
 * and says nothing.
 */
export class BodyPace implements Waiting {
  waitsSince = 0
  readonly #paced: Paced
  readonly #pending: Pending
  #bytes = 0

  constructor(paced: Paced, pending: Pending) {
    this.#paced = paced
    this.#pending = pending
  }

  get hasBegun(): boolean {
    return this.#paced.hasBegun
  }

  /** From now on, or anew: while the sender is held back he is not waited for. */
  start(monotonicNow: number): void {
    this.waitsSince = monotonicNow
    this.#bytes = 0
    this.#pending.add(this)
  }

  stop(): void {
    this.#pending.remove(this)
  }

  came(bytes: number): void {
    this.#bytes += bytes
    if (this.#bytes < stepBytes) return
    this.#bytes = 0
    this.#pending.renew(this)
  }

  expire(): void {
    this.#paced.fail(new Problem('too_slow'), true)
  }
}
