import { ExpiringMap } from '#access/expiring-map'
import type { Caller, SessionKey } from '#model/caller'
import { Problem } from '#model/problem'

/** Tickets that wait to be used; one lives for half a minute, so this is 3 000 a second. About 300 bytes each. */
const ticketsMax = 100_000
/** 192 bits: nobody guesses one in half a minute. */
const ticketBytes = 24

export interface TicketsOptions {
  /** Unix ms. */
  readonly now: () => number
  readonly random: (byteCount: number) => Uint8Array
  readonly lifetimeMs: number
  /** Who that is now; undefined once the session is over. Without it no ticket of a session is worth anything. */
  readonly callerOf?: (session: SessionKey) => Caller | undefined
}

/** Whose it is: what his session is worth when the ticket is shown, or himself where there is nothing that could end. */
type Bearer = { readonly session: SessionKey } | { readonly caller: Caller }

/**
 * Short-lived strings that say whose websocket is opened, because browsers cannot send headers there. Each is good once,
 * and is consumed when it is first shown, good or not. When too many wait, the oldest of the user with the most is void.
 * Contract 4.1.
 */
export class Tickets {
  readonly #options: TicketsOptions
  readonly #tickets: ExpiringMap<string, Bearer>
  /** What became of them; `refused`: shown, and worth nothing. */
  readonly counts = { issued: 0, used: 0, refused: 0 }

  constructor(options: TicketsOptions) {
    const { now, lifetimeMs } = options
    this.#options = options
    this.#tickets = new ExpiringMap({ now, lifetimeMs, sizeMax: ticketsMax })
  }

  /** Issued and not shown yet; among them some that ended just now. */
  get waitingCount(): number {
    return this.#tickets.size
  }

  issue(caller: Caller): string {
    this.counts.issued++
    const ticket = Buffer.from(this.#options.random(ticketBytes)).toString('base64url')
    this.#tickets.set(ticket, caller.session ? { session: caller.session } : { caller }, caller)
    return ticket
  }

  /**
   * Who shows it, with the rights of now.
   *
   * @throws Problem `unauthorized` for one that is unknown, used or ended, and for one whose session is over.
   */
  consume(ticket: string): Caller {
    const bearer = this.#tickets.take(ticket)
    const caller = bearer && this.#callerOf(bearer)
    if (!caller) {
      this.counts.refused++
      throw new Problem('unauthorized', 'invalid or expired ticket')
    }
    this.counts.used++
    return caller
  }

  #callerOf(bearer: Bearer): Caller | undefined {
    return 'caller' in bearer ? bearer.caller : this.#options.callerOf?.(bearer.session)
  }
}
