import type { Delivery } from '#mqtt/control-packets'

/** The client, as far as its messages need it. */
interface Receiver {
  /** Returns false if the packet is too large for the client. */
  deliver(message: Delivery): boolean
  endUnread(): void
  onDrained(): void
}

/** A message until its client has acknowledged it. */
interface Unacknowledged {
  readonly delivery: Delivery
  /** Of its event in the stream. */
  readonly offset: number | undefined
}

/** Bytes that wait for acknowledgements, above which the client is disconnected. */
const queuedBytesMax = 4 * 1024 * 1024
const messageOverheadBytes = 200
const packetIdentifierMax = 0xffff

/**
 * Messages with QoS 1 to one client. No more are sent than the client takes at once (receive maximum); the others wait
 * here, in order. MQTT 5.0 §4.9.
 */
export class Outgoing {
  readonly #client: Receiver
  readonly #windowMax: number
  /** By packet identifier, in the order of sending. */
  readonly #sent = new Map<number, Unacknowledged>()
  #queue: Unacknowledged[] = []
  #lastIdentifier = 0
  /** Of the messages that were not sent yet. */
  queuedBytes = 0

  constructor(client: Receiver, windowMax: number) {
    this.#client = client
    this.#windowMax = windowMax
  }

  send(delivery: Delivery, offset?: number): void {
    if (delivery.qos === 0) {
      this.#client.deliver(delivery)
      return
    }
    const message = { delivery, offset }
    if (this.#sent.size < this.#windowMax && this.#queue.length === 0) {
      this.#transmit(message)
      return
    }
    this.#queue.push(message)
    this.queuedBytes += bytesOf(delivery)
    if (this.queuedBytes > queuedBytesMax) this.#client.endUnread()
  }

  /** PUBACK. Of an identifier that was not sent it has no effect. */
  acknowledged(packetId: number): void {
    if (!this.#sent.delete(packetId) || this.#queue.length === 0) return
    const [next, ...rest] = this.#queue
    this.#queue = rest
    this.queuedBytes -= bytesOf((next as Unacknowledged).delivery)
    this.#transmit(next as Unacknowledged)
    if (rest.length === 0) this.#client.onDrained()
  }

  /** The offset of the first event that is not acknowledged. */
  get firstOffset(): number | undefined {
    for (const { offset } of this.#sent.values()) if (offset !== undefined) return offset
    return this.#queue.find(({ offset }) => offset !== undefined)?.offset
  }

  /** Whether messages that belong to no event are not acknowledged. */
  get hasOthers(): boolean {
    return [...this.#sent.values(), ...this.#queue].some(({ offset }) => offset === undefined)
  }

  /** A packet that is too large for the client counts as acknowledged. MQTT-3.1.2-25. */
  #transmit(message: Unacknowledged): void {
    const packetId = this.#nextIdentifier()
    if (this.#client.deliver({ ...message.delivery, packetId })) this.#sent.set(packetId, message)
  }

  #nextIdentifier(): number {
    do this.#lastIdentifier = (this.#lastIdentifier % packetIdentifierMax) + 1
    while (this.#sent.has(this.#lastIdentifier))
    return this.#lastIdentifier
  }
}

function bytesOf({ topic, payload }: Delivery): number {
  return topic.length + payload.length + messageOverheadBytes
}
