import type { LinkCodec, ServerFrame } from '#link/codec'
import { jsonCodec } from '#link/codecs'
import type { DeviceFrame } from '#link/device-frame'
import type { Link } from '#link/link'
import type { Links } from '#link/links'
import { msgpackCodec } from '#link/msgpack-codec'
import type { LinkErrorCode } from '#model/problem'
import type { Client, ClientMessage, Refusal } from '#mqtt/client'
import { type Reason, reasons } from '#mqtt/reason-codes'
import type { Sessions } from '#mqtt/sessions'

/** Answers a message once, when it is stored or refused. */
export type Answer = (refusal?: Refusal) => void

/** A client as a device connection of `src/link`. */
export interface ClientLink {
  readonly link: Link
  readonly frames: PublishedFrames
  /** Runs in the commit of each message. */
  readonly taken?: () => void
}

/** Answers each message of a device after its commit. Contract 10, Delivery. */
export class LinkExchange {
  readonly #links: Links
  readonly #sessions: Sessions

  constructor(links: Links, sessions: Sessions) {
    this.#links = links
    this.#sessions = sessions
  }

  /** Whether the message was accepted before. A repeated message is only answered. */
  isRepeated(client: Client, { qos, packetId }: ClientMessage): boolean {
    return qos === 2 && client.openPacketIds.has(packetId)
  }

  /**
   * Answers a message that was handed to its device, or that is repeated. If the connection ends before the commit, the
   * message is never answered, and the client sends it again.
   */
  answer(client: Client, { link, frames, taken }: ClientLink, message: ClientMessage, answer: Answer): void {
    const { qos, packetId } = message
    const isRepeated = this.isRepeated(client, message)
    if (qos === 2) client.openPacketIds.add(packetId)
    const { queue, port } = this.#links
    const take = () => {
      if (!link.isAccepting) return
      if (qos === 2 && !isRepeated) this.#sessions.received(client, packetId)
      taken?.()
      port.whenStored(() => {
        if (!link.isOpen) return
        const { refusal } = frames
        frames.refusal = undefined
        // In version 5 a refusal ends the exchange, and the client may use the identifier again. MQTT 5.0 §4.3.3.
        const isEnded = refusal !== undefined && qos === 2 && client.version === 5
        if (isEnded) this.release(client, packetId, () => answer(refusal))
        else answer(refusal)
      })
    }
    queue.after(link, take)
  }

  /**
   * Frees an identifier of QoS 2, and then calls `released`, after which the client may use the identifier for another
   * message. So if the session is persistent, `released` runs only when the change is stored, also for a repeated
   * PUBREL.
   */
  release(client: Client, packetId: number, released: (isKnown: boolean) => void): void {
    const isKnown = client.openPacketIds.delete(packetId)
    this.#sessions.released(client, packetId)
    if (this.#sessions.has(client)) this.#links.port.whenStored(() => released(isKnown))
    else released(isKnown)
  }
}

const brace = 0x7b
const bracket = 0x5b

/**
 * The codec of one client, whose messages may be in JSON or msgpack. The server uses the form of the last message.
 * PUBACK and PUBREC replace ACK. Contract 10.
 */
export class PublishedFrames implements LinkCodec {
  /** Why the last message of the client was refused. */
  refusal: Refusal | undefined
  /** Whether HELLO or BYE was read. */
  hasNewDevices = false
  #codec: LinkCodec = jsonCodec

  decode(data: Uint8Array): DeviceFrame {
    const isJson = data[0] === brace || data[0] === bracket
    this.#codec = isJson ? jsonCodec : msgpackCodec
    // No sequence numbers are expected: repeated messages are recognised by their packet identifiers.
    const frame = this.#codec.decode(data, !isJson, false)
    if (frame.kind === 'other' && isAboutDevices(frame.message)) this.hasNewDevices = true
    return frame
  }

  encode(message: ServerFrame): string | Uint8Array {
    if (message.type === 'ERROR') this.#refuse(message)
    return this.#codec.encode(message)
  }

  acknowledge(): undefined {}

  /**
   * An error that only names a device by its address is no answer: the device was removed, or is on another connection
   * now.
   */
  #refuse(error: ServerFrame): void {
    const isAnswer = 'seq' in error || 'deviceIdentifier' in error || !('flakeAddress' in error)
    if (!isAnswer) return
    const reason = refusalReasons[error.code as LinkErrorCode] ?? reasons.payloadInvalid
    this.refusal = { reason, message: String(error.message) }
  }
}

function isAboutDevices(message: unknown): boolean {
  const type = (message as { readonly type?: unknown } | null)?.type
  return type === 'HELLO' || type === 'BYE'
}

const refusalReasons: Partial<Record<LinkErrorCode, Reason>> = {
  NOT_ALLOWED: reasons.notAuthorized,
  FLAPPING: reasons.quotaExceeded,
}
