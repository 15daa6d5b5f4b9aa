import type { Links } from '#link/links'
import type { Entry } from '#model/entry'
import type { InternShape } from '#model/shape'
import type { Client, ClientMessage } from '#mqtt/client'
import type { Subscription } from '#mqtt/control-packets'
import { FreeReports } from '#mqtt/free-reports'
import { type Answer, LinkExchange } from '#mqtt/link-exchange'
import { LinkTopics } from '#mqtt/link-topics'
import { reasons } from '#mqtt/reasons'
import { type Session, Sessions } from '#mqtt/sessions'
import { ThingsBoardTopics } from '#mqtt/thingsboard-topics'
import type { System } from '#runtime/system'
import type { World } from '#runtime/world'

export interface TopicsOptions {
  readonly world: World
  readonly system: System<Entry>
  readonly links: Links
  readonly intern: InternShape
}

/** What each topic means. */
export class Topics {
  readonly #sessions: Sessions
  readonly #exchange: LinkExchange
  readonly #links: LinkTopics
  readonly #thingsBoard: ThingsBoardTopics

  constructor({ world, system, links, intern }: TopicsOptions) {
    const sessions = new Sessions(system)
    const exchange = new LinkExchange(links, sessions)
    const reports = new FreeReports({ system, links, intern })
    this.#sessions = sessions
    this.#exchange = exchange
    this.#links = new LinkTopics({ world, links, sessions, exchange })
    this.#thingsBoard = new ThingsBoardTopics({ system, links, exchange, reports })
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
    this.#thingsBoard.disconnected(client)
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
    this.#exchange.release(client, packetId, released)
  }

  /** Called every second. */
  tick(): void {
    this.#sessions.renew()
  }

  publish(client: Client, message: ClientMessage, answer: Answer): void {
    const { topic } = message
    if (topic === linkTopic) this.#links.publish(client, message, answer)
    else if (ThingsBoardTopics.isTopic(topic)) this.#thingsBoard.publish(client, message, answer)
    else answer({ reason: reasons.topicNameInvalid, message: `${topic} is not a topic of this server` })
  }

  /** The granted QoS, or the reason of the refusal. */
  subscribe(client: Client, { topic }: Subscription): number {
    const isThingsBoard = ThingsBoardTopics.isTopic(topic)
    if (!isThingsBoard && !fixedTopics.has(topic)) return reasons.topicFilterInvalid
    if (client.subscriptions.size >= subscriptionsMax && !client.subscriptions.has(topic)) return reasons.quotaExceeded
    client.subscriptions.add(topic)
    if (!isThingsBoard || this.#thingsBoard.subscribed(client, topic)) return 0
    client.subscriptions.delete(topic)
    return reasons.notAuthorized
  }

  /** Whether the client had this subscription. */
  unsubscribe(client: Client, topic: string): boolean {
    return client.subscriptions.delete(topic)
  }
}

const linkTopic = 'v1/link'
/** Contract 10. */
const subscriptionsMax = 100

/** Topics that clients receive without a subscription; subscribing to them is accepted. */
const fixedTopics: ReadonlySet<string> = new Set(['v1/link/down', 'v1/errors'])
