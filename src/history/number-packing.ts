import { type ByteReader, type ByteWriter, damagedRow } from '#history/bytes'

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
