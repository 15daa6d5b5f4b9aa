import { deflateRawSync, inflateRawSync } from 'node:zlib'
import { type ByteReader, type ByteWriter, damagedRow, groupMax, packNumbers, unpackNumbers } from '#history/bytes'
import type { Points } from '#history/points'

/**
 * The stored form of points that are sorted by time: a byte for the form, the number of points, the times, the values.
 *
 * Times are stored as differences. Values with at most `digitsMax` decimal digits become whole numbers in units of the
 * last digit. These numbers or their differences are packed, whichever takes fewer bits, in groups of 32: the width in
 * bits, the smallest number as the difference from the smallest of the previous group, and each number above the
 * smallest. Other values of single precision are packed by their 32 bits as whole numbers, in the order of the values.
 * For all other values, only the bytes that differ from the previous value are stored. Texts are a JSON list, deflated
 * if that is shorter.
 *
 * | bits of the form | meaning |
 * |---|---|
 * | 0–3 | decimal digits, `singlesForm`, `textsForm`, or `bytesForm` |
 * | 4 | single precision: the value is the float nearest to the decimal number |
 * | 5 | the numbers themselves are packed, not their differences |
 * | 6 | the times are doubles, because a difference is too large, or they are not whole |
 * | 7 | there is one point, and the number of points is left out |
 */
const digitsMax = 6
const singlesForm = 13
const textsForm = 14
const bytesForm = 15
const singleBit = 0x10
const directBit = 0x20
const doubleTimesBit = 0x40
const onePointBit = 0x80

/** The largest packed difference: numbers of a group must differ by less than 2³². */
const packedMax = 2 ** 31 - 1
const wholeMax = Number.MAX_SAFE_INTEGER / 2
const powers = [1, 10, 100, 1000, 10_000, 100_000, 1_000_000] as const
/**
 * The most bytes of a point: a head and eight bytes for a value that differs in all of them, and the time as a double.
 */
const pointBytesMax = 17
const headBytesMax = 32

/** Numbers to be packed. Columns are encoded one at a time. */
let numbers = new Float64Array(2048)
let wholes = new Float64Array(2048)
const double = new Float64Array(1)
const doubleBytes = new Uint8Array(double.buffer)
const single = new Float32Array(1)
const singleBits = new Int32Array(single.buffer)

/** `baseTime`: a whole number of ms, close to the first time. `decodeColumn` needs the same number. */
export function encodeColumn(points: Points, from: number, to: number, writer: ByteWriter, baseTime = 0): void {
  const count = to - from
  if (count > numbers.length) {
    numbers = new Float64Array(count * 2)
    wholes = new Float64Array(count * 2)
  }
  writer.reserve(headBytesMax + count * pointBytesMax)
  const formAt = writer.at++
  if (count !== 1) writer.varint(count)
  const countForm = count === 1 ? onePointBit : 0
  const timesForm = encodeTimes(points.times, from, to, writer, baseTime) ? 0 : doubleTimesBit
  const form = countForm | timesForm | encodeForm(points, from, to, writer)
  // Set last: until here the writer may have replaced its buffer by a larger one.
  writer.bytes[formAt] = form
}

/** Appends the points of the next column. @throws StorageFailure `damaged` */
export function decodeColumn(reader: ByteReader, points: Points, baseTime = 0): void {
  const form = reader.byte()
  const count = (form & onePointBit) === 0 ? reader.varint() : 1
  // A group takes at least two bytes, so a wrong count cannot take much memory.
  if (count > (reader.left + 1) * groupMax) throw damagedRow()
  points.reserve(points.count + count)
  if (count > numbers.length) numbers = new Float64Array(count * 2)
  if ((form & doubleTimesBit) !== 0) decodeDoubles(reader, points.times, points.count, count)
  else decodeTimes(reader, points.times, points.count, count, baseTime)
  decodeForm(reader, form, points, points.count, count)
  points.count += count
}

/** Writes only values, without times and count, of at most as many points as `numbers` has elements. */
export function encodeValues(points: Points, from: number, to: number, writer: ByteWriter): void {
  writer.reserve(headBytesMax + (to - from) * pointBytesMax)
  const formAt = writer.at++
  const form = encodeForm(points, from, to, writer)
  writer.bytes[formAt] = form
}

