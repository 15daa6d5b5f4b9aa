import { ExpiringMap } from '#access/bounded-map'
import type { Caller, SessionKey } from '#model/caller'
import { Problem } from '#model/problem'

/** The most unused tickets: 3 000 a second with the default lifetime of half a minute. Each takes 300 bytes. */
const ticketsMax = 100_000
/** 192 bits, which cannot be guessed during the lifetime of a ticket. */
const ticketBytes = 24

export interface TicketsOptions {
  /** Unix ms. */
  readonly now: () => number
  readonly random: (byteCount: number) => Uint8Array
  readonly lifetimeMs: number
  /** The current caller; undefined once the session is over, which also voids its tickets. */
  readonly callerOf?: (session: SessionKey) => Caller | undefined
}

/** The owner of a ticket: a session, whose rights are read when the ticket is used, or a caller without a session. */
type TicketOwner = { readonly session: SessionKey } | { readonly caller: Caller }

/**
 * Short-lived strings that authenticate websockets, because browsers cannot send headers there. The first use consumes
 * a ticket, even if the socket is refused. If there are too many tickets, a new one evicts the oldest ticket of the
 * user with the most tickets in the tenant with the most tickets. Contract 4.1.
 */
export class Tickets {
  readonly #options: TicketsOptions
  readonly #tickets: ExpiringMap<string, TicketOwner>
  /** `refused`: a client sent a ticket that was not valid. */
  readonly counts = { issued: 0, used: 0, refused: 0 }

  constructor(options: TicketsOptions) {
    const { now, lifetimeMs } = options
    this.#options = options
    this.#tickets = new ExpiringMap({ now, lifetimeMs, sizeMax: ticketsMax })
  }

  /** The number of tickets that were issued and not used yet, including some that have just expired. */
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
   * The owner, with the present rights.
   *
   * @throws Problem `unauthorized` for a ticket that is unknown, used or expired, and for one whose session is over
   */
  consume(ticket: string): Caller {
    const owner = this.#tickets.take(ticket)
    const caller = owner && this.#callerOf(owner)
    if (!caller) {
      this.counts.refused++
      throw new Problem('unauthorized', 'invalid or expired ticket')
    }
    this.counts.used++
    return caller
  }

  #callerOf(owner: TicketOwner): Caller | undefined {
    return 'caller' in owner ? owner.caller : this.#options.callerOf?.(owner.session)
  }
}
