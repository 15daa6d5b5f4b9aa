import { crc32 } from 'node:zlib'
import { StorageFailure } from '#runtime/storage'

/** One more than the largest number in four bytes of seven bits. */
const fourBytes = 2 ** 28
const shortBytesMax = 64

/** A buffer that grows, for rows of history. */
export class ByteWriter {
  bytes = Buffer.alloc(4096)
  at = 0

  /** Makes space for this many more bytes. */
  reserve(length: number): void {
    if (this.at + length <= this.bytes.length) return
    const grown = Buffer.alloc(Math.max(this.at + length, this.bytes.length * 2))
    this.bytes.copy(grown, 0, 0, this.at)
    this.bytes = grown
  }

  /** A whole number from 0 to 2⁵³−1, seven bits a byte. */
  varint(value: number): void {
    this.reserve(8)
    const { bytes } = this
    let { at } = this
    let rest = value
    // Arithmetic of 32-bit numbers is several times as fast, also for times in ms, which have 41 bits.
    if (value > 0x7fff_ffff) {
      const low = value % fourBytes
      for (let shift = 0; shift < 28; shift += 7) bytes[at++] = ((low >> shift) & 0x7f) | 0x80
      rest = (value - low) / fourBytes
    }
    for (; rest >= 0x80; rest >>= 7) bytes[at++] = (rest & 0x7f) | 0x80
    bytes[at++] = rest
    this.at = at
  }

  /** A whole number of either sign, up to 2⁵²; small amounts take few bytes. */
  signed(value: number): void {
    this.varint(value < 0 ? -value * 2 - 1 : value * 2)
  }

  double(value: number): void {
    this.reserve(8)
    this.bytes.writeDoubleLE(value, this.at)
    this.at += 8
  }

  raw(bytes: Uint8Array): void {
    this.reserve(bytes.length)
    this.bytes.set(bytes, this.at)
    this.at += bytes.length
  }

  /** Moves the bytes of another writer to the end of this one. */
  append(other: ByteWriter): void {
    const { bytes, at: length } = other
    this.reserve(length)
    // A view of a few bytes would cost more than the bytes.
    if (length > shortBytesMax) bytes.copy(this.bytes, this.at, 0, length)
    else for (let index = 0; index < length; index++) this.bytes[this.at + index] = bytes[index] as number
    this.at += length
    other.at = 0
  }

  /** A copy of the bytes with their checksum; the inverse of `openRow`. The writer is empty afterwards. */
  takeRow(): Buffer {
    const row = Buffer.allocUnsafe(this.at + checksumBytes)
    this.bytes.copy(row, 0, 0, this.at)
    row.writeUInt32LE(crc32(row.subarray(0, this.at)), this.at)
    this.at = 0
    return row
  }
}

/** Reads the bytes of a `ByteWriter`. Reading past the end throws, because the row must be damaged. */
export class ByteReader {
  /** Includes the checksum after the end, because a reader of bits reads some bytes beyond the end. */
  readonly bytes: Buffer
  readonly #end: number
  at = 0

  constructor(bytes: Buffer, end: number) {
    this.bytes = bytes
    this.#end = end
  }

  get isAtEnd(): boolean {
    return this.at >= this.#end
  }

  /** Bytes that were not read yet. */
  get left(): number {
    return this.#end - this.at
  }

  byte(): number {
    if (this.at >= this.#end) throw damagedRow()
    return this.bytes[this.at++] as number
  }

  varint(): number {
    let low = 0
    for (let shift = 0; shift < 28; shift += 7) {
      const byte = this.byte()
      low |= (byte & 0x7f) << shift
      if (byte < 0x80) return low
    }
    for (let scale = fourBytes, value = low; ; scale *= 0x80) {
      const byte = this.byte()
      value += (byte & 0x7f) * scale
      if (byte < 0x80) return value
    }
  }

  signed(): number {
    const value = this.varint()
    const half = Math.floor(value / 2)
    return half * 2 === value ? half : -half - 1
  }

  double(): number {
    return this.take(8).readDoubleLE(0)
  }

  pass(length: number): void {
    if (length > this.left) throw damagedRow()
    this.at += length
  }

  take(length: number): Buffer {
    this.pass(length)
    return this.bytes.subarray(this.at - length, this.at)
  }
}

const checksumBytes = 4
/** The CRC-32 of any bytes that are followed by their own CRC-32. */
const rowChecksum = 0x2144df1c

/** @throws StorageFailure `damaged` */
export function openRow(row: Uint8Array): ByteReader {
  const bytes = Buffer.from(row.buffer, row.byteOffset, row.byteLength)
  const end = bytes.length - checksumBytes
  if (crc32(bytes) !== rowChecksum) throw damagedRow()
  return new ByteReader(bytes, end)
}

export function damagedRow(): StorageFailure {
  return new StorageFailure('damaged', 'a row of the history is damaged')
}
