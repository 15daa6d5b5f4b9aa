import type { SeededRandom } from '#bench/random'
import { type Mail, type MailMessage, MailRefused } from '#notifications/mail'
import type { World } from '#runtime/world'

/** Observes mails. */
export interface MailWatcher {
  /** A mail is handed over: the permissions at this moment count. */
  handed(message: MailMessage): void
  /** A mail arrived; the sender may not know it. */
  arrived(message: MailMessage): void
  /** The sender gets the result. */
  taken(message: MailMessage): void
  refused(message: MailMessage, refusal: MailRefused): void
  /** The sending process is dead. */
  senderDied(): void
}

/** The fate of one mail. */
interface Fate {
  readonly arrives: 'at once' | 'late' | 'never'
  readonly refusal: MailRefused | undefined
  /** Until the sender gets the result. */
  readonly delayMs: number
}

/** An address without a mailbox: no mail to it arrives. */
const goneStart = 'gone'

/**
 * A realistic mail server: slow, refusing permanently or temporarily, unavailable for a while, or dropping the connection
 * just before or after the final dot. It outlives the processes that use it.
 */
export class SimulatedMailServer {
  watcher: MailWatcher | undefined
  /** Accepts all valid mails. */
  isHealthy = false
  readonly #random: SeededRandom
  /** The observer, and whether the mail has arrived. */
  readonly #underWay = new Map<MailMessage, boolean>()
  #isAway = false

  constructor(random: SeededRandom) {
    this.#random = random
  }

  /** Mails neither accepted nor refused yet. */
  get underWay(): number {
    return this.#underWay.size
  }

  /** The server becomes unavailable or available. */
  act(): void {
    this.#isAway = this.#random.next() < 0.4
  }

  /** The view of one process. */
  seenBy(world: World): Mail {
    return {
      kind: 'smtp',
      from: 'Devices <devices@simulated>',
      host: 'simulated',
      open: async () => {},
      send: (message) => this.#send(message, world),
      close: async () => {},
    }
  }

  /** Mails in progress arrive or are lost. */
  senderDied(): void {
    for (const [message, hasArrived] of this.#underWay)
      if (!hasArrived && this.#random.next() < 0.5) this.watcher?.arrived(message)
    this.#underWay.clear()
    this.watcher?.senderDied()
  }

  async #send(message: MailMessage, world: World): Promise<void> {
    this.watcher?.handed(message)
    this.#underWay.set(message, false)
    const { arrives, refusal, delayMs } = this.#fateOf(message)
    if (arrives === 'at once') this.#arrives(message)
    if (delayMs > 0) await new Promise<void>((resolve) => world.after(delayMs, resolve))
    if (arrives === 'late') this.#arrives(message)
    this.#underWay.delete(message)
    if (!refusal) return this.watcher?.taken(message)
    this.watcher?.refused(message, refusal)
    throw refusal
  }

  #arrives(message: MailMessage): void {
    this.#underWay.set(message, true)
    this.watcher?.arrived(message)
  }

  #fateOf({ to }: MailMessage): Fate {
    const random = this.#random
    const isGone = to.startsWith(goneStart)
    const delayMs = random.next() < 0.5 ? 0 : random.between(0, random.next() < 0.1 ? 3_000 : 20)
    const refused = (kind: MailRefused['kind'], code: string) => new MailRefused(kind, code)
    if (isGone) return { arrives: 'never', refusal: refused('recipient', '550'), delayMs }
    if (!this.isHealthy) {
      const tried = random.next()
      const arrives = tried < 0.5 ? 'at once' : 'never'
      if (this.#isAway) return { arrives: 'never', refusal: refused('transport', 'TIMEOUT'), delayMs }
      if (random.next() < 0.03) return { arrives, refusal: refused('transport', 'ECONNECTION'), delayMs }
      if (random.next() < 0.03) return { arrives, refusal: refused('later', '451'), delayMs }
      if (random.next() < 0.02 && !to.startsWith('root')) {
        return { arrives: 'never', refusal: refused('message', '554'), delayMs }
      }
    }
    return { arrives: random.next() < 0.6 ? 'at once' : 'late', refusal: undefined, delayMs }
  }
}
