import type { LinkCaller } from '#access/link-credentials'
import type { Caller } from '#model/caller'
import { type Delivery, type ProtocolVersion, packetTypes, type Subscription } from '#mqtt/control-packets'
import { OutgoingMessages } from '#mqtt/outgoing-messages'
import { deliveryPacket, type Publication, writeAcknowledgement, writeDelivery } from '#mqtt/publish-packet'
import { type Reason, reasons } from '#mqtt/reason-codes'
import type { Transport } from '#mqtt/transport'
import type { CloseReason } from '#runtime/close-codes'
import type { LocalSocket, LocalTopics } from '#runtime/local-topics'
import type { Socket } from '#runtime/socket'

/** The device, gateway, person or program that signed in. With authentication off, a client may act as any of these. */
export interface Principal {
  /** Identifies the principal among the principals of all tenants. A client identifier belongs to one principal. */
  readonly key: string
  readonly tenant: string
  /** A device, or a gateway for many. */
  readonly link?: LinkCaller
  /** With authentication off: the device that the user name names. */
  readonly me?: string
  /** A person or a program. */
  readonly caller?: Caller
}

/** Why a message was refused: a reason code for version 5, and a sentence. */
export interface Refusal {
  readonly reason: Reason
  readonly message: string
}

/** A message of a client, with its topic alias resolved. */
export type ClientMessage = Publication

export interface ClientParts {
  readonly transport: Transport
  readonly version: ProtocolVersion
  readonly principal: Principal
  readonly clientId: string
  /** The largest packet that the client takes. */
  readonly packetBytesMax: number
  /** The number of unacknowledged messages with QoS 1 or 2 that the client takes. */
  readonly receiveMaximum: number
  /** The number of topics that the client remembers by an alias. */
  readonly topicAliasMaximum: number
  /** Ends the connection later. */
  readonly end: (reason: Reason, message: string) => void
}

/** A client with more unread bytes is disconnected. */
const unsentBytesMax = 1024 * 1024

/** A client that has signed in, until its connection ends. */
export class Client {
  readonly principal: Principal
  readonly clientId: string
  readonly version: ProtocolVersion
  /** The same connection as a socket, for modules that use sockets. */
  readonly socket: ClientSocket
  /** Packet identifiers of received messages with QoS 2, until PUBREL. */
  readonly openPacketIds = new Set<number>()
  /** Subscriptions by topic filter. */
  readonly subscriptions = new Map<string, Subscription>()
  readonly outgoing: OutgoingMessages
  /** The number of messages of the client that are not acknowledged yet. */
  inFlight = 0
  /** Called when the client can take further messages. */
  onDrained: () => void = () => {}
  isClosed = false
  readonly #parts: ClientParts
  /** Aliases of the topics that were sent first. MQTT 5.0 §3.3.2.3.4. */
  readonly #aliases = new Map<string, number>()

  constructor(parts: ClientParts) {
    this.#parts = parts
    this.principal = parts.principal
    this.clientId = parts.clientId
    this.version = parts.version
    this.socket = new ClientSocket(this)
    this.outgoing = new OutgoingMessages(this, Math.min(parts.receiveMaximum, windowMax))
  }

  /** Identifies the client among all clients. Keys of principals contain no line break. */
  get key(): string {
    return `${this.principal.key}\n${this.clientId}`
  }

  get address(): string {
    return this.#parts.transport.address
  }

  unsentBytes(): number {
    return this.#parts.transport.unsentBytes()
  }

