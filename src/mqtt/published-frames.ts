import type { LinkCodec, ServerFrame } from '#link/codec'
import { jsonCodec } from '#link/codecs'
import type { DeviceFrame } from '#link/device-frame'
import { msgpackCodec } from '#link/msgpack-codec'
import type { LinkErrorCode } from '#model/problem'
import type { Refusal } from '#mqtt/client'
import { type Reason, reasons } from '#mqtt/reason-codes'

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
