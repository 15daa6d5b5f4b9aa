import type { Audit } from '#http/request-log'
import type { Links } from '#link/links'
import type { Entry } from '#model/entry'
import { Problem } from '#model/problem'
import type { InternShape } from '#model/shape'
import type { Client, ClientMessage } from '#mqtt/client'
import type { Connect, Subscription } from '#mqtt/control-packets'
import { FreeReports } from '#mqtt/free-reports'
import { FreeTopics } from '#mqtt/free-topics'
import { type Answer, LinkExchange } from '#mqtt/link-exchange'
import { LinkTopics } from '#mqtt/link-topics'
import { readerKindOf } from '#mqtt/reader-filter'
import { type ReaderParts, ReaderTopics } from '#mqtt/reader-topics'
import { reasons } from '#mqtt/reason-codes'
import { type Session, Sessions } from '#mqtt/sessions'
import { SetTopics } from '#mqtt/set-topics'
import { ThingsBoardTopics } from '#mqtt/thingsboard-topics'
import { isTopicName } from '#mqtt/topic'
import type { System } from '#runtime/system'
import type { World } from '#runtime/world'

export interface TopicsOptions extends Pick<ReaderParts, 'hub' | 'listing' | 'localTopics'> {
  readonly world: World
  readonly system: System<Entry>
  readonly links: Links
  readonly intern: InternShape
  readonly audit: Audit
  /** Whether topics outside `v1/` are enabled. */
  readonly hasFreeTopics: boolean
}

/** Passes each message to the module for its topic. */
export class Topics {
  /** A client begins or continues its session before CONNACK. */
  readonly sessions: Sessions
  readonly exchange: LinkExchange
  readonly #links: LinkTopics
  readonly #thingsBoard: ThingsBoardTopics
  readonly #readers: ReaderTopics
  readonly #writes: SetTopics
  readonly free: FreeTopics
  readonly hasFreeTopics: boolean
  /** Counts of messages of clients. */
  readonly counts = { received: 0, refused: 0 }
  #ticks = 0

  constructor({ world, system, links, intern, audit, hub, listing, localTopics, hasFreeTopics }: TopicsOptions) {
    const sessions = new Sessions(system)
    const exchange = new LinkExchange(links, sessions)
    const reports = new FreeReports({ system, links, intern })
    this.sessions = sessions
    this.exchange = exchange
    this.#links = new LinkTopics({ links, sessions, exchange })
    this.#thingsBoard = new ThingsBoardTopics({ system, links, exchange, reports })
    this.#readers = new ReaderTopics({ system, hub, listing, localTopics, port: links.port })
    const received = (client: Client, packetId: number, answer: () => void) => {
      client.openPacketIds.add(packetId)
      sessions.received(client, packetId)
      if (sessions.has(client)) links.port.whenStored(answer)
      else answer()
    }
    this.#writes = new SetTopics({ system, links, audit, received })
    this.free = new FreeTopics({ world, isOn: hasFreeTopics, received })
    this.hasFreeTopics = hasFreeTopics
  }

  /** Call after CONNACK, and before any message of the client. */
  connected(client: Client, { devices, position, isContinued }: Session): void {
    this.#links.connected(client, devices)
    for (const filter of client.subscriptions.keys()) {
      if (ThingsBoardTopics.isTopic(filter)) this.#thingsBoard.subscribed(client, filter)
    }
    this.#readers.resume(client, position)
    this.free.connected(client, isContinued)
  }

  disconnected(client: Client): void {
    this.#links.disconnected(client)
    this.#thingsBoard.disconnected(client)
    this.#position(client)
    this.#readers.disconnected(client)
    this.free.disconnected(client, this.sessions.expiryMsOf(client))
    this.sessions.left(client)
  }

  /** Called every second. */
  tick(): void {
    if (++this.#ticks % positionsEverySeconds === 0)
      for (const client of this.sessions.clients()) this.#position(client)
    this.sessions.renew()
    this.free.tick()
  }

  #position(client: Client): void {
    this.sessions.positioned(client, this.#readers.positionOf(client))
  }

  publish(client: Client, message: ClientMessage, answer: Answer): void {
    const { topic } = message
    this.counts.received++
    if (topic === linkTopic) this.#links.publish(client, message, answer)
    else if (ThingsBoardTopics.isTopic(topic)) this.#thingsBoard.publish(client, message, answer)
    else if (this.exchange.isRepeated(client, message)) answer()
    else if (SetTopics.isTopic(topic)) this.#writes.publish(client, message, answer)
    else if (this.free.includes(topic)) this.free.publish(client, message, answer)
    else answer({ reason: reasons.topicNameInvalid, message: `${topic} is not a topic of this server` })
  }

  /** Publishes the will when a connection ends. The will of a device is published before the device is offline. */
  publishWill(client: Client, { topic, payload, qos, retain, properties = {} }: NonNullable<Connect['will']>): void {
    if (!isTopicName(topic)) return
    const { willDelayInterval = 0, ...passed } = properties
    const will = { topic, payload, qos, isRetained: retain, properties: passed }
    try {
      if (!this.free.includes(topic)) {
        this.publish(client, { ...will, qos: 0, packetId: 0 }, () => {})
        return
      }
      const delayMs = Math.min(willDelayInterval * 1_000, this.sessions.expiryMsOf(client))
      this.free.publishWill(client, { ...will, delayMs })
    } catch (error) {
      // The store is closed; the connection ends without the will.
      if (!(error instanceof Problem)) throw error
    }
  }

  /** Returns the granted QoS, or the reason of the refusal. */
  subscribe(client: Client, subscription: Subscription): number {
    const { topic } = subscription
    const { subscriptions } = client
    const isNew = !subscriptions.has(topic)
    if (isNew && subscriptions.size >= subscriptionsMax) return reasons.quotaExceeded
    const granted = this.#granted(client, subscription, isNew)
    if (granted <= 2) subscriptions.set(topic, subscription)
    return granted
  }

  #granted(client: Client, subscription: Subscription, isNew: boolean): number {
    const { topic } = subscription
    if (fixedTopics.has(topic)) return 0
    if (ThingsBoardTopics.isTopic(topic)) {
      return this.#thingsBoard.subscribed(client, topic) ? 0 : reasons.notAuthorized
    }
    if (readerKindOf(topic)) return this.#readers.subscribe(client, subscription, isNew)
    if (this.free.includes(topic)) return this.free.subscribe(client, subscription, isNew)
    return reasons.topicFilterInvalid
  }

  /** Returns whether the client had this subscription. */
  unsubscribe(client: Client, topic: string): boolean {
    this.#readers.unsubscribe(client, topic)
    this.free.unsubscribe(client, topic)
    return client.subscriptions.delete(topic)
  }

  /** Stores the subscriptions of a persistent session. */
  saveSubscriptions(client: Client): void {
    this.#position(client)
    this.sessions.subscriptionsChanged(client)
  }
}

const linkTopic = 'v1/link'
/** The limit of subscriptions of one client. Contract 10. */
export const subscriptionsMax = 100
/** Positions are stored this often. After a kill of the process, later events are sent again. */
const positionsEverySeconds = 10

/** Topics that clients receive without a subscription; subscribing to them is accepted. */
const fixedTopics: ReadonlySet<string> = new Set(['v1/link/down', 'v1/errors'])
