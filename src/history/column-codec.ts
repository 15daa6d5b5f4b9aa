import { deflateRawSync, inflateRawSync } from 'node:zlib'
import { type ByteReader, type ByteWriter, damagedRow } from '#history/bytes'
import { groupMax, packNumbers, unpackNumbers } from '#history/number-packing'
import type { Points } from '#history/points'

/**
 * The stored form of points that are sorted by time: a byte for the form, the number of points, the times, the values.
 *
 * Times are differences. Values with at most `digitsMax` decimal digits are whole numbers in units of the last digit;
 * they, or their differences, are packed, whichever takes fewer bits. Numbers are packed in groups of 32: the width in
 * bits, the smallest number as the difference from that of the group before, and each number above the smallest. Other
 * values are the bytes that differ from the value before. Texts are a JSON list, deflated if that is shorter.
 *
 * | bits of the form | meaning |
 * |---|---|
 * | 0–3 | decimal digits, `bytesForm`, or `textsForm` |
 * | 4 | single precision: the value is the float nearest to the decimal number |
 * | 5 | the numbers themselves are packed, not their differences |
 * | 6 | the times are doubles, because a difference is too large |
 */
const digitsMax = 6
const textsForm = 14
const bytesForm = 15
const singleBit = 0x10
const directBit = 0x20
const doubleTimesBit = 0x40

/** Numbers of a group differ by less than 2³². */
const packedMax = 2 ** 31 - 1
const wholeMax = Number.MAX_SAFE_INTEGER / 2
const powers = [1, 10, 100, 1000, 10_000, 100_000, 1_000_000] as const
/** At most: a byte for each value that differs in all eight bytes, and the time as a double. */
const pointBytesMax = 17
const headBytesMax = 32

/** Numbers to be packed. Columns are encoded one at a time. */
let numbers = new Float64Array(2048)
let wholes = new Float64Array(2048)
const double = new Float64Array(1)
const doubleBytes = new Uint8Array(double.buffer)

export function encodeColumn(points: Points, from: number, to: number, writer: ByteWriter): void {
  const count = to - from
  if (count > numbers.length) {
    numbers = new Float64Array(count * 2)
    wholes = new Float64Array(count * 2)
  }
  writer.reserve(headBytesMax + count * pointBytesMax)
  const formAt = writer.at++
  writer.varint(count)
  let form = encodeTimes(points.times, from, to, writer) ? 0 : doubleTimesBit
  if (hasTexts(points, from, to)) {
    form |= textsForm
    encodeTexts(points, from, to, writer)
  } else {
    form |= encodeNumbers(points.values, from, to, writer)
  }
  writer.bytes[formAt] = form
}

/** Appends the points of the next column. @throws StorageFailure `damaged` */
export function decodeColumn(reader: ByteReader, points: Points): void {
  const form = reader.byte()
  const count = reader.varint()
  // A group takes at least two bytes, so a wrong count cannot take much memory.
  if (count > (reader.bytes.length - reader.at + 1) * groupMax) throw damagedRow()
  points.reserve(points.count + count)
  if (count > numbers.length) numbers = new Float64Array(count * 2)
  decodeTimes(reader, (form & doubleTimesBit) !== 0, points.times, points.count, count)
  const digits = form & 0x0f
  if (digits === textsForm) decodeTexts(reader, points, count)
  else if (digits === bytesForm) decodeBytes(reader, points.values, points.count, count)
  else decodeDecimals(reader, form, points.values, points.count, count)
  points.count += count
}

/** Numbers without times. */
export function encodeValues(values: Float64Array, writer: ByteWriter): void {
  if (values.length > numbers.length) {
    numbers = new Float64Array(values.length * 2)
    wholes = new Float64Array(values.length * 2)
  }
  writer.reserve(headBytesMax + values.length * pointBytesMax)
  const formAt = writer.at++
  writer.bytes[formAt] = encodeNumbers(values, 0, values.length, writer)
}

/** Reads `count` numbers to the beginning of `values`. @throws StorageFailure `damaged` */
export function decodeValues(reader: ByteReader, count: number, values: Float64Array): void {
  const form = reader.byte()
  if (count > numbers.length) numbers = new Float64Array(count * 2)
  if ((form & 0x0f) === bytesForm) decodeBytes(reader, values, 0, count)
  else decodeDecimals(reader, form, values, 0, count)
}

