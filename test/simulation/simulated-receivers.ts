import type { SeededRandom } from '#bench/random'
import type { WebhookAnswer } from '#model/webhook'
import type { WebhookPost, WebhookReceivers } from '#notifications/webhook-receivers'
import type { World } from '#runtime/world'

/** Observes webhooks. */
export interface WebhookWatcher {
  /** A webhook is handed over: the permissions at this moment count. */
  handed(post: WebhookPost): void
  /** It arrived; the sender may not know it. */
  arrived(post: WebhookPost): void
  /** The sender gets the answer. */
  answered(post: WebhookPost, answer: WebhookAnswer): void
  /** The sending process is dead. */
  senderDied(): void
}

/** Receivers that are slow, answer with errors, or accept a webhook without an answer. They outlive the server. */
export class SimulatedReceivers {
  watcher: WebhookWatcher | undefined
  /** Accepts everything. */
  isHealthy = false
  readonly #random: SeededRandom
  /** Sent and not answered, and whether it has arrived. */
  readonly #underWay = new Map<WebhookPost, boolean>()

  constructor(random: SeededRandom) {
    this.#random = random
  }

  get underWay(): number {
    return this.#underWay.size
  }

  /** The view of one process. */
  seenBy(world: World): WebhookReceivers {
    return { faultOf: () => undefined, post: (post) => this.#post(post, world), close: () => {} }
  }

  /** Webhooks in progress arrive or are lost. */
  senderDied(): void {
    for (const [post, hasArrived] of this.#underWay) {
      if (!hasArrived && this.#random.next() < 0.5) this.watcher?.arrived(post)
    }
    this.#underWay.clear()
    this.watcher?.senderDied()
  }

  async #post(post: WebhookPost, world: World): Promise<WebhookAnswer> {
    const random = this.#random
    this.watcher?.handed(post)
    this.#underWay.set(post, false)
    const isOk = this.isHealthy || random.next() < 0.85
    const answer: WebhookAnswer = isOk ? 204 : (random.pick([500, 'timeout', 'connection'] as const) ?? 500)
    const arrives = isOk || random.next() < 0.5
    if (arrives && random.next() < 0.6) this.#arrives(post)
    if (random.next() < 0.5) {
      const delayMs = random.between(0, random.next() < 0.1 ? 3_000 : 20)
      await new Promise<void>((resolve) => world.after(delayMs, resolve))
    }
    if (arrives && !this.#underWay.get(post)) this.#arrives(post)
    this.#underWay.delete(post)
    this.watcher?.answered(post, answer)
    return answer
  }

  #arrives(post: WebhookPost): void {
    this.#underWay.set(post, true)
    this.watcher?.arrived(post)
  }
}
