import { type ByteReader, type ByteWriter, damagedRow } from '#history/bytes'

/** Numbers that are packed with the same width. */
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

/** Wider numbers are packed in two parts, because up to 7 unwritten bits and one part must fit in 32 bits. */
const partBits = 16
const widthInOnePartMax = 24

function packGroup(
  list: Float64Array,
  begin: number,
  end: number,
  base: number,
  width: number,
  writer: ByteWriter,
): void {
  writer.reserve(4 * groupMax)
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
      bytes[at++] = held & 0xff
      held >>>= 8
    }
    if (lowBits === width) continue
    held |= (number >>> partBits) << bits
    bits += width - partBits
    for (; bits >= 8; bits -= 8) {
      bytes[at++] = held & 0xff
      held >>>= 8
    }
  }
  if (bits > 0) bytes[at++] = held & 0xff
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
  const bytes = reader.take(Math.ceil(((end - begin) * width) / 8))
  let at = 0
  let held = 0
  let bits = 0
  const lowBits = width > widthInOnePartMax ? partBits : width
  const lowMask = 2 ** lowBits - 1
  const highBits = width - lowBits
  const highMask = 2 ** highBits - 1
  for (let index = begin; index < end; index++) {
    for (; bits < lowBits; bits += 8) held |= (bytes[at++] as number) << bits
    let number = held & lowMask
    held >>>= lowBits
    bits -= lowBits
    if (highBits > 0) {
      for (; bits < highBits; bits += 8) held |= (bytes[at++] as number) << bits
      number += (held & highMask) * 0x1_0000
      held >>>= highBits
      bits -= highBits
    }
    list[index] = base + number
  }
}
