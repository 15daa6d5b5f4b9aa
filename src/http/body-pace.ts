import type { PendingRequest, PendingRequests } from '#http/pending-requests'
import { Problem } from '#model/problem'

/** The time for each 16 KiB of a body; the parser also requires 16 KiB/s, but checks it 8 to 12 s later. */
export const bodyPaceMs = 7_000
const stepBytes = 7 * 16 * 1024

/** The parts of a request that the pace check reads. */
export interface PacedRequest {
  readonly hasBegun: boolean
  fail(error: Problem, isCutting: boolean): void
}

/**
 * Checks the pace of a body. A body that arrives too slowly is answered 408 (RFC 9110 §15.5.9), before the parser
 * closes its connection without an answer.
 */
export class BodyPace implements PendingRequest {
  waitsSince = 0
  readonly #paced: PacedRequest
  readonly #pending: PendingRequests
  #bytes = 0

  constructor(paced: PacedRequest, pending: PendingRequests) {
    this.#paced = paced
    this.#pending = pending
  }

  get hasBegun(): boolean {
    return this.#paced.hasBegun
  }

  /** Starts or restarts the time: time during which the server itself paused the sender does not count. */
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
