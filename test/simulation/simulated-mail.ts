import { type Mail, type MailMessage, MailRefused } from '#notifications/mail'
import type { World } from '#runtime/world'
import { type ReceiverWatcher, SimulatedReceiver } from '#test/simulation/simulated-receivers'

export interface MailWatcher extends ReceiverWatcher<MailMessage> {
  /** The sender learns that the mail was accepted. */
  taken(message: MailMessage): void
  refused(message: MailMessage, refusal: MailRefused): void
}

interface Fate {
  readonly arrives: 'at once' | 'late' | 'never'
  readonly refusal: MailRefused | undefined
  /** Until the sender gets the result. */
  readonly delayMs: number
}

/** The start of addresses without a mailbox: no mail to them arrives. */
const goneStart = 'gone'

/**
 * A realistic mail server: slow, refusing permanently or temporarily, unavailable for a while, or dropping the connection
 * just before or after the final dot.
 */
export class SimulatedMailServer extends SimulatedReceiver<MailMessage, MailWatcher> {
  #isAway = false

  /** The server becomes unavailable or available. */
  act(): void {
    this.#isAway = this.random.next() < 0.4
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

  async #send(message: MailMessage, world: World): Promise<void> {
    this.watcher?.handed(message)
    this.sent.set(message, false)
    const { arrives, refusal, delayMs } = this.#fateOf(message)
    if (arrives === 'at once') this.arrives(message)
    if (delayMs > 0) await new Promise<void>((resolve) => world.after(delayMs, resolve))
    if (arrives === 'late') this.arrives(message)
    this.sent.delete(message)
    if (!refusal) return this.watcher?.taken(message)
    this.watcher?.refused(message, refusal)
    throw refusal
  }

  #fateOf({ to }: MailMessage): Fate {
    const random = this.random
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
