import type { Links } from '#link/links'
import type { Entry } from '#model/entry'
import type { Client, ClientMessage } from '#mqtt/client'
import type { Subscription } from '#mqtt/control-packets'
import { type Answer, LinkTopics } from '#mqtt/link-topics'
import { reasons } from '#mqtt/reasons'
import { type Session, Sessions } from '#mqtt/sessions'
import type { System } from '#runtime/system'
import type { World } from '#runtime/world'

export interface TopicsOptions {
  readonly world: World
  readonly system: System<Entry>
  readonly links: Links
}

/** What each topic means. */
export class Topics {
  readonly #sessions: Sessions
  readonly #links: LinkTopics

  constructor({ world, system, links }: TopicsOptions) {
    this.#sessions = new Sessions(system)
    this.#links = new LinkTopics(world, links, this.#sessions)
  }

  /** Continues the session of the client, or begins one, before CONNACK. @throws Problem `storage` */
  begin(client: Client, isClean: boolean, expiryMs: number): { isPresent: boolean; session: Session } {
    return this.#sessions.begin(client, isClean, expiryMs)
  }

  /** Call after CONNACK, and before any message of the client. */
  connected(client: Client, { devices }: Session): void {
    this.#links.connected(client, devices)
  }

  disconnected(client: Client): void {
    this.#links.disconnected(client)
    this.#sessions.left(client)
  }

  isLasting(client: Client): boolean {
    return this.#sessions.has(client)
  }

  /** How long the session lasts after the end of the connection. */
  setExpiry(client: Client, expiryMs: number): void {
    this.#sessions.setExpiry(client, expiryMs)
  }

  /** PUBREL of the client. */
  release(client: Client, packetId: number, released: (isKnown: boolean) => void): void {
    this.#links.release(client, packetId, released)
  }

  /** Called every second. */
  tick(): void {
    this.#sessions.renew()
  }

  publish(client: Client, message: ClientMessage, answer: Answer): void {
    if (message.topic === linkTopic) this.#links.publish(client, message, answer)
    else answer({ reason: reasons.topicNameInvalid, message: `${message.topic} is not a topic of this server` })
  }

  /** The granted QoS, or the reason of the refusal. */
  subscribe(client: Client, { topic }: Subscription): number {
    if (!fixedTopics.has(topic)) return reasons.topicFilterInvalid
    client.subscriptions.add(topic)
    return 0
  }

  /** Whether the client had this subscription. */
  unsubscribe(client: Client, topic: string): boolean {
    return client.subscriptions.delete(topic)
  }
}

const linkTopic = 'v1/link'

/** Topics that clients receive without a subscription; subscribing to them is accepted. */
const fixedTopics: ReadonlySet<string> = new Set(['v1/link/down', 'v1/errors'])
