import { isPromiseLike } from '#http/reply'
import { Problem } from '#model/problem'
import { Client, type ClientMessage, type Principal } from '#mqtt/client'
import {
  type ConnackProperties,
  type Connect,
  type ProtocolVersion,
  packetTypes,
  readConnect,
  readDisconnect,
  readSubscribe,
  readUnsubscribe,
  UnsupportedVersion,
  writeConnack,
  writeDisconnect,
  writeSuback,
  writeUnsuback,
} from '#mqtt/control-packets'
import { PacketReader, type PacketTurns } from '#mqtt/packet-reader'
import { readAcknowledgement, readPublish, TopicAliases, writeAcknowledgement } from '#mqtt/publish-packet'
import { connectRefusals, malformed, PacketFault, protocolError, type Reason, reasons } from '#mqtt/reason-codes'
import { isTopicFilter, isTopicName } from '#mqtt/topic'
import { subscriptionsMax, type Topics } from '#mqtt/topics'
import type { Transport } from '#mqtt/transport'
import type { CommitCallback } from '#runtime/gate'
import type { World } from '#runtime/world'

/** The largest CONNECT packet. No valid user name or password is larger. Contract 10. */
const connectBytesMax = 4 * 1024
const connectMsMax = 10_000
const packetBytesMax = 256 * 1024
const receiveMaximum = 1_024
const topicAliasMaximum = 64
/** Reading stops at this many unanswered messages, until half are answered. Less than `linkWindowMessages`. */
const inFlightMax = 1_000
/** Shared by all connections. */
export interface ConnectionContext {
  readonly world: World
  readonly turns: PacketTurns
  readonly topics: Topics
  /** @throws Problem `unauthorized`, `too_many_requests`, `storage`, `stopping` */
  readonly principalOf: (connect: Connect, address: string) => Principal | Promise<Principal>
  /** Called when a client has signed in. Ends an older connection of the same client. */
  readonly accepted: (connection: Connection, client: Client) => void
  readonly closed: (connection: Connection) => void
  readonly afterCommit: (callback: CommitCallback) => void
  readonly bug: (error: unknown) => void
}

/** One connection of a client, from its first byte to its end. MQTT 5.0 §4. */
export class Connection {
  readonly #context: ConnectionContext
  readonly #transport: Transport
  readonly #reader: PacketReader
  #version: ProtocolVersion = 4
  client: Client | undefined
  /** Whether CONNACK was sent. */
  #isConnected = false
  #will: Connect['will']
  readonly #aliases = new TopicAliases(topicAliasMaximum)
  #isClosed = false
  /** When the connection ends if no packet arrives, by `World.monotonic`. */
  deadlineMs: number
  #keepAliveMs = 0

