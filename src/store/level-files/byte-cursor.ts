/** Thrown when bytes are not valid. The caller knows the file and adds its name. */
export class InvalidBytes extends Error {}

/** Reads bytes from the front, in LevelDB's encodings: varints, little-endian numbers, and texts after their length. */
export class ByteCursor {
  readonly #bytes: Buffer
  at = 0

  constructor(bytes: Uint8Array) {
    this.#bytes = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  }

  get left(): number {
    return this.#bytes.length - this.at
  }

  take(count: number): Buffer {
    if (count > this.left) throw new InvalidBytes('it ends too soon')
    this.at += count
    return this.#bytes.subarray(this.at - count, this.at)
  }

  byte(): number {
    return this.take(1)[0] as number
  }

  uint32(): number {
    return this.take(4).readUInt32LE(0)
  }

  /** Sequence numbers have 56 bits; 53 bits last longer than any disk. */
  uint64(): number {
    return Number(this.take(8).readBigUInt64LE(0))
  }

  varint(): number {
    let value = 0
    for (let scale = 1; ; scale *= 128) {
      const byte = this.byte()
      value += (byte & 0x7f) * scale
      if (byte < 0x80) return value
      if (scale > 2 ** 56) throw new InvalidBytes('a number does not end')
    }
  }

  /** Bytes after their length. */
  sized(): Buffer {
    return this.take(this.varint())
  }
}
