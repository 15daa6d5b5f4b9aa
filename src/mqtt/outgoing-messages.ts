import { type Delivery, type Properties, packetTypes } from '#mqtt/control-packets'
import { type Reason, reasons } from '#mqtt/reason-codes'

/** The methods of a client that its messages need. */
interface Receiver {
  readonly isClosed: boolean
  /** Returns false if the packet is too large for the client, or the client is closed. */
  deliver(message: Delivery): boolean
  /** Sends PUBREL. */
  release(packetId: number, reason: Reason): void
  endUnread(): void
  onDrained(): void
}

/** A message until its client has acknowledged it. */
interface Unacknowledged {
  readonly delivery: Delivery
  /** The offset of its event in the stream. */
  readonly offset?: number | undefined
  /** Whether the session keeps the message, because it cannot be read again from elsewhere. */
  readonly isKept?: boolean
  /** Whether PUBREC was received. */
  isReleased?: boolean
}

/** Unacknowledged messages of a session without a client. */
export interface UnacknowledgedMessages {
  readonly sent: readonly (readonly [packetId: number, message: Unacknowledged])[]
  readonly queue: readonly Unacknowledged[]
}

/** While this many sent bytes are not acknowledged, further messages wait. A message may be as large as a packet. */
const sentBytesMax = 1024 * 1024
/** If more bytes than this wait, the client is disconnected. */
const queuedBytesMax = 4 * 1024 * 1024
/** The memory of a message, and of each of its user properties, besides their bytes. */
const messageOverheadBytes = 200
const propertyOverheadBytes = 100
const packetIdentifierMax = 0xffff
const firstFailure = 0x80

/**
 * Messages with QoS 1 and 2 to one client. While `windowMax` messages or `sentBytesMax` bytes are unacknowledged,
 * further messages wait here, in order. MQTT 5.0 §4.3, §4.9.
 */
export class OutgoingMessages {
  readonly #client: Receiver
  readonly #windowMax: number
  /** Sent messages by packet identifier, in the order of sending. */
  readonly #sent = new Map<number, Unacknowledged>()
  #queue: Unacknowledged[] = []
  #lastIdentifier = 0
  #sentBytes = 0
  /** The memory of the messages in `#queue`. */
  queuedBytes = 0

  constructor(client: Receiver, windowMax: number) {
    this.#client = client
    this.#windowMax = windowMax
  }

  /** The message may be shared by several clients. */
  send(message: Omit<Unacknowledged, 'isReleased'>): void {
    if (message.delivery.qos === 0) this.#client.deliver(message.delivery)
    else this.#enqueue({ ...message })
  }

  /** PUBACK, PUBREC or PUBCOMP was received. */
  acknowledged(type: number, packetId: number, reason: number): void {
    const message = this.#sent.get(packetId)
    if (type === packetTypes.pubrec && (!message || reason < firstFailure)) {
      if (message) message.isReleased = true
      this.#client.release(packetId, message ? reasons.success : reasons.packetIdentifierUnknown)
      return
    }
    if (!message) return
    this.#sent.delete(packetId)
    this.#sentBytes -= bytesOf(message.delivery)
    if (this.#queue.length === 0) return
    while (this.#mayTransmit && this.#queue.length > 0) {
      const next = this.#queue.shift() as Unacknowledged
      this.queuedBytes -= bytesOf(next.delivery)
      this.#transmit(next)
    }
    if (this.#queue.length === 0) this.#client.onDrained()
  }

  get #mayTransmit(): boolean {
    return this.#sent.size < this.#windowMax && this.#sentBytes < sentBytesMax
  }

  /** The offset of the first event that is not acknowledged. */
  get firstOffset(): number | undefined {
    for (const { offset } of this.#sent.values()) if (offset !== undefined) return offset
    return this.#queue.find(({ offset }) => offset !== undefined)?.offset
  }

  /** Whether there are unacknowledged messages that belong to no event and are not kept by the session. */
  get hasOthers(): boolean {
    const messages = [...this.#sent.values(), ...this.#queue]
    return messages.some(({ offset, isKept }) => offset === undefined && !isKept)
  }

  /** The messages that the session keeps for its next connection. */
  kept(): UnacknowledgedMessages {
    return {
      sent: [...this.#sent].filter(([, { isKept }]) => isKept),
      queue: this.#queue.filter(({ isKept }) => isKept),
    }
  }

  /** Sends the kept messages. Messages that were sent before keep their packet identifiers. MQTT-4.4.0-1. */
  resume({ sent, queue }: UnacknowledgedMessages): void {
    for (const [packetId, message] of sent) {
      this.#add(packetId, message)
      this.#lastIdentifier = Math.max(this.#lastIdentifier, packetId)
      if (message.isReleased) this.#client.release(packetId, reasons.success)
      else this.#client.deliver({ ...message.delivery, packetId, isDuplicate: true })
    }
    for (const message of queue) this.#enqueue(message)
  }

  #enqueue(message: Unacknowledged): void {
    if (this.#mayTransmit && this.#queue.length === 0) {
      this.#transmit(message)
      return
    }
    this.#queue.push(message)
    this.queuedBytes += bytesOf(message.delivery)
    if (this.queuedBytes > queuedBytesMax) this.#client.endUnread()
  }

  /**
   * A packet that is too large for the client counts as acknowledged (MQTT-3.1.2-25). A message to a closed client stays
   * unacknowledged, so that its session sends the message again.
   */
  #transmit(message: Unacknowledged): void {
    const packetId = this.#nextIdentifier()
    const isSent = this.#client.deliver({ ...message.delivery, packetId })
    if (isSent || this.#client.isClosed) this.#add(packetId, message)
  }

  #add(packetId: number, message: Unacknowledged): void {
    this.#sent.set(packetId, message)
    this.#sentBytes += bytesOf(message.delivery)
  }

  #nextIdentifier(): number {
    do this.#lastIdentifier = (this.#lastIdentifier % packetIdentifierMax) + 1
    while (this.#sent.has(this.#lastIdentifier))
    return this.#lastIdentifier
  }
}

interface MessageContent extends Pick<Delivery, 'topic' | 'payload'> {
  readonly properties?: Properties | undefined
}

/** The memory that a message takes. */
export function bytesOf({ topic, payload, properties }: MessageContent): number {
  return topic.length + payload.length + messageOverheadBytes + (properties ? propertiesBytesOf(properties) : 0)
}

/** The memory of user properties. All deliveries of a message share the same object. */
const userPropertiesBytes = new WeakMap<object, number>()

function propertiesBytesOf({ responseTopic = '', contentType = '', ...others }: Properties): number {
  const { correlationData, userProperties } = others
  const bytes = responseTopic.length + contentType.length + (correlationData?.length ?? 0)
  if (!userProperties) return bytes
  let all = userPropertiesBytes.get(userProperties)
  if (all === undefined) {
    all = 0
    for (const [name, value] of Object.entries(userProperties)) {
      for (const each of [value].flat()) all += propertyOverheadBytes + name.length + each.length
    }
    userPropertiesBytes.set(userProperties, all)
  }
  return bytes + all
}
