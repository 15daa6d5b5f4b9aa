import { malformed, PacketFault, reasons } from '#mqtt/reason-codes'

/** One byte for type and flags, and up to four bytes for the remaining length. */
const headBytesMax = 5
/**
 * The first size of the buffer for an unfinished packet. The buffer grows with the bytes that arrive, not with the
 * announced length.
 */
const heldBytesMin = 256

/**
 * Takes one packet: its first byte, and the bytes after the remaining length, which are valid during the call only.
 * Returns false to get no further packet for now.
 */
export type TakePacket = (first: number, body: Uint8Array) => boolean

/**
 * Cuts a stream of bytes into MQTT packets. Holds at most one unfinished packet, and never more than `bytesMax` of it.
 * MQTT 5.0 §2.1.
 */
export class PacketFraming {
  /** The largest packet, with its head. */
  bytesMax: number
  #held: Uint8Array | undefined
  #heldBytes = 0
  /** The length of the head that was read last. */
  #headBytes = 0
  /** The length of the packet with this head, 0 if more bytes are needed to know the length. */
  #packetBytes = 0

  constructor(bytesMax: number) {
    this.bytesMax = bytesMax
  }

  /** The number of bytes of the unfinished packet. */
  get heldBytes(): number {
    return this.#heldBytes
  }

  /**
   * Passes on all packets that are complete now. If `take` asks for a break, returns the bytes after the last packet
   * that was taken; otherwise undefined.
   * @throws PacketFault for a remaining length of more than four bytes, or for a packet that is too large
   */
  add(chunk: Uint8Array, take: TakePacket): Uint8Array | undefined {
    let at = 0
    while (at < chunk.length) {
      if (this.#held) {
        at += this.#hold(this.#held, chunk, at)
        if (this.#packetBytes === 0 || this.#heldBytes < this.#packetBytes) continue
        const packet = this.#held.subarray(0, this.#packetBytes)
        this.#held = undefined
        this.#heldBytes = 0
        if (!take(packet[0] as number, packet.subarray(this.#headBytes))) return chunk.subarray(at)
        continue
      }
      this.#readHead(chunk, at, chunk.length)
      const end = at + this.#packetBytes
      if (this.#packetBytes === 0 || end > chunk.length) {
        this.#held = new Uint8Array(heldBytesMin)
        continue
      }
      const from = at + this.#headBytes
      const first = chunk[at] as number
      at = end
      if (!take(first, chunk.subarray(from, end))) return chunk.subarray(at)
    }
    return undefined
  }

  /** Adds bytes to the unfinished packet, up to its end. Returns the number of bytes added. */
  #hold(held: Uint8Array, chunk: Uint8Array, at: number): number {
    const isHeadKnown = this.#heldBytes >= 2 && this.#packetBytes > 0
    const wanted = isHeadKnown ? this.#packetBytes - this.#heldBytes : 1
    const count = Math.min(wanted, chunk.length - at)
    let target = held
    if (this.#heldBytes + count > held.length) {
      target = new Uint8Array(Math.min(Math.max(2 * held.length, this.#heldBytes + count), this.bytesMax))
      target.set(held.subarray(0, this.#heldBytes))
      this.#held = target
    }
    target.set(chunk.subarray(at, at + count), this.#heldBytes)
    this.#heldBytes += count
    if (!isHeadKnown) this.#readHead(target, 0, this.#heldBytes)
    return count
  }

  /** Sets `#headBytes` and `#packetBytes` for the packet that begins at `from`. */
  #readHead(bytes: Uint8Array, from: number, end: number): void {
    this.#packetBytes = 0
    let length = 0
    for (let place = 1; place < headBytesMax; place++) {
      if (from + place >= end) return
      const byte = bytes[from + place] as number
      length += (byte & 0x7f) * 128 ** (place - 1)
      if (byte >= 0x80) continue
      this.#headBytes = place + 1
      this.#packetBytes = place + 1 + length
      if (this.#packetBytes > this.bytesMax) {
        throw new PacketFault(
          reasons.packetTooLarge,
          `a packet of ${this.#packetBytes} bytes, ${this.bytesMax} at most`,
        )
      }
      return
    }
    throw malformed('a remaining length of more than four bytes')
  }
}
