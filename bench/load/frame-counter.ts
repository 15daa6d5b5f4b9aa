import { opcodes } from '#bench/load/frames'

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
