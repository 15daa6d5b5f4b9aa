import { Problem } from '#model/problem'
import { isPermitted } from '#model/scope'
import { Broker, sharedFilterOf } from '#mqtt/broker'
import type { Client, ClientMessage } from '#mqtt/client'
import type { Subscription } from '#mqtt/control-packets'
import type { Answer } from '#mqtt/link-exchange'
import { bytesOf } from '#mqtt/outgoing-messages'
import { reasons } from '#mqtt/reason-codes'
import { isTopicFilter } from '#mqtt/topic'
import { type Due, DueQueue, unplaced } from '#runtime/due-queue'
import type { World } from '#runtime/world'

/** The will of a client that has gone. */
export interface FreeWill extends Pick<ClientMessage, 'topic' | 'payload' | 'qos' | 'isRetained' | 'properties'> {
  readonly delayMs: number
}

interface DelayedWill extends Due {
  readonly client: Client
  readonly will: Omit<FreeWill, 'delayMs'>
}

export interface FreeTopicsParts {
  readonly world: World
  readonly isOn: boolean
  /** Called for an accepted message with QoS 2: its identifier is stored with the session, then `answer` runs. */
  readonly received: (client: Client, packetId: number, answer: () => void) => void
}

/** Topics that only servers use. MQTT 5.0 §4.7.2. */
const serverTopic = /^\$(?:SYS|share)(?:\/|$)/

/** The limit of wills that wait for their delay. Further wills are published at once. */
const delayedMax = 10_000
const delayedBytesMax = 64 * 1024 * 1024

/**
 * The topics outside `v1/`, if they are enabled: a broker for each tenant. Devices may use all of them; others need
 * permissions on `service`. Contract 10.
 */
export class FreeTopics {
  readonly #world: World
  readonly #isOn: boolean
  readonly #brokers = new Map<string, Broker>()
  /** Delayed wills by session. */
  readonly #wills: DueQueue<DelayedWill>
  #willBytes = 0
  readonly #received: FreeTopicsParts['received']

  constructor({ world, isOn, received }: FreeTopicsParts) {
    this.#world = world
    this.#isOn = isOn
    this.#received = received
    this.#wills = new DueQueue(world, 'monotonic', (delayed) => this.#publishDelayed(delayed))
  }

  /** Whether the topic or filter is outside `v1/`, and such topics are enabled. */
  includes(topic: string): boolean {
    return this.#isOn && topic !== 'v1' && !topic.startsWith('v1/')
  }

  /** `isContinued`: the client continues its session. */
  connected(client: Client, isContinued: boolean): void {
    if (!this.#isOn) return
    const key = client.key
    this.#endDelay(key, isContinued)
    const broker = this.#brokerOf(client)
    if (!isContinued) {
      broker.forget(key)
      return
    }
    broker.resume(key, client)
    for (const subscription of client.subscriptions.values()) {
      if (this.includes(subscription.topic)) broker.subscribe(key, client, subscription)
    }
  }

  /**
   * Ends the delay of a will. The will is dropped if the client came back in time, and published if its session has
   * ended. MQTT-3.1.3-9.
   */
  #endDelay(key: string, isContinued: boolean): void {
    const delayed = this.#wills.get(key)
    if (!delayed) return
    this.#wills.delete(key)
    if (isContinued) this.#willBytes -= bytesOf(delayed.will)
    else this.#publishDelayed(delayed)
  }

