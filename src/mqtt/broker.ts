import type { Client } from '#mqtt/client'
import type { Delivery, Properties, Qos, Subscription } from '#mqtt/control-packets'
import { bytesOf, type UnacknowledgedMessages } from '#mqtt/outgoing-messages'
import { isMatchingLevels, TopicTree } from '#mqtt/topic'
import { runInSlices, Slices } from '#runtime/slices'
import type { World } from '#runtime/world'

/** A message on a free topic. */
export interface FreeMessage {
  readonly topic: string
  readonly payload: Uint8Array
  readonly qos: Qos
  readonly properties?: Properties | undefined
  /** When the message expires, by `World.monotonic`. MQTT 5.0 §3.3.2.3.3. */
  readonly expiresAt: number
}

/** A client with subscriptions, or the persistent session of a client that is disconnected. */
interface Subscriber {
  readonly key: string
  /** Undefined while the client is disconnected. */
  client: Client | undefined
  readonly subscriptions: Map<string, FreeSubscription>
  /** The messages that the client had not acknowledged when it disconnected. */
  unacknowledged: UnacknowledgedMessages | undefined
  /** Messages that arrived since the client disconnected. */
  readonly queue: FreeDelivery[]
  /** The memory of `unacknowledged` and `queue`. */
  bytes: number
  /** When the session ends if its client stays away, by `World.monotonic`. */
  endsAt: number
}

interface FreeSubscription {
  readonly subscriber: Subscriber
  readonly subscription: Subscription
  /** The whole filter of a shared subscription, `$share/<name>/<filter>`. Undefined for other subscriptions. */
  readonly share: string | undefined
}

interface RetainedMessage {
  readonly levels: readonly string[]
  readonly message: FreeMessage
}

/** The retained messages that are still to be compared with a new subscription. */
interface RetainedScan {
  readonly client: Client
  readonly subscription: Subscription
  readonly levels: readonly string[]
  readonly retained: Iterator<RetainedMessage>
}

interface FreeDelivery {
  readonly message: FreeMessage
  readonly delivery: Delivery
}

/** The limit of retained messages. Contract 10. */
const retainedMax = 10_000
const bytesMax = 64 * 1024 * 1024
/** The limit of subscriptions. Finding this many receivers of one message takes up to 20 ms. */
const subscriptionsMax = 50_000
const levelsMax = 200_000
/**
 * The limit of the levels of all filters from their first `+` on. Comparing a topic with this many levels takes some
 * milliseconds.
 */
