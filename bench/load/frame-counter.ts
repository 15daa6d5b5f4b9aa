import { opcodes } from '#bench/load/frames'

/** Of a frame without a mask. */
const headBytesMax = 10

/**
 * Counts the text frames that have arrived whole, and looks at nothing but their heads (RFC 6455 §5.2): what thousands
 * of sockets hear must neither be copied nor kept, or the load would be what is measured.
 */
export class FrameCounter {
  readonly #pinged: () => void
  #opcode = 0
  /** How much of the head has been read, and how long it is as far as one can know by then. */
  #read = 0
  #headBytes = 2
  /** What is missing of the payload, once the head has been read. */
  #missing = 0

  constructor(pinged: () => void) {
    this.#pinged = pinged
  }

  /** How many text frames ended in these bytes. */
  push(bytes: Buffer): number {
    let texts = 0
    for (let at = 0; at < bytes.length; ) {
      const end = this.#read === 0 ? wholeEnd(bytes, at) : 0
      if (end > 0) {
        const opcode = (bytes[at] as number) & 0x0f
        if (opcode === opcodes.text) texts++
        else if (opcode === opcodes.ping) this.#pinged()
        at = end
        continue
      }
      // Cut off somewhere, or rare.
      if (this.#read < this.#headBytes) {
        this.#readHead(bytes[at++] as number)
        if (this.#read < this.#headBytes) continue
      }
      const there = Math.min(this.#missing, bytes.length - at)
      at += there
      this.#missing -= there
      if (this.#missing > 0) break
      if (this.#opcode === opcodes.text) texts++
      else if (this.#opcode === opcodes.ping) this.#pinged()
      this.#read = 0
      this.#headBytes = 2
    }
    return texts
  }

  #readHead(byte: number): void {
    const place = this.#read++
    if (place === 0) this.#opcode = byte & 0x0f
    else if (place > 1) this.#missing = this.#missing * 256 + byte
    else if (byte < 126) this.#missing = byte
    else {
      this.#missing = 0
      this.#headBytes = byte === 126 ? 4 : 10
    }
  }
}

/** Where a frame ends that begins here and is all there; 0 when it is not, or of the longest kind. */
function wholeEnd(bytes: Buffer, at: number): number {
  if (at + headBytesMax > bytes.length) return 0
  const short = bytes[at + 1] as number
  let end = at + 2 + short
  if (short === 126) end = at + 4 + (bytes[at + 2] as number) * 256 + (bytes[at + 3] as number)
  return short < 127 && end <= bytes.length ? end : 0
}