  #publishDelayed({ client, will }: DelayedWill): void {
    this.#willBytes -= bytesOf(will)
    this.#publish(client, will)
  }

  /** `expiryMs`: how long the session lasts from now on. If 0, the session ends now. */
  disconnected(client: Client, expiryMs: number): void {
    const broker = this.#brokers.get(client.principal.tenant)
    broker?.left(client.key, expiryMs > 0 ? this.#world.monotonic() + expiryMs : undefined)
  }

  /** Drops all messages, subscriptions and wills, because another node answers now. */
  clear(): void {
    this.#brokers.clear()
    this.#wills.clear()
    this.#willBytes = 0
  }

  /** Called every second. */
  tick(): void {
    for (const broker of this.#brokers.values()) broker.expire()
  }

  /** Returns the granted QoS, or the reason of the refusal. */
  subscribe(client: Client, subscription: Subscription, isNew: boolean): number {
    const { topic, rh = 0 } = subscription
    const shared = sharedFilterOf(topic)
    const isValid =
      !topic.startsWith('$share/') || (shared && isTopicFilter(shared.filter) && this.includes(shared.filter))
    if (!isValid) return reasons.topicFilterInvalid
    if (!mayReceive(client)) return reasons.notAuthorized
    const broker = this.#brokerOf(client)
    if (!broker.subscribe(client.key, client, subscription)) return reasons.quotaExceeded
    const hasRetained = !shared && (rh === 0 || (rh === 1 && isNew))
    if (hasRetained) broker.sendRetained(client, subscription)
    return subscription.qos
  }

  unsubscribe(client: Client, topic: string): void {
    this.#brokers.get(client.principal.tenant)?.unsubscribe(client.key, topic)
  }

  publish(client: Client, message: ClientMessage, answer: Answer): void {
    const { topic, qos, packetId } = message
    if (serverTopic.test(topic)) answer({ reason: reasons.topicNameInvalid, message: 'only servers use this topic' })
    else if (!mayPublish(client)) {
      answer({ reason: reasons.notAuthorized, message: 'publishing here needs the permission update on service' })
    } else if (this.#publish(client, message, qos === 2 ? () => {} : answer)) {
      if (qos === 2) this.#received(client, packetId, answer)
    } else answer({ reason: reasons.quotaExceeded, message: 'too many messages are retained or waiting' })
  }

  /** Publishes a will, after its delay. MQTT-3.1.2-8, MQTT-3.1.3-9. */
  publishWill(client: Client, { delayMs, ...will }: FreeWill): void {
    if (!mayPublish(client) || serverTopic.test(will.topic)) return
    const bytes = bytesOf(will)
    // The client came back without completing its sign-in, so its earlier will is still waiting.
    const before = this.#wills.get(client.key)
    if (before) this.#willBytes -= bytesOf(before.will)
    const isFull = this.#wills.size >= delayedMax || this.#willBytes + bytes > delayedBytesMax
    if (delayMs === 0 || isFull) {
      this.#publish(client, will)
      return
    }
    this.#willBytes += bytes
    this.#wills.put({ ...unplaced, key: client.key, client, will }, this.#world.monotonic() + delayMs)
  }

  /** Returns false if there is no space. `delivered` is then not called. */
  #publish(client: Client, message: Omit<FreeWill, 'delayMs'>, delivered = () => {}): boolean {
    const broker = this.#brokerOf(client)
    const { topic, qos, isRetained, properties } = message
    const expiryS = properties?.messageExpiryInterval ?? Number.POSITIVE_INFINITY
    // Copied, because the bytes are only valid during this call.
    const payload = Uint8Array.from(message.payload)
    const expiresAt = this.#world.monotonic() + expiryS * 1_000
    const free = { topic, payload, qos, properties, expiresAt }
    return broker.publish(free, client, isRetained, delivered)
  }

  #brokerOf({ principal: { tenant } }: Client): Broker {
    let broker = this.#brokers.get(tenant)
    if (!broker) {
      broker = new Broker({ world: this.#world, mayReceive })
      this.#brokers.set(tenant, broker)
    }
    return broker
  }
}

function mayPublish(client: Client): boolean {
  return isAllowed(client, 'update')
}

function mayReceive(client: Client): boolean {
  return isAllowed(client, 'read')
}

/** While the store is closed, the permissions of programs are unknown, so programs may do nothing. */
function isAllowed({ principal: { link, caller } }: Client, action: 'read' | 'update'): boolean {
  if (link) return true
  try {
    const now = caller?.now()
    return now !== undefined && isPermitted(now.scope, 'service', action)
  } catch (error) {
    if (error instanceof Problem) return false
    throw error
  }
}
