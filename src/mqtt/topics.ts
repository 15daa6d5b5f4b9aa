import type { Client, ClientMessage } from '#mqtt/client'
import type { Subscription } from '#mqtt/control-packets'
import type { Answer, LinkTopics } from '#mqtt/link-topics'
import { reasons } from '#mqtt/reasons'

/** Contract 10. */
const subscriptionsMax = 100

/** What each topic means. */
export class Topics {
  readonly #links: LinkTopics

  constructor(links: LinkTopics) {
    this.#links = links
  }

  connected(client: Client): void {
    this.#links.connected(client)
  }

  disconnected(client: Client): void {
    this.#links.disconnected(client)
  }

  publish(client: Client, message: ClientMessage, answer: Answer): void {
    if (message.topic === linkTopic) this.#links.publish(client, message, answer)
    else answer({ reason: reasons.topicNameInvalid, message: `${message.topic} is not a topic of this server` })
  }

  /** The granted QoS, or the reason of the refusal. */
  subscribe(client: Client, { topic }: Subscription): number {
    if (!fixedTopics.has(topic)) return reasons.topicFilterInvalid
    if (client.subscriptions.size >= subscriptionsMax) return reasons.quotaExceeded
    client.subscriptions.add(topic)
    return 0
  }

  /** Whether the client had this subscription. */
  unsubscribe(client: Client, topic: string): boolean {
    return client.subscriptions.delete(topic)
  }
}

const linkTopic = 'v1/link'

/** What is sent to a client without a subscription; subscribing to it is accepted. */
const fixedTopics: ReadonlySet<string> = new Set(['v1/link/down', 'v1/errors'])
