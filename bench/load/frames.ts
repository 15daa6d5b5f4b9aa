import { type LengthOf, type MessageReader, messageReader } from '#bench/load/messages'

/**
 * Minimal WebSocket frames (RFC 6455 §5.2): a load generator must cost less than the server that it measures. Client
 * frames have the masking key 0, which leaves the bytes unchanged.
 */

export const opcodes = { text: 1, binary: 2, close: 8, ping: 9, pong: 10 } as const

const isFinal = 0x80
const isMasked = 0x80
const maskBytes = 4

export function clientFrame(payload: Uint8Array, opcode: number = opcodes.binary): Buffer {
  const head = payload.length < 126 ? 2 : 4
  const frame = Buffer.alloc(head + maskBytes + payload.length)
  frame[0] = isFinal | opcode
  if (head === 2) frame[1] = isMasked | payload.length
  else {
    if (payload.length > 0xffff) throw new RangeError('the load generator sends no frames above 64 KiB')
    frame[1] = isMasked | 126
    frame.writeUInt16BE(payload.length, 2)
  }
  frame.set(payload, head + maskBytes)
  return frame
}

export function opcodeAt(bytes: Buffer, at: number): number {
  return (bytes[at] as number) & 0x0f
}

/** The start of the payload of the server frame at `at`. */
export function payloadAt(bytes: Buffer, at: number): number {
  const short = bytes[at + 1] as number
  return at + (short < 126 ? 2 : short === 126 ? 4 : 10)
}

/** The length of a frame. Text frames count as deliveries. */
export const frameLengthOf: LengthOf = (bytes, at) => {
  if (at + 2 > bytes.length) return 0
  let length = 2 + (bytes[at + 1] as number)
  if (length === 2 + 126) {
    if (at + 4 > bytes.length) return 0
    length = 4 + bytes.readUInt16BE(at + 2)
  } else if (length === 2 + 127) {
    if (at + 10 > bytes.length) return 0
    length = 10 + Number(bytes.readBigUInt64BE(at + 2))
  }
  if (opcodeAt(bytes, at) === opcodes.text) return length
  return at + length > bytes.length ? 0 : -length
}

/** Receives a complete payload; the buffer is reused after the call. */
export type FrameHandler = (bytes: Buffer, start: number, end: number, opcode: number) => void

export function frameReader(onFrame: FrameHandler): MessageReader {
  const take = (bytes: Buffer, at: number, end: number) => {
    onFrame(bytes, payloadAt(bytes, at), end, opcodeAt(bytes, at))
    return true
  }
  return messageReader(frameLengthOf, take, take)
}