function hasTexts({ texts }: Points, from: number, to: number): boolean {
  if (texts.size === 0) return false
  for (let index = from; index < to; index++) if (texts.has(index)) return true
  return false
}

function encodeTimes(times: Float64Array, from: number, to: number, writer: ByteWriter): boolean {
  for (let index = from + 1; index < to; index++) {
    const difference = (times[index] as number) - (times[index - 1] as number)
    if (!(difference >= 0 && difference <= packedMax)) return encodeDoubles(times, from, to, writer)
    numbers[index - from - 1] = difference
  }
  if (to > from) writer.signed(times[from] as number)
  packNumbers(numbers, to - from - 1, writer)
  return true
}

function encodeDoubles(times: Float64Array, from: number, to: number, writer: ByteWriter): false {
  for (let index = from; index < to; index++) writer.double(times[index] as number)
  return false
}

function decodeTimes(reader: ByteReader, areDoubles: boolean, times: Float64Array, at: number, count: number): void {
  if (areDoubles) {
    for (let index = 0; index < count; index++) times[at + index] = reader.double()
    return
  }
  if (count === 0) return
  let time = reader.signed()
  times[at] = time
  unpackNumbers(reader, numbers, count - 1)
  for (let index = 1; index < count; index++) {
    time += numbers[index - 1] as number
    times[at + index] = time
  }
}

/** Returns the bits of the form. */
function encodeNumbers(values: Float64Array, from: number, to: number, writer: ByteWriter): number {
  let digits = digitsOf(values, from, to, false)
  let single = 0
  if (digits < 0) {
    digits = digitsOf(values, from, to, true)
    single = singleBit
  }
  const count = to - from
  if (digits < 0 || count === 0) return encodeBytes(values, from, to, writer)
  const scale = powers[digits] as number
  let min = Number.POSITIVE_INFINITY
  let max = Number.NEGATIVE_INFINITY
  for (let index = 0; index < count; index++) {
    const whole = Math.round((values[from + index] as number) * scale)
    wholes[index] = whole
    if (whole < min) min = whole
    if (whole > max) max = whole
  }
  const first = wholes[0] as number
  const isDirect = max - min <= packedMax && bitsDirect(count) <= bitsOfDifferences(count)
  if (isDirect) {
    writer.signed(min)
    for (let index = 0; index < count; index++) numbers[index] = (wholes[index] as number) - min
    packNumbers(numbers, count, writer)
    return digits | single | directBit
  }
  for (let index = 1; index < count; index++) {
    const difference = (wholes[index] as number) - (wholes[index - 1] as number)
    if (difference > packedMax || difference < -packedMax) return encodeBytes(values, from, to, writer)
    numbers[index - 1] = difference
  }
  writer.signed(first)
  packNumbers(numbers, count - 1, writer)
  return digits | single
}

/** The digits behind the point that all of the values need; -1 if they are not decimal numbers of this size. */
function digitsOf(values: Float64Array, from: number, to: number, isSingle: boolean): number {
  let digits = 0
  for (let index = from; index < to; index++) {
    const value = values[index] as number
    // -0 has no whole number.
    if (value === 0 && Object.is(value, -0)) return -1
    for (;;) {
      const scale = powers[digits] as number
      const whole = Math.round(value * scale)
      if (!(whole <= wholeMax && whole >= -wholeMax)) return -1
      if ((isSingle ? Math.fround(whole / scale) : whole / scale) === value) break
      if (++digits > digitsMax) return -1
    }
  }
  return digits
}

/** An estimate for `wholes`: the width of each group. */
function bitsDirect(count: number): number {
  let bits = 0
  for (let begin = 0; begin < count; begin += groupMax) {
    const end = Math.min(begin + groupMax, count)
    let min = wholes[begin] as number
    let max = min
    for (let index = begin + 1; index < end; index++) {
      const whole = wholes[index] as number
      if (whole < min) min = whole
      else if (whole > max) max = whole
    }
    bits += widthOf(max - min) * (end - begin)
  }
  return bits
}

