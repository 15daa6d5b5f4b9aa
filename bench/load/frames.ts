/**
 * Websocket frames by hand (RFC 6455 §5.2): a load generator has to cost less than what it measures, and a general
 * client costs more. Client frames carry the masking key 0, under which masked and plain bytes are the same.
 */
export const opcodes = { text: 1, binary: 2, close: 8, ping: 9, pong: 10 } as const

const isFinal = 0x80
const isMasked = 0x80
const maskBytes = 4

/** One client frame. */
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

/** Called with the bytes of one whole payload; they are only lent. */
export type FrameHeard = (bytes: Buffer, start: number, end: number, opcode: number) => void

/** Cuts what a server sends into frames. Payloads are handed on where they lie; only what is cut off is copied. */
export class FrameReader {
  readonly #heard: FrameHeard
  #rest: Buffer | undefined

  constructor(heard: FrameHeard) {
    this.#heard = heard
  }

  push(bytes: Buffer): void {
    const input = this.#rest ? Buffer.concat([this.#rest, bytes]) : bytes
    let at = 0
    while (at + 2 <= input.length) {
      const short = input[at + 1] as number
      let start = at + 2
      let length = short
      if (short === 126) {
        if (at + 4 > input.length) break
        length = ((input[at + 2] as number) << 8) | (input[at + 3] as number)
        start = at + 4
      } else if (short === 127) {
        if (at + 10 > input.length) break
        length = Number(input.readBigUInt64BE(at + 2))
        start = at + 10
      }
      const end = start + length
      if (end > input.length) break
      this.#heard(input, start, end, (input[at] as number) & 0x0f)
      at = end
    }
    this.#rest = at < input.length ? Buffer.from(input.subarray(at)) : undefined
  }
}
