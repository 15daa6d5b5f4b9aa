import type { SeededRandom } from '#bench/random'
import type { WebhookAnswer } from '#model/webhook'
import type { WebhookPost, WebhookSender } from '#notifications/webhook-sender'
import type { World } from '#runtime/world'

/** Receives messages of the server. It outlives the processes that use it. */
export abstract class SimulatedReceiver<Message, Watcher extends ReceiverWatcher<Message>> {
  watcher: Watcher | undefined
  /** Accepts everything that is valid. */
  isHealthy = false
  protected readonly random: SeededRandom
  /** The messages that were sent and have no result so far; true: the message has arrived. */
  protected readonly sent = new Map<Message, boolean>()

  constructor(random: SeededRandom) {
    this.random = random
  }

  /** The number of messages without a result. */
  get underWay(): number {
    return this.sent.size
  }

  /** Messages in progress arrive or are lost. */
  senderDied(): void {
    for (const [message, hasArrived] of this.sent)
      if (!hasArrived && this.random.next() < 0.5) this.watcher?.arrived(message)
    this.sent.clear()
    this.watcher?.senderDied()
  }

  protected arrives(message: Message): void {
    this.sent.set(message, true)
    this.watcher?.arrived(message)
  }
}

/** Observes the messages of a receiver. */
export interface ReceiverWatcher<Message> {
  /** A message is handed over: the permissions at this moment count. */
  handed(message: Message): void
  /** A message arrived; the sender may not know that. */
  arrived(message: Message): void
  /** The sending process is dead. */
  senderDied(): void
}

export interface WebhookWatcher extends ReceiverWatcher<WebhookPost> {
  /** The sender gets the answer. */
  answered(post: WebhookPost, answer: WebhookAnswer): void
}

/** Receivers of webhooks that are slow, answer with errors, or accept a webhook without an answer. */
export class SimulatedReceivers extends SimulatedReceiver<WebhookPost, WebhookWatcher> {
  /** The view of one process. */
  seenBy(world: World): WebhookSender {
    return { faultOf: () => undefined, post: (post) => this.#post(post, world), close: () => {} }
  }

  async #post(post: WebhookPost, world: World): Promise<WebhookAnswer> {
    const random = this.random
    this.watcher?.handed(post)
    this.sent.set(post, false)
    const isOk = this.isHealthy || random.next() < 0.85
    const answer: WebhookAnswer = isOk ? 204 : (random.pick([500, 'timeout', 'connection'] as const) ?? 500)
    const arrives = isOk || random.next() < 0.5
    if (arrives && random.next() < 0.6) this.arrives(post)
    if (random.next() < 0.5) {
      const delayMs = random.between(0, random.next() < 0.1 ? 3_000 : 20)
      await new Promise<void>((resolve) => world.after(delayMs, resolve))
    }
    if (arrives && !this.sent.get(post)) this.arrives(post)
    this.sent.delete(post)
    this.watcher?.answered(post, answer)
    return answer
  }
}