function bitsOfDifferences(count: number): number {
  let bits = 0
  for (let begin = 1; begin < count; begin += groupMax) {
    const end = Math.min(begin + groupMax, count)
    let min = Number.POSITIVE_INFINITY
    let max = Number.NEGATIVE_INFINITY
    for (let index = begin; index < end; index++) {
      const difference = (wholes[index] as number) - (wholes[index - 1] as number)
      if (difference < min) min = difference
      if (difference > max) max = difference
    }
    bits += widthOf(max - min) * (end - begin)
  }
  return bits
}

function widthOf(range: number): number {
  return range > 0xffff_ffff ? 64 : 32 - Math.clz32(range)
}

function decodeDecimals(reader: ByteReader, form: number, values: Float64Array, at: number, count: number): void {
  const scale = powers[form & 0x0f]
  if (scale === undefined) throw damagedRow()
  const isDirect = (form & directBit) !== 0
  let whole = reader.signed()
  const base = whole
  unpackNumbers(reader, numbers, isDirect ? count : count - 1)
  for (let index = 0; index < count; index++) {
    if (isDirect) whole = base + (numbers[index] as number)
    else if (index > 0) whole += numbers[index - 1] as number
    values[at + index] = whole / scale
  }
  if ((form & singleBit) === 0) return
  for (let index = at; index < at + count; index++) values[index] = Math.fround(values[index] as number)
}

/** Values that are not decimal: of each, the bytes of its XOR with the one before, without zeros at its ends. */
function encodeBytes(values: Float64Array, from: number, to: number, writer: ByteWriter): number {
  const { bytes } = writer
  let { at } = writer
  const before = new Uint8Array(8)
  const changed = new Uint8Array(8)
  for (let index = from; index < to; index++) {
    double[0] = values[index] as number
    let first = 8
    let end = 0
    for (let place = 0; place < 8; place++) {
      const byte = doubleBytes[place] as number
      const difference = byte ^ (before[place] as number)
      changed[place] = difference
      before[place] = byte
      if (difference === 0) continue
      if (first === 8) first = place
      end = place + 1
    }
    if (end === 0) {
      bytes[at++] = 0
      continue
    }
    bytes[at++] = (first << 4) | (end - first)
    for (let place = first; place < end; place++) bytes[at++] = changed[place] as number
  }
  writer.at = at
  return bytesForm
}

function decodeBytes(reader: ByteReader, values: Float64Array, at: number, count: number): void {
  doubleBytes.fill(0)
  for (let index = 0; index < count; index++) {
    const head = reader.byte()
    const first = head >> 4
    const end = first + (head & 0x0f)
    if (end > 8) throw damagedRow()
    for (let place = first; place < end; place++) {
      doubleBytes[place] = (doubleBytes[place] as number) ^ reader.byte()
    }
    values[at + index] = double[0] as number
  }
}

/** Shorter texts rarely become smaller. */
const deflatedBytesMin = 64

/** In a column with a text, numbers are texts too; no JSON text of another value looks like a number. */
function encodeTexts(points: Points, from: number, to: number, writer: ByteWriter): void {
  const texts: string[] = []
  for (let index = from; index < to; index++) texts.push(points.texts.get(index) ?? numberText(points.values[index]))
  const plain = Buffer.from(JSON.stringify(texts))
  const deflated = plain.length < deflatedBytesMin ? plain : deflateRawSync(plain, { level: 3 })
  const isDeflated = deflated.length < plain.length
  const stored = isDeflated ? deflated : plain
  writer.varint(stored.length * 2 + (isDeflated ? 1 : 0))
  writer.raw(stored)
}

function decodeTexts(reader: ByteReader, points: Points, count: number): void {
  const head = reader.varint()
  const stored = reader.take(Math.floor(head / 2))
  const plain = head % 2 === 1 ? inflateRawSync(stored) : stored
  const texts = JSON.parse(plain.toString()) as string[]
  if (texts.length !== count) throw damagedRow()
  for (const [place, text] of texts.entries()) {
    const index = points.count + place
    const isNumber = /^[-\dNI]/.test(text)
    points.values[index] = isNumber ? Number(text) : Number.NaN
    if (!isNumber) points.texts.set(index, text)
  }
}

function numberText(value: number | undefined): string {
  return Object.is(value, -0) ? '-0' : String(value)
}
