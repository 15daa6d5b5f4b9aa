import type { SeededRandom } from '#bench/random'
import { type Mail, type MailMessage, MailRefused } from '#notifications/mail'
import type { World } from '#runtime/world'

/** Who looks at what becomes of mails. */
export interface MailWatcher {
  /** It is handed over: whatever decides whether he may be told counts as it is now. */
  handed(message: MailMessage): void
  /** It is there, though whoever sent it may not know. */
  arrived(message: MailMessage): void
  /** Whoever sent it is told so. */
  taken(message: MailMessage): void
  refused(message: MailMessage, refusal: MailRefused): void
  /** The process that sends mails is dead. */
  senderDied(): void
}

/** What becomes of one mail. */
interface Fate {
  readonly arrives: 'at once' | 'late' | 'never'
  readonly refusal: MailRefused | undefined
  /** Until whoever sends it is told. */
  readonly delayMs: number
}

/** One that has no mailbox: mail to it never arrives. */
const goneStart = 'gone'

/**
 * A mail server as they are: it takes its time, refuses for good or for now, is away for a while, and breaks off before and
 * behind the last dot. It outlives the processes that send by it.
 */
export class SimulatedMailServer {
  watcher: MailWatcher | undefined
  /** It takes all that can be taken. */
  isHealthy = false
  readonly #random: SeededRandom
  /** And whether it has arrived. */
  readonly #underWay = new Map<MailMessage, boolean>()
  #isAway = false

  constructor(random: SeededRandom) {
    this.#random = random
  }

  /** How many are neither taken nor refused. */
  get underWay(): number {
    return this.#underWay.size
  }

  /** It goes away or comes back. */
  act(): void {
    this.#isAway = this.#random.next() < 0.4
  }

  /** As one process sees it. */
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

  /** What was under way arrives, or not. */
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