  constructor(context: ConnectionContext, transport: Transport) {
    this.#context = context
    this.#transport = transport
    this.#reader = new PacketReader({
      transport,
      turns: context.turns,
      bytesMax: connectBytesMax,
      take: (first, body) => this.#packet(first, body),
      turn: () => this.#attempt(() => this.#reader.takeBacklog()),
    })
    this.deadlineMs = context.world.monotonic() + connectMsMax
  }

  received(chunk: Uint8Array): void {
    if (!this.#isClosed) this.#attempt(() => this.#reader.received(chunk))
  }

  /** Ends the connection after a text frame of a websocket. MQTT-6.0.0-1. */
  notBinary(): void {
    this.end(reasons.malformedPacket, 'MQTT needs binary frames')
  }

  /** The transport can take further bytes. */
  drained(): void {
    this.client?.onDrained()
  }

  /**
   * Ends the connection after a packet was dropped, because the client does not read. Ends in a later task, because a
   * connection must not be closed while a packet is sent.
   */
  unread(): void {
    this.#context.world.soon(() => this.end(reasons.quotaExceeded, 'the client does not read'))
  }

  /** The client closed the connection, or the connection broke. */
  closed(): void {
    if (this.#isClosed) return
    this.#close()
  }

  /** No packet arrived in time. MQTT-3.1.2-22. */
  expired(): void {
    // Packets that wait for their turn arrived in time.
    if (!this.#reader.isWaiting) this.end(reasons.keepAliveTimeout, 'no packet within 1.5 × keep alive')
  }

  /** Disconnects the client, and publishes its will. */
  end(reason: Reason, message: string): void {
    if (this.#isClosed) return
    if (this.#isConnected && this.#version === 5) this.#transport.send(writeDisconnect(reason, message))
    this.#transport.close()
    this.#close()
  }

  /** A message was answered: reading continues if it was stopped and at most half of `inFlightMax` are unanswered. */
  #answered(client: Client): void {
    client.inFlight--
    if (this.#reader.isPaused && client.inFlight <= inFlightMax / 2) this.#resume()
  }

  #resume(): void {
    if (!this.#isClosed) this.#attempt(() => this.#reader.resume())
  }

  /** Runs a task, and ends the connection if it throws. */
  #attempt(task: () => void): void {
    try {
      task()
    } catch (error) {
      this.#failed(error)
    }
  }

  #close(): void {
    this.#isClosed = true
    this.#reader.close()
    const client = this.client
    const will = this.#will
    this.#will = undefined
    if (client && will) this.#context.topics.publishWill(client, will)
    if (client) client.isClosed = true
    this.#context.closed(this)
  }

  #packet(first: number, body: Uint8Array): void {
    const type = first >> 4
    const client = this.client
    if (this.#keepAliveMs > 0) this.deadlineMs = this.#context.world.monotonic() + this.#keepAliveMs
    if (client && type === packetTypes.publish) this.#publish(client, first, body)
    else if (client) this.#control(client, type, first, body)
    else if (type === packetTypes.connect) this.#connect(first, body)
    else throw malformed('the first packet is not CONNECT')
  }

  #control(client: Client, type: number, first: number, body: Uint8Array): void {
    switch (type) {
      case packetTypes.puback:
      case packetTypes.pubrec:
      case packetTypes.pubcomp:
      case packetTypes.pubrel:
        this.#acknowledgement(client, type, first, body)
        break
      case packetTypes.subscribe:
        this.#subscribe(client, first, body)
        break
      case packetTypes.unsubscribe:
        this.#unsubscribe(client, first, body)
        break
      case packetTypes.pingreq:
        if (first !== 0xc0 || body.length > 0) throw malformed('PINGREQ')
        client.send(pingResponse)
        break
      case packetTypes.disconnect:
        this.#disconnect(client, first, body)
        break
      default:
        throw protocolError('a client may not send this packet now')
    }
  }

  #connect(first: number, body: Uint8Array): void {
    let connect: Connect
    try {
      connect = readConnect(first, body)
    } catch (error) {
      if (error instanceof UnsupportedVersion) {
        // CONNACK has the form of the supported version that is nearest to the requested one. MQTT-3.1.2-2.
        this.#refuse(error.version, error.reason, error.message)
        return
      }
      throw error
    }
    this.#version = connect.protocolVersion
    if (connect.properties?.authenticationMethod !== undefined) {
      this.#refuse(this.#version, reasons.badAuthenticationMethod, 'only user name and password are supported')
      return
    }
    if (connect.clientId === '' && this.#version === 4 && !connect.clean) {
      this.#refuse(4, reasons.clientIdentifierInvalid, 'a persistent session needs a client identifier')
      return
    }
    void this.#signIn(connect)
  }

  /** Refuses the client also if its session cannot be read, for example while the server starts and loads the store. */
  async #signIn(connect: Connect): Promise<void> {
    try {
      const checked = this.#context.principalOf(connect, this.#transport.address)
      // Keeps later packets until the credentials are checked. Most are checked at once, and must not wait.
      if (isPromiseLike(checked)) this.#reader.pause()
      const principal = isPromiseLike(checked) ? await checked : checked
      if (!this.#isClosed) this.#accept(connect, principal)
    } catch (error) {
      this.#refuseProblem(error)
    }
  }

  #accept(connect: Connect, principal: Principal): void {
    const { world } = this.#context
    const isNamed = connect.clientId !== ''
    const clientId = isNamed ? connect.clientId : Buffer.from(world.random(12)).toString('hex')
    const offered = connect.properties ?? {}
    // MQTT 3.1.1 has no session expiry interval, so its persistent sessions last as long as possible. MQTT-3.1.2-4.
    const expiryS = this.#version === 5 ? (offered.sessionExpiryInterval ?? 0) : connect.clean ? 0 : foreverS
    this.#keepAliveMs = connect.keepalive * 1_500
    this.deadlineMs = this.#keepAliveMs > 0 ? world.monotonic() + this.#keepAliveMs : Number.POSITIVE_INFINITY
    this.#reader.framing.bytesMax = packetBytesMax
    const client = new Client({
      transport: this.#transport,
      version: this.#version,
      principal,
      clientId,
      packetBytesMax: offered.maximumPacketSize ?? Number.POSITIVE_INFINITY,
      receiveMaximum: offered.receiveMaximum ?? Number.POSITIVE_INFINITY,
      topicAliasMaximum: Math.min(offered.topicAliasMaximum ?? 0, topicAliasMaximum),
      end: (reason, message) => world.soon(() => this.end(reason, message)),
    })
    this.client = client
    this.#will = connect.will
    this.#context.accepted(this, client)
    const { topics } = this.#context
    const { isPresent, session } = topics.sessions.begin(client, connect.clean, expiryS * 1_000)
    const expiryMs = topics.sessions.has(client) ? session.expiryMs : 0
    const properties: ConnackProperties = {
      receiveMaximum,
      maximumPacketSize: packetBytesMax,
      topicAliasMaximum,
      ...(!topics.hasFreeTopics && { retainAvailable: false, sharedSubscriptionAvailable: false }),
      ...(expiryS > expiryMs / 1_000 && { sessionExpiryInterval: Math.floor(expiryMs / 1_000) }),
      ...(!isNamed && { assignedClientIdentifier: clientId }),
    }
    // The client relies on its session from CONNACK on, so the session is stored first.
    this.#reader.pause()
    const connack = writeConnack(this.#version, reasons.success, isPresent, properties)
    const connected = () => {
      if (this.#isClosed) return
      client.send(connack)
      this.#isConnected = true
      if (this.#version === 5) this.#transport.setFarewell?.(farewell)
      topics.connected(client, session)
      this.#resume()
    }
    const failed = () => this.#refuse(this.#version, reasons.serverUnavailable, 'the session could not be stored')
    if (expiryMs === 0) connected()
    else this.#context.afterCommit({ committed: connected, failed })
  }

  #refuseProblem(error: unknown): void {
    if (!(error instanceof Problem)) {
      this.#failed(error)
      return
    }
    const reason = connectRefusals[error.code] ?? reasons.serverUnavailable
    this.#refuse(this.#version, reason, error.message)
  }

  #refuse(version: ProtocolVersion, reason: Reason, reasonString: string): void {
    if (this.#isClosed) return
    this.#transport.send(writeConnack(version, reason, false, { reasonString }))
    this.#transport.close()
    this.#close()
  }

  #publish(client: Client, first: number, body: Uint8Array): void {
    const publication = readPublish(first, body, this.#version)
    const topic = this.#aliases.topicOf(publication)
    const message: ClientMessage = topic === publication.topic ? publication : { ...publication, topic }
    if (!isTopicName(message.topic)) throw new PacketFault(reasons.topicNameInvalid, 'not a topic name')
    client.inFlight++
    // MQTT 3.1.1 has no receive maximum, so only the number of packet identifiers limits its messages.
    const isNew = message.qos === 2 && !client.openPacketIds.has(message.packetId)
    if (client.version === 5 && isNew && client.openPacketIds.size >= receiveMaximum) {
      throw new PacketFault(reasons.receiveMaximumExceeded, `more than ${receiveMaximum} messages in flight`)
    }
    if (client.inFlight >= inFlightMax) this.#reader.pause()
    // The callback must not reference the payload, which is a view of all bytes of one read: they would stay in memory
    // until the commit.
    const { qos, packetId } = message
    const { topics } = this.#context
    topics.publish(client, message, (refusal) => {
      if (refusal) topics.counts.refused++
      client.acknowledge({ topic, qos, packetId }, refusal)
      this.#answered(client)
    })
  }

  #acknowledgement(client: Client, type: number, first: number, body: Uint8Array): void {
    if ((first & 15) !== (type === packetTypes.pubrel ? 2 : 0)) throw malformed('reserved flags')
    const { packetId, reason: given } = readAcknowledgement(body, this.#version)
    if (type !== packetTypes.pubrel) {
      client.outgoing.acknowledged(type, packetId, given)
      return
    }
    this.#context.topics.exchange.release(client, packetId, (isKnown) => {
      const reason = isKnown ? reasons.success : reasons.packetIdentifierUnknown
      client.send(writeAcknowledgement(packetTypes.pubcomp, packetId, this.#version, reason))
    })
  }

  #subscribe(client: Client, first: number, body: Uint8Array): void {
    const { messageId, subscriptions, properties } = readSubscribe(first, body, this.#version)
    const identifier = properties?.subscriptionIdentifier
    const granted = subscriptions.map((subscription, place) => {
      // Repeated topics count too, because each of them takes time.
      if (place >= subscriptionsMax) return reasons.quotaExceeded
      return isTopicFilter(subscription.topic)
        ? this.#context.topics.subscribe(client, { ...subscription, ...(identifier && { identifier }) })
        : reasons.topicFilterInvalid
    })
    this.#whenSaved(client, () => client.send(writeSuback(this.#version, messageId, granted)))
  }

  /** Answers when the session is stored, because the client relies on the stored session after the answer. */
  #whenSaved(client: Client, answer: () => void): void {
    const { topics, afterCommit } = this.#context
    topics.saveSubscriptions(client)
    const failed = () => this.end(reasons.serverBusy, 'the session could not be stored')
    if (topics.sessions.has(client)) afterCommit({ committed: answer, failed })
    else answer()
  }

  #unsubscribe(client: Client, first: number, body: Uint8Array): void {
    const { messageId, unsubscriptions } = readUnsubscribe(first, body, this.#version)
    const removed = unsubscriptions.map((topic) => this.#context.topics.unsubscribe(client, topic))
    const codes = removed.map((isRemoved) => (isRemoved ? reasons.success : reasons.noSubscriptionExisted))
    this.#whenSaved(client, () => client.send(writeUnsuback(this.#version, messageId, codes)))
  }

  /** Handles DISCONNECT. The will is deleted, unless the client wants it published. MQTT-3.14.4-3. */
  #disconnect(client: Client, first: number, body: Uint8Array): void {
    const { reasonCode = reasons.success, properties } = readDisconnect(first, body, this.#version)
    const expiryS = properties?.sessionExpiryInterval
    // MQTT-3.14.2-2.
    const { sessions } = this.#context.topics
    if (expiryS && !sessions.has(client)) throw protocolError('the session is not persistent')
    if (expiryS !== undefined) sessions.setExpiry(client, expiryS * 1_000)
    if (reasonCode !== reasons.disconnectWithWill) this.#will = undefined
    this.#transport.close()
    this.#close()
  }

  #failed(error: unknown): void {
    if (error instanceof PacketFault) {
      this.end(error.reason, error.message)
      return
    }
    this.#context.bug(error)
    this.end(reasons.implementationError, 'internal error')
  }
}

/** Sent to a client of version 5 at another node if that node stops or cannot reach this node. */
const farewell = writeDisconnect(reasons.serverStopping, 'connect again: this node stops or cannot reach the owner')

/** The value that means no expiry. MQTT 5.0 §3.1.2.11.2. */
const foreverS = 0xffff_ffff
const pingResponse = Uint8Array.of(0xd0, 0)
