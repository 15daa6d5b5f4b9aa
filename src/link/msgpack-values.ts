import { deviceFieldAt, FrameCost, notFrame } from '#link/codec'

/**
 * Reads the message of a frame: null, booleans, numbers, texts, bytes, lists, and objects with known fields. Unknown
 * fields are skipped. Extensions and invalid UTF-8 become `unreadable`, which no field and no type accepts. Unlike a
 * general decoder, this one is made for untrusted bytes: it shares no memory, allocates nothing for a declared length
 * alone, and checks the limits of `FrameCost`. https://github.com/msgpack/msgpack/blob/master/spec.md
 *
 * @throws Problem `bad_request`
 */
export function readMsgpack(data: Uint8Array): unknown {
  bytes = Buffer.isBuffer(data) ? data : Buffer.from(data.buffer, data.byteOffset, data.byteLength)
  at = 0
  cost = new FrameCost()
  const value = valueAt(0)
  if (at !== bytes.length) throw notFrame(`${bytes.length - at} bytes after the message`)
  return value
}

/** Replaces extensions of msgpack (including timestamps), and texts that are not UTF-8. */
export const unreadable = Symbol('unreadable')

/**
 * The frame that is being read, the position, and the cost so far. Global, because reading is synchronous, one frame at
 * a time.
 */
let bytes: Buffer = Buffer.alloc(0)
let at = 0
let cost = new FrameCost()

function valueAt(depth: number): unknown {
  cost.value()
  const tag = bytes[advance(1)] as number
  if (tag < 0x80) return tag
  if (tag >= 0xe0) return tag - 0x100
  if (tag < 0x90) return objectOf(tag & 0x0f, depth + 1)
  if (tag < 0xa0) return listOf(tag & 0x0f, depth + 1)
  if (tag < 0xc0) return textOf(tag & 0x1f)
  switch (tag) {
    case 0xc0:
      return null
    case 0xc2:
      return false
    case 0xc3:
      return true
    case 0xc4:
    case 0xc5:
    case 0xc6:
      return bytesOf(unsignedAt(1 << (tag - 0xc4)))
    case 0xc7:
    case 0xc8:
    case 0xc9:
      return extensionOf(unsignedAt(1 << (tag - 0xc7)))
    case 0xca:
      return bytes.readFloatBE(advance(4))
    case 0xcb:
      return bytes.readDoubleBE(advance(8))
    case 0xcc:
    case 0xcd:
    case 0xce:
      return unsignedAt(1 << (tag - 0xcc))
    case 0xcf:
      return numberOf(bytes.readBigUInt64BE(advance(8)))
    case 0xd0:
      return bytes.readInt8(advance(1))
    case 0xd1:
      return bytes.readInt16BE(advance(2))
    case 0xd2:
      return bytes.readInt32BE(advance(4))
    case 0xd3:
      return numberOf(bytes.readBigInt64BE(advance(8)))
    case 0xd4:
    case 0xd5:
    case 0xd6:
    case 0xd7:
    case 0xd8:
      return extensionOf(1 << (tag - 0xd4))
    case 0xd9:
    case 0xda:
    case 0xdb:
      return textOf(unsignedAt(1 << (tag - 0xd9)))
    case 0xdc:
    case 0xdd:
      return listOf(unsignedAt(tag === 0xdc ? 2 : 4), depth + 1)
    case 0xde:
    case 0xdf:
      return objectOf(unsignedAt(tag === 0xde ? 2 : 4), depth + 1)
    default:
      throw notFrame(`the byte 0x${tag.toString(16)} is not defined in msgpack`)
  }
}

/** Advances by `count` bytes, and returns the position before them. */
function advance(count: number): number {
  const from = at
  at += count
  if (at > bytes.length) throw notFrame('it ends too soon')
  return from
}

function unsignedAt(byteCount: number): number {
  const from = advance(byteCount)
  if (byteCount === 1) return bytes[from] as number
  return byteCount === 2 ? bytes.readUInt16BE(from) : bytes.readUInt32BE(from)
}

function listOf(length: number, depth: number): unknown[] {
  cost.list(depth)
  const list: unknown[] = []
  for (let left = length; left > 0; left--) list.push(valueAt(depth))
  return list
}

function objectOf(length: number, depth: number): Record<string, unknown> {
  cost.list(depth)
  const object: Record<string, unknown> = {}
  for (let left = length; left > 0; left--) {
    const field = fieldAt(depth)
    const value = valueAt(depth)
    if (field !== undefined) object[field] = value
    else cost.unknownField()
  }
  return object
}

/** Returns undefined for a key that no message has, without converting it to a string. */
function fieldAt(depth: number): string | undefined {
  const tag = bytes[at] as number
  const isShort = tag >= 0xa0 && tag < 0xc0
  if (!isShort && !(tag >= 0xd9 && tag <= 0xdb)) {
    valueAt(depth)
    return undefined
  }
  at++
  const length = isShort ? tag & 0x1f : unsignedAt(1 << (tag - 0xd9))
  const from = advance(length)
  return deviceFieldAt(bytes, from, length)
}

/**
 * Texts up to this length are decoded by `utf8Text`: a call of Buffer costs a quarter of a microsecond, and a frame may
 * contain a hundred thousand short texts.
 */
const shortTextMax = 8

/** Buffer replaces invalid UTF-8 with this character, but a valid text may contain it too. */
const replacement = '\ufffd'

function textOf(length: number): string | typeof unreadable {
  const from = advance(length)
  if (length > shortTextMax) {
    const text = bytes.toString('utf8', from, at)
    if (!text.includes(replacement)) return text
  }
  return utf8Text(from)
}

/** Decodes the text between `from` and `at` as strict UTF-8. RFC 3629 §4. */
function utf8Text(from: number): string | typeof unreadable {
  let text = ''
  let place = from
  while (place < at) {
    const lead = bytes[place++] as number
    if (lead < 0x80) {
      text += String.fromCharCode(lead)
      continue
    }
    const more = lead < 0xe0 ? 1 : lead < 0xf0 ? 2 : 3
    if (lead < 0xc2 || lead > 0xf4 || place + more > at) return unreadable
    let point = lead & (0x3f >> more)
    for (const end = place + more; place < end; place++) {
      const next = bytes[place] as number
      if ((next & 0xc0) !== 0x80) return unreadable
      point = (point << 6) | (next & 0x3f)
    }
    const isSurrogate = point >= 0xd800 && point <= 0xdfff
    if (isSurrogate || point < (pointMin[more] as number) || point > 0x10ffff) return unreadable
    text += String.fromCodePoint(point)
  }
  return text
}

/** The smallest code points of two, three and four bytes, by `more`. A smaller code point must use fewer bytes. */
const pointMin = [0, 0x80, 0x800, 0x10000]

function bytesOf(length: number): Uint8Array {
  cost.binary()
  const from = advance(length)
  return new Uint8Array(bytes.subarray(from, at))
}

/** An extension has one byte for its type before its data. */
function extensionOf(length: number): typeof unreadable {
  advance(1 + length)
  return unreadable
}

/** Returns a number if it is exact. 2⁵³ stays a bigint, because 2⁵³ + 1 would become the same number. */
function numberOf(value: bigint): number | bigint {
  return value >= -maxSafe && value <= maxSafe ? Number(value) : value
}

const maxSafe = BigInt(Number.MAX_SAFE_INTEGER)