const openLevelsMax = 20_000
const queuedMax = 10_000
/** A client with more unread bytes gets no messages with QoS 0. */
const unreadBytesMax = 512 * 1024
const sharedPattern = /^\$share\/([^/+#]+)\/(.+)$/

/** The name and the filter of a shared subscription. MQTT 5.0 §4.8.2. */
export function sharedFilterOf(filter: string): { readonly name: string; readonly filter: string } | undefined {
  const [, name, shared] = sharedPattern.exec(filter) ?? []
  return name === undefined || shared === undefined ? undefined : { name, filter: shared }
}

export interface BrokerOptions {
  readonly world: World
  readonly mayReceive: (client: Client) => boolean
}

/** An ordinary broker for the clients of one tenant, in memory. MQTT 5.0 §4.1, §4.8. */
export class Broker {
  readonly #options: BrokerOptions
  readonly #subscribers = new Map<string, Subscriber>()
  readonly #tree = new TopicTree<FreeSubscription>()
  readonly #retained = new Map<string, RetainedMessage>()
  readonly #scans: RetainedScan[] = []
  /** Messages that are not delivered to all receivers yet. */
  readonly #publications: Iterator<undefined, void>[] = []
  /** The memory of messages in `#publications`, of retained messages, and of messages for disconnected clients. */
  #bytes = 0
  /** A counter for each shared subscription, which selects the next member in rotation. */
  readonly #turns = new Map<string, number>()

  constructor(options: BrokerOptions) {
    this.#options = options
  }

  /** Returns false if a new subscription would exceed a limit of the broker. */
  subscribe(key: string, client: Client, subscription: Subscription): boolean {
    const { topic } = subscription
    const subscriber = this.#subscriberOf(key, client)
    const before = subscriber.subscriptions.get(topic)
    const { size, levels, openLevels } = this.#tree
    const isFull =
      size >= subscriptionsMax || levels >= levelsMax || (topic.includes('+') && openLevels >= openLevelsMax)
    if (!before && isFull) return false
    const shared = sharedFilterOf(topic)
    const filter = shared?.filter ?? topic
    const added = { subscriber, subscription, share: shared && topic }
    if (before) this.#tree.delete(filter, before)
    this.#tree.add(filter, added)
    subscriber.subscriptions.set(topic, added)
    return true
  }

  unsubscribe(key: string, topic: string): void {
    const subscriber = this.#subscribers.get(key)
    const known = subscriber?.subscriptions.get(topic)
    if (!subscriber || !known) return
    subscriber.subscriptions.delete(topic)
    this.#tree.delete(sharedFilterOf(topic)?.filter ?? topic, known)
    if (subscriber.subscriptions.size === 0 && !subscriber.unacknowledged) this.#subscribers.delete(key)
  }

  /** Continues the session of a client, and sends the messages that the client missed. */
  resume(key: string, client: Client): void {
    const subscriber = this.#subscribers.get(key)
    if (!subscriber) return
    const { unacknowledged, queue } = subscriber
    subscriber.client = client
    subscriber.unacknowledged = undefined
    this.#bytes -= subscriber.bytes
    subscriber.bytes = 0
    const mayReceive = this.#options.mayReceive(client)
    // Messages that were sent before are sent again in any case, because the client still knows their identifiers.
    if (unacknowledged) client.outgoing.resume(mayReceive ? unacknowledged : { ...unacknowledged, queue: [] })
    for (const { message, delivery } of queue.splice(0)) if (mayReceive) this.#send(client, message, delivery)
  }

  /** The client disconnected. If `endsAt` is undefined, the session ends now. */
  left(key: string, endsAt: number | undefined): void {
    const subscriber = this.#subscribers.get(key)
    if (!subscriber) return
    if (endsAt === undefined) {
      this.forget(key)
      return
    }
    subscriber.unacknowledged = this.#withinLimit(subscriber, subscriber.client?.outgoing.kept())
    subscriber.client = undefined
    subscriber.endsAt = endsAt
  }

  /** Drops messages that would exceed `bytesMax`. */
  #withinLimit(subscriber: Subscriber, kept: UnacknowledgedMessages | undefined): UnacknowledgedMessages | undefined {
    const hasSpace = ({ delivery }: { readonly delivery: Delivery }) => {
      const bytes = bytesOf(delivery)
      if (this.#bytes + bytes > bytesMax) return false
      subscriber.bytes += bytes
      this.#bytes += bytes
      return true
    }
    return kept && { sent: kept.sent.filter(([, message]) => hasSpace(message)), queue: kept.queue.filter(hasSpace) }
  }

  forget(key: string): void {
    const subscriber = this.#subscribers.get(key)
    if (!subscriber) return
    this.#bytes -= subscriber.bytes
    this.#subscribers.delete(key)
    for (const [topic, known] of subscriber.subscriptions) {
      this.#tree.delete(sharedFilterOf(topic)?.filter ?? topic, known)
    }
  }

  /** Ends expired sessions, and removes expired retained messages. */
  expire(): void {
    const now = this.#options.world.monotonic()
    for (const { key, client, endsAt } of [...this.#subscribers.values()])
      if (!client && endsAt <= now) this.forget(key)
    for (const { message } of [...this.#retained.values()])
      if (message.expiresAt <= now) this.#dropRetained(message.topic)
  }

  /**
   * Retains a message. An empty payload deletes the retained message. Returns false if there is no space.
   * MQTT-3.3.1-5, MQTT-3.3.1-6.
   */
  #retain(message: FreeMessage): boolean {
    const { topic, payload } = message
    const before = this.#retained.get(topic)
    const freed = before ? bytesOf(before.message) : 0
    const bytes = payload.length === 0 ? 0 : bytesOf(message)
    const isFull = this.#bytes - freed + bytes > bytesMax || (!before && this.#retained.size >= retainedMax)
    if (bytes > 0 && isFull) return false
    this.#dropRetained(topic)
    if (bytes === 0) return true
    this.#bytes += bytes
    this.#retained.set(topic, { levels: topic.split('/'), message })
    return true
  }

  /** Sends the retained messages that match a new subscription, in slices, one subscription after another. */
  sendRetained(client: Client, subscription: Subscription): void {
    this.#scans.push({ client, subscription, levels: subscription.topic.split('/'), retained: this.#retained.values() })
    if (this.#scans.length === 1) runInSlices(this.#options.world, () => this.#scanNext())
  }

  /** A retained message that is replaced during the scan moves to the end of the map, and is sent then. */
  #scanNext(): boolean {
    const { client, subscription, levels, retained } = this.#scans[0] as RetainedScan
    // The client has disconnected, unsubscribed, or subscribed again.
    const isOver = client.isClosed || client.subscriptions.get(subscription.topic) !== subscription
    const next = isOver || !this.#options.mayReceive(client) ? undefined : retained.next()
    if (!next || next.done) this.#scans.shift()
    else if (isMatchingLevels(levels, next.value.levels)) {
      const { message } = next.value
      this.#send(client, message, deliveryOf(message, [subscription], true))
    }
    return this.#scans.length > 0
  }

  /**
   * Retains a message if requested, and delivers it in slices, because each receiver of a large message costs some
   * milliseconds. Later messages wait until this message is delivered. Returns false if the message cannot be retained,
   * or if other messages wait and no space is left; then the message has no effect.
   */
  publish(message: FreeMessage, from: Client | undefined, isRetained: boolean, delivered: () => void): boolean {
    const bytes = bytesOf(message)
    if (this.#bytes + bytes > bytesMax && this.#publications.length > 0) return false
    if (isRetained && !this.#retain(message)) return false
    this.#bytes += bytes
    this.#publications.push(this.#publication(message, from, isRetained, delivered))
    if (this.#publications.length > 1) return true
    const { world } = this.#options
    const slice = new Slices(world)
    while (!slice.isOver) if (!this.#deliverNext()) return true
    runInSlices(world, () => this.#deliverNext())
    return true
  }

  #deliverNext(): boolean {
    if (this.#publications[0]?.next().done) this.#publications.shift()
    return this.#publications.length > 0
  }

  /** Delivers a message. Each step delivers to one receiver. */
  *#publication(message: FreeMessage, from: Client | undefined, isRetained: boolean, delivered: () => void) {
    const bySubscriber = new Map<Subscriber, Subscription[]>()
    const shares = new Map<string, FreeSubscription[]>()
    for (const found of this.#tree.matching(message.topic)) {
      const { subscriber, subscription, share } = found
      if (share !== undefined) {
        const members = shares.get(share)
        if (members) members.push(found)
        else shares.set(share, [found])
      } else if (!subscription.nl || subscriber.client !== from) {
        const others = bySubscriber.get(subscriber)
        if (others) others.push(subscription)
        else bySubscriber.set(subscriber, [subscription])
      }
    }
    for (const [subscriber, subscriptions] of bySubscriber) {
      this.#deliver(subscriber, subscriptions, message, isRetained)
      yield
    }
    for (const [share, members] of shares) {
      const member = this.#next(share, members)
      if (member) this.#deliver(member.subscriber, [member.subscription], message, false)
      yield
    }
    this.#bytes -= bytesOf(message)
    delivered()
  }

  /**
   * The next member of a shared subscription, in rotation. A disconnected member is chosen only if no connected member
   * may receive the message.
   */
  #next(share: string, members: readonly FreeSubscription[]): FreeSubscription | undefined {
    const present = members.filter(({ subscriber: { client } }) => client && this.#options.mayReceive(client))
    const among = present.length > 0 ? present : members.filter(({ subscriber }) => !subscriber.client)
    const turn = (this.#turns.get(share) ?? 0) + 1
    if (this.#turns.size >= subscriptionsMax) this.#turns.clear()
    this.#turns.set(share, turn)
    return among[turn % among.length]
  }

  #deliver(subscriber: Subscriber, subscriptions: readonly Subscription[], message: FreeMessage, isRetained: boolean) {
    const { client, queue } = subscriber
    const delivery = deliveryOf(message, subscriptions, isRetained && subscriptions.some(({ rap }) => rap))
    if (client) {
      if (this.#options.mayReceive(client)) this.#send(client, message, delivery)
      return
    }
    const bytes = bytesOf(delivery)
    if (delivery.qos === 0 || queue.length >= queuedMax || this.#bytes + bytes > bytesMax) return
    queue.push({ message, delivery })
    subscriber.bytes += bytes
    this.#bytes += bytes
  }

  #send(client: Client, { expiresAt }: FreeMessage, delivery: Delivery): void {
    const leftS = Math.ceil((expiresAt - this.#options.world.monotonic()) / 1_000)
    if (leftS <= 0 || (delivery.qos === 0 && client.unsentBytes() > unreadBytesMax)) return
    const expiry = Number.isFinite(leftS) ? { messageExpiryInterval: leftS } : {}
    const properties = { ...delivery.properties, ...expiry }
    const isPlain = Object.keys(properties).length === 0
    client.outgoing.send({ delivery: isPlain ? delivery : { ...delivery, properties }, isKept: true })
  }

  #subscriberOf(key: string, client: Client): Subscriber {
    let subscriber = this.#subscribers.get(key)
    if (!subscriber) {
      subscriber = {
        key,
        client,
        subscriptions: new Map(),
        unacknowledged: undefined,
        queue: [],
        bytes: 0,
        endsAt: Number.POSITIVE_INFINITY,
      }
      this.#subscribers.set(key, subscriber)
    }
    return subscriber
  }

  #dropRetained(topic: string): void {
    const known = this.#retained.get(topic)
    if (!known) return
    this.#retained.delete(topic)
    this.#bytes -= bytesOf(known.message)
  }
}

/**
 * One delivery for all matching subscriptions of a client, with the highest QoS of these, but not above the QoS of the
 * message. MQTT-3.3.4-2.
 */
function deliveryOf(message: FreeMessage, subscriptions: readonly Subscription[], isRetained: boolean): Delivery {
  const { topic, payload, properties } = message
  const identifiers = subscriptions.flatMap(({ identifier }) => identifier ?? [])
  const { topicAlias: _, messageExpiryInterval: __, ...passed } = properties ?? {}
  const given = { ...passed, ...(identifiers.length > 0 && { subscriptionIdentifier: identifiers }) }
  return {
    topic,
    payload,
    qos: Math.min(message.qos, Math.max(...subscriptions.map(({ qos }) => qos))) as Qos,
    isRetained,
    ...(Object.keys(given).length > 0 && { properties: given }),
  }
}
