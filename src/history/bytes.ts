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

/** The limit of numbers in a group. All numbers of a group are packed with the same width. */
export const groupMax = 32

/** Numbers in one group must differ by less than 2³². */
export function packNumbers(list: Float64Array, count: number, writer: ByteWriter): void {
  let baseBefore = 0
  for (let begin = 0; begin < count; begin += groupMax) {
    const end = Math.min(begin + groupMax, count)
    let base = list[begin] as number
    let max = base
    for (let index = begin + 1; index < end; index++) {
      const number = list[index] as number
      if (number < base) base = number
      else if (number > max) max = number
    }
    const width = 32 - Math.clz32(max - base)
    writer.bytes[writer.at++] = width
    writer.signed(base - baseBefore)
    baseBefore = base
    if (width > 0) packGroup(list, begin, end, base, width, writer)
  }
}

/**
 * Numbers wider than `widthInOnePartMax` are packed in two parts. A part begins at any bit of its first byte, and must
 * end within 32 bits from the start of this byte.
 */
const partBits = 16
const widthInOnePartMax = 24

/** The limit of bytes of a group and of the width of the next group. */
const groupBytesMax = 4 * groupMax + 4

function packGroup(
  list: Float64Array,
  begin: number,
  end: number,
  base: number,
  width: number,
  writer: ByteWriter,
): void {
  writer.reserve(groupBytesMax)
  const { bytes } = writer
  let { at } = writer
  let held = 0
  let bits = 0
  const lowBits = width > widthInOnePartMax ? partBits : width
  for (let index = begin; index < end; index++) {
    const number = ((list[index] as number) - base) >>> 0
    held |= (lowBits === width ? number : number & 0xffff) << bits
    bits += lowBits
    for (; bits >= 8; bits -= 8) {
      bytes[at++] = held
      held >>>= 8
    }
    if (lowBits === width) continue
    held |= (number >>> partBits) << bits
    bits += width - partBits
    for (; bits >= 8; bits -= 8) {
      bytes[at++] = held
      held >>>= 8
    }
  }
  if (bits > 0) bytes[at++] = held
  writer.at = at
}

export function unpackNumbers(reader: ByteReader, list: Float64Array, count: number): void {
  let base = 0
  for (let begin = 0; begin < count; begin += groupMax) {
    const end = Math.min(begin + groupMax, count)
    const width = reader.byte()
    if (width > 32) throw damagedRow()
    base += reader.signed()
    if (width === 0) list.fill(base, begin, end)
    else unpackGroup(reader, list, begin, end, base, width)
  }
}

function unpackGroup(
  reader: ByteReader,
  list: Float64Array,
  begin: number,
  end: number,
  base: number,
  width: number,
): void {
  const { bytes } = reader
  let bit = reader.at * 8
  reader.pass(Math.ceil(((end - begin) * width) / 8))
  if (width <= widthInOnePartMax) {
    const mask = 2 ** width - 1
    for (let index = begin; index < end; index++, bit += width) list[index] = base + (bitsAt(bytes, bit) & mask)
    return
  }
  const highMask = 2 ** (width - partBits) - 1
  for (let index = begin; index < end; index++, bit += width) {
    const high = bitsAt(bytes, bit + partBits) & highMask
    list[index] = base + (bitsAt(bytes, bit) & 0xffff) + high * 0x1_0000
  }
}

/** At least 25 bits from `bit` on. A checksum must follow the packed bytes, because bytes after them may be read. */
function bitsAt(bytes: Uint8Array, bit: number): number {
  const at = bit >>> 3
  const low = (bytes[at] as number) | ((bytes[at + 1] as number) << 8)
  return (low | ((bytes[at + 2] as number) << 16) | ((bytes[at + 3] as number) << 24)) >>> (bit & 7)
}