  /** Returns false, and sends nothing, if the client is closed or the packet is too large for it. MQTT-3.1.2-24. */
  send(packet: Uint8Array, mayWait = false): boolean {
    if (this.isClosed || packet.length > this.#parts.packetBytesMax) return false
    this.#parts.transport.send(packet, mayWait)
    if (this.unsentBytes() > unsentBytesMax) this.endUnread()
    return true
  }

  endUnread(): void {
    this.end(reasons.quotaExceeded, 'the client does not read')
  }

  /** Sends PUBREL. */
  release(packetId: number, reason: Reason): void {
    this.send(writeAcknowledgement(packetTypes.pubrel, packetId, this.version, reason))
  }

  deliver(message: Delivery): boolean {
    const { topicAliasMaximum } = this.#parts
    if (topicAliasMaximum === 0) {
      return this.send(deliveryPacket(message, this.version), true)
    }
    const known = this.#aliases.get(message.topic)
    const topicAlias = known ?? this.#aliases.size + 1
    if (topicAlias > topicAliasMaximum) return this.send(writeDelivery(message, this.version), true)
    const properties = { ...message.properties, topicAlias }
    const topic = known === undefined ? message.topic : ''
    const isSent = this.send(writeDelivery({ ...message, topic, properties }, this.version), true)
    if (isSent) this.#aliases.set(message.topic, topicAlias)
    return isSent
  }

  /**
   * Sends PUBACK for QoS 1, PUBREC for QoS 2. A client of 3.1.1 gets a refusal as a message on `v1/errors`.
   * Contract 10.
   */
  acknowledge({ packetId, qos, topic }: Pick<ClientMessage, 'packetId' | 'qos' | 'topic'>, refusal?: Refusal): void {
    if (refusal && this.version === 4) {
      const payload = JSON.stringify({ topic, message: refusal.message })
      this.deliver({ topic: errorsTopic, payload, qos: 0 })
    }
    if (qos === 0) return
    const type = qos === 1 ? packetTypes.puback : packetTypes.pubrec
    this.send(writeAcknowledgement(type, packetId, this.version, refusal?.reason, refusal?.message))
  }

  end(reason: Reason, message: string): void {
    this.#parts.end(reason, message)
  }
}

/** The limit of unacknowledged messages to one client. Each may be as large as an event. */
const windowMax = 1_024

/** The topic on which a client of 3.1.1 receives refusals. */
const errorsTopic = 'v1/errors'

/** The reason that replaces each close code of websockets. */
const reasonsByCode: Readonly<Record<CloseReason['code'], Reason>> = {
  4400: reasons.payloadInvalid,
  4401: reasons.notAuthorized,
  4403: reasons.notAuthorized,
  4408: reasons.keepAliveTimeout,
  1012: reasons.serverStopping,
  1011: reasons.implementationError,
  1013: reasons.serverBusy,
}

/**
 * A client as a socket of `src/runtime`. The module that uses the socket publishes its messages. An MQTT server cannot
 * ping: the keep alive detects a client that has gone.
 */
export class ClientSocket implements Socket, LocalSocket {
  readonly #client: Client
  /** Set by the module that uses the socket. */
  onMessage: (message: string | Uint8Array) => void = () => {}
  receive: (messages: readonly string[]) => void = () => {}
  /** The topics of events. Undefined for a socket that receives no events. */
  topics: LocalTopics | undefined
  readonly #subscribed = new Set<string>()

  constructor(client: Client) {
    this.#client = client
  }

  get remoteAddress(): string {
    return this.#client.address
  }

  send(message: string | Uint8Array): boolean {
    this.onMessage(message)
    return true
  }

  cork(task: () => void): void {
    task()
  }

  bufferedBytes(): number {
    return this.#client.unsentBytes() + this.#client.outgoing.queuedBytes
  }

  subscribe(topic: string): void {
    this.#subscribed.add(topic)
    this.topics?.subscribe(topic, this)
  }

  unsubscribe(topic: string): void {
    this.#subscribed.delete(topic)
    this.topics?.unsubscribe(topic, this)
  }

  /** Ends all subscriptions, as if the socket were closed. */
  unsubscribeAll(): void {
    for (const topic of [...this.#subscribed]) this.unsubscribe(topic)
  }

  ping(): void {}

  end(code: number, reason: string): void {
    this.#client.end(reasonsByCode[code as CloseReason['code']] ?? reasons.implementationError, reason)
  }
}
