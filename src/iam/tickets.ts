import { BoundedMap } from '#iam/bounded-map'
import type { Caller, SessionKey } from '#iam/caller'
import { Problem } from '#model/problem'

/** Tickets that wait to be used; one lives for half a minute, so this is 3 000 a second. */
const ticketsMax = 100_000
/** Of one session: it can't take them all. */
const sessionTicketsMax = 10_000
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

interface Waiting {
  readonly bearer: Bearer
  readonly endsAt: number
}

/**
 * Short-lived strings that say who opens a websocket, because browsers can't send headers there. Each is good once, and
 * is consumed when it is first shown, good or not. Contract 4.1.
 */
export class Tickets {
  readonly #options: TicketsOptions
  /** In the order in which they end: all live equally long. */
  readonly #tickets = new BoundedMap<string, Waiting>(ticketsMax)
  readonly #counts = new Map<string, number>()
  /** What became of them; `refused`: shown, and worth nothing. */
  readonly counts = { issued: 0, used: 0, refused: 0 }

  constructor(options: TicketsOptions) {
    this.#options = options
  }

  /** Issued and not shown yet; among them some that ended just now. */
  get waitingCount(): number {
    return this.#tickets.size
  }

  /** @throws Problem `overloaded` when too many wait. */
  issue(caller: Caller): string {
    this.#dropEnded()
    const owner = ownerOf(caller.session)
    const count = this.#counts.get(owner) ?? 0
    const isFull = this.#tickets.size >= ticketsMax || (caller.session !== undefined && count >= sessionTicketsMax)
    if (isFull) throw new Problem('overloaded', 'too many tickets wait to be used')
    this.#counts.set(owner, count + 1)
    this.counts.issued++
    const ticket = Buffer.from(this.#options.random(ticketBytes)).toString('base64url')
    const bearer = caller.session ? { session: caller.session } : { caller }
    this.#tickets.set(ticket, { bearer, endsAt: this.#options.now() + this.#options.lifetimeMs })
    return ticket
  }

  /**
   * Who shows it, with the rights of now.
   *
   * @throws Problem `unauthorized` for one that is unknown, used or ended, and for one whose session is over.
   */
  consume(ticket: string): Caller {
    const found = this.#take(ticket)
    const caller = found && found.endsAt >= this.#options.now() ? this.#callerOf(found.bearer) : undefined
    if (!caller) {
      this.counts.refused++
      throw new Problem('unauthorized', 'invalid or expired ticket')
    }
    this.counts.used++
    return caller
  }

  #take(ticket: string): Waiting | undefined {
    const found = this.#tickets.get(ticket)
    if (!found) return undefined
    this.#tickets.delete(ticket)
    const owner = ownerOf('session' in found.bearer ? found.bearer.session : undefined)
    const left = (this.#counts.get(owner) ?? 0) - 1
    if (left > 0) this.#counts.set(owner, left)
    else this.#counts.delete(owner)
    return found
  }

  #callerOf(bearer: Bearer): Caller | undefined {
    return 'caller' in bearer ? bearer.caller : this.#options.callerOf?.(bearer.session)
  }

  #dropEnded(): void {
    const now = this.#options.now()
    for (;;) {
      const oldest = this.#tickets.oldest ?? ''
      const ticket = this.#tickets.get(oldest)
      if (!ticket || ticket.endsAt >= now) return
      this.#take(oldest)
    }
  }
}

/** Empty for all who have none. */
function ownerOf(session: SessionKey | undefined): string {
  return session ? `${session.kind}/${session.tenant}/${session.id}` : ''
}
