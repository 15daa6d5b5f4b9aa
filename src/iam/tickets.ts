import type { Caller } from '#iam/caller'
import { Problem } from '#model/problem'

/** Tickets that wait to be used; one lives for half a minute, so this is 3 000 a second. */
const ticketsMax = 100_000
/** 192 bits: nobody guesses one in half a minute. */
const ticketBytes = 24

export interface TicketsOptions {
  /** Unix ms. */
  readonly now: () => number
  readonly random: (byteCount: number) => Uint8Array
  readonly lifetimeMs: number
}

/**
 * Short-lived strings that say who opens a websocket, because browsers can't send headers there. Each is good once, and
 * is consumed when it is first shown, good or not. Contract 4.1.
 */
export class Tickets {
  readonly #options: TicketsOptions
  /** In the order in which they end: all live equally long. */
  readonly #tickets = new Map<string, { readonly caller: Caller; readonly endsAt: number }>()

  constructor(options: TicketsOptions) {
    this.#options = options
  }

  /** @throws Problem `overloaded` when too many wait. */
  issue(caller: Caller): string {
    this.#dropEnded()
    if (this.#tickets.size >= ticketsMax) throw new Problem('overloaded', 'too many tickets wait to be used')
    const ticket = Buffer.from(this.#options.random(ticketBytes)).toString('base64url')
    this.#tickets.set(ticket, { caller, endsAt: this.#options.now() + this.#options.lifetimeMs })
    return ticket
  }

  /** Whose it is. @throws Problem `unauthorized` for one that is unknown, used or ended. */
  consume(ticket: string): Caller {
    const found = this.#tickets.get(ticket)
    this.#tickets.delete(ticket)
    if (!found || found.endsAt < this.#options.now()) throw new Problem('unauthorized', 'invalid or expired ticket')
    return found.caller
  }

  #dropEnded(): void {
    const now = this.#options.now()
    for (const [ticket, { endsAt }] of this.#tickets) {
      if (endsAt >= now) return
      this.#tickets.delete(ticket)
    }
  }
}