/** Reads the values of `count` points from one index on. @throws StorageFailure `damaged` */
export function decodeValues(reader: ByteReader, points: Points, at: number, count: number): void {
  decodeForm(reader, reader.byte(), points, at, count)
}

/** Returns the bits of the form. */
function encodeForm(points: Points, from: number, to: number, writer: ByteWriter): number {
  if (!hasTexts(points, from, to)) return encodeNumbers(points.values, from, to, writer)
  encodeTexts(points, from, to, writer)
  return textsForm
}

function decodeForm(reader: ByteReader, form: number, points: Points, at: number, count: number): void {
  const kind = form & 0x0f
  if (kind === textsForm) decodeTexts(reader, points, at, count)
  else if (kind === bytesForm) decodeBytes(reader, points.values, at, count)
  else decodeWholes(reader, form, points.values, at, count)
}

function hasTexts({ texts }: Points, from: number, to: number): boolean {
  if (texts.size === 0) return false
  for (let index = from; index < to; index++) if (texts.has(index)) return true
  return false
}

function encodeTimes(times: Float64Array, from: number, to: number, writer: ByteWriter, baseTime: number): boolean {
  const first = (times[from] as number) - baseTime
  if (to > from && !(Number.isInteger(first) && Math.abs(first) <= wholeMax)) {
    return encodeDoubles(times, from, to, writer)
  }
  for (let index = from + 1; index < to; index++) {
    const difference = (times[index] as number) - (times[index - 1] as number)
    // A whole number up to `packedMax`.
    if (!(difference >= 0 && difference === (difference | 0))) return encodeDoubles(times, from, to, writer)
    numbers[index - from - 1] = difference
  }
  if (to > from) writer.signed(first)
  packNumbers(numbers, to - from - 1, writer)
  return true
}

function encodeDoubles(times: Float64Array, from: number, to: number, writer: ByteWriter): false {
  for (let index = from; index < to; index++) writer.double(times[index] as number)
  return false
}

function decodeDoubles(reader: ByteReader, times: Float64Array, at: number, count: number): void {
  for (let index = 0; index < count; index++) times[at + index] = reader.double()
}

function decodeTimes(reader: ByteReader, times: Float64Array, at: number, count: number, baseTime: number): void {
  if (count === 0) return
  let time = reader.signed() + baseTime
  times[at] = time
  unpackNumbers(reader, numbers, count - 1)
  for (let index = 1; index < count; index++) {
    time += numbers[index - 1] as number
    times[at + index] = time
  }
}

/** Returns the bits of the form. */
function encodeNumbers(values: Float64Array, from: number, to: number, writer: ByteWriter): number {
  const count = to - from
  const form = count === 0 ? bytesForm : wholesOf(values, from, to)
  if (form === bytesForm) return encodeBytes(values, from, to, writer)
  const min = leastIfDirect(count)
  if (min !== undefined) {
    writer.signed(min)
    for (let index = 0; index < count; index++) numbers[index] = (wholes[index] as number) - min
    packNumbers(numbers, count, writer)
    return form | directBit
  }
  for (let index = 1; index < count; index++) {
    const difference = (wholes[index] as number) - (wholes[index - 1] as number)
    if (difference > packedMax || difference < -packedMax) return encodeBytes(values, from, to, writer)
    numbers[index - 1] = difference
  }
  writer.signed(wholes[0] as number)
  packNumbers(numbers, count - 1, writer)
  return form
}

/** Sets `wholes` to the values as whole numbers. Returns the bits of the form; `bytesForm` if this is not possible. */
function wholesOf(values: Float64Array, from: number, to: number): number {
  const digits = decimalWholesOf(values, from, to, false)
  if (digits >= 0) return digits
  const digitsOfSingles = decimalWholesOf(values, from, to, true)
  if (digitsOfSingles >= 0) return digitsOfSingles | singleBit
  return wholesOfSingles(values, from, to) ? singlesForm : bytesForm
}

/**
 * Returns the number of decimal digits that all values need, or -1 if a value needs more than `digitsMax` digits or is
 * too large.
 */
