import type { WebhookAnswer } from '#model/webhook'
import type { WebhookPost, WebhookSender } from '#notifications/webhook-sender'
import type { World } from '#runtime/world'
import { type ReceiverWatcher, SimulatedReceiver } from '#test/simulation/simulated-receiver'

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