function decimalWholesOf(values: Float64Array, from: number, to: number, isSingle: boolean): number {
  let digits = 0
  let scale = 1
  let largest = 0
  for (let index = from; index < to; index++) {
    const value = values[index] as number
    // -0 has no whole number.
    if (value === 0 && Object.is(value, -0)) return -1
    for (;;) {
      const whole = Math.round(value * scale)
      largest = Math.max(largest, Math.abs(whole))
      if (!(largest <= wholeMax)) return -1
      wholes[index - from] = whole
      if ((isSingle ? Math.fround(whole / scale) : whole / scale) === value) break
      if (++digits > digitsMax) return -1
      scale = powers[digits] as number
      for (let before = 0; before < index - from; before++) wholes[before] = (wholes[before] as number) * 10
      largest *= 10
    }
  }
  return digits
}

/** Returns false if a value does not have single precision. */
function wholesOfSingles(values: Float64Array, from: number, to: number): boolean {
  for (let index = from; index < to; index++) {
    const value = values[index] as number
    single[0] = value
    if (single[0] !== value) return false
    const bits = singleBits[0] as number
    wholes[index - from] = bits < 0 ? ~(bits & 0x7fff_ffff) : bits
  }
  return true
}

function singleOf(whole: number): number {
  singleBits[0] = whole < 0 ? ~whole | 0x8000_0000 : whole
  return single[0] as number
}

/** Returns the smallest of `wholes` if packing them takes no more bits, by estimate, than packing their differences. */
function leastIfDirect(count: number): number | undefined {
  // A single number needs no group.
  if (count === 1) return undefined
  let least = wholes[0] as number
  let greatest = least
  let before = least
  let bits = 0
  for (let begin = 0; begin < count; begin += groupMax) {
    const end = Math.min(begin + groupMax, count)
    let min = wholes[begin] as number
    let max = min
    let minDifference = Number.POSITIVE_INFINITY
    let maxDifference = Number.NEGATIVE_INFINITY
    // The first number has no difference, so it gets the difference of the second number.
    before = begin === 0 ? min - ((wholes[1] as number) - min) : before
    for (let index = begin; index < end; index++) {
      const whole = wholes[index] as number
      const difference = whole - before
      if (whole < min) min = whole
      if (whole > max) max = whole
      if (difference < minDifference) minDifference = difference
      if (difference > maxDifference) maxDifference = difference
      before = whole
    }
    if (min < least) least = min
    if (max > greatest) greatest = max
    bits += (widthOf(max - min) - widthOf(maxDifference - minDifference)) * (end - begin)
  }
  return greatest - least <= packedMax && bits <= 0 ? least : undefined
}

function widthOf(range: number): number {
  return range > 0xffff_ffff ? 64 : 32 - Math.clz32(range)
}

function decodeWholes(reader: ByteReader, form: number, values: Float64Array, at: number, count: number): void {
  const isDirect = (form & directBit) !== 0
  const first = reader.signed()
  unpackNumbers(reader, numbers, isDirect ? count : count - 1)
  if (isDirect) for (let index = 0; index < count; index++) values[at + index] = first + (numbers[index] as number)
  else {
    let whole = first
    values[at] = whole
    for (let index = 1; index < count; index++) {
      whole += numbers[index - 1] as number
      values[at + index] = whole
    }
  }
  const end = at + count
  const digits = form & 0x0f
  if (digits === singlesForm) {
    for (let index = at; index < end; index++) values[index] = singleOf(values[index] as number)
    return
  }
  const scale = powers[digits]
  if (scale === undefined) throw damagedRow()
  if (digits > 0) for (let index = at; index < end; index++) values[index] = (values[index] as number) / scale
  if ((form & singleBit) === 0) return
  for (let index = at; index < end; index++) values[index] = Math.fround(values[index] as number)
}

/** Writes, for each value, the bytes of its XOR with the previous value, without the zero bytes at both ends. */
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

/** If a column has a text, its numbers are stored as texts too: no JSON text of another value looks like a number. */
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

function decodeTexts(reader: ByteReader, points: Points, at: number, count: number): void {
  const head = reader.varint()
  const stored = reader.take(Math.floor(head / 2))
  const plain = head % 2 === 1 ? inflateRawSync(stored) : stored
  const texts = JSON.parse(plain.toString()) as string[]
  if (texts.length !== count) throw damagedRow()
  for (const [place, text] of texts.entries()) {
    const index = at + place
    const isNumber = /^[-\dNI]/.test(text)
    points.values[index] = isNumber ? Number(text) : Number.NaN
    if (!isNumber) points.texts.set(index, text)
  }
}

function numberText(value: number | undefined): string {
  return Object.is(value, -0) ? '-0' : String(value)
}
