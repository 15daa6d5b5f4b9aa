import type { ValueReader } from '#runtime/value-codec'
import { unpack } from '#store/record-codec'

/**
 * Reads consecutive msgpack values with the same result as the general decoder, `unpack` (property tests compare the
 * two), without making a list of them. It knows the forms that `MsgpackWriter` writes. If `any` finds another form, the
 * general decoder reads that value. If another method finds one, `whole` returns undefined.
 */
export class MsgpackReader implements ValueReader {
  #bytes: Buffer = noBytes
  #at = 0

  /**
   * Reads all bytes with `read`. Returns undefined if `read` does, if the bytes are not in the form of the writer, or
   * if bytes remain. Then the caller reads the bytes with the general decoder, or reports damage.
   */
  whole<Value>(bytes: Uint8Array, read: (reader: this) => Value | undefined): Value | undefined {
    this.#bytes = Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    this.#at = 0
    try {
      const value = read(this)
      // The index is past the end if the bytes end within a number.
      return this.#at === this.#bytes.length ? value : undefined
    } catch (error) {
      if (error === otherForm) return undefined
      throw error
    } finally {
      this.#bytes = noBytes
    }
  }

  /** The start of the next value, for `back`. */
  get place(): number {
    return this.#at
  }

  back(place: number): void {
    this.#at = place
  }

  array(): number {
    const bytes = this.#bytes
    const at = this.#at
    const tag = bytes[at] as number
    let length = tag & 0x0f
    if (tag >= 0x90 && tag < 0xa0) this.#at = at + 1
    else if (tag === 0xdc) {
      length = uint16At(bytes, at + 1)
      this.#at = at + 3
    } else if (tag === 0xdd) {
      length = uint32At(bytes, at + 1)
      this.#at = at + 5
    } else throw otherForm
    // Each element takes at least a byte: the caller may allocate memory for this length.
    if (length > bytes.length - this.#at) throw otherForm
    return length
  }

  object(): number {
    const tag = this.#bytes[this.#at] as number
    if (!(tag >= 0x80 && tag < 0x90)) throw otherForm
    this.#at++
    return tag & 0x0f
  }

  number(): number {
    const bytes = this.#bytes
    const at = this.#at
    const tag = bytes[at] as number
    if (tag < 0x80) {
      this.#at = at + 1
      return tag
    }
    if (tag === 0xcb) {
      this.#at = at + 9
      words[highWord] = uint32At(bytes, at + 1)
      words[lowWord] = uint32At(bytes, at + 5)
      return double[0] as number
    }
    if (tag >= 0xe0) {
      this.#at = at + 1
      return tag - 0x100
    }
    return this.#longInteger(tag, at + 1)
  }

  #longInteger(tag: number, at: number): number {
    const bytes = this.#bytes
    switch (tag) {
      case 0xcc:
        this.#at = at + 1
        return bytes[at] as number
      case 0xcd:
        this.#at = at + 2
        return uint16At(bytes, at)
      case 0xce:
        this.#at = at + 4
        return uint32At(bytes, at)
      case 0xd0:
        this.#at = at + 1
        return ((bytes[at] as number) << 24) >> 24
      case 0xd1:
        this.#at = at + 2
        return (uint16At(bytes, at) << 16) >> 16
      case 0xd2:
        this.#at = at + 4
        return uint32At(bytes, at) | 0
      default:
        throw otherForm
    }
  }

  text(): string {
    const bytes = this.#bytes
    const at = this.#at
    const start = at + this.#textHead(at)
    const end = this.#at
    for (let place = start; place < end; place++) {
      if ((bytes[place] as number) > 0x7f) return unpack(bytes.subarray(at, end)) as string
    }
    return bytes.toString('latin1', start, end)
  }

  passText(text: string): boolean {
    const at = this.#at
    const start = at + this.#textHead(at)
    let isThis = this.#at - start === text.length
    for (let index = 0; isThis && index < text.length; index++) {
      isThis = this.#bytes[start + index] === text.charCodeAt(index)
    }
    if (!isThis) this.#at = at
    return isThis
  }

  /** Skips a text and returns the hash of its bytes; for ASCII the result of `textHash`. */
  passForHash(): number {
    const bytes = this.#bytes
    const at = this.#at
    const start = at + this.#textHead(at)
    const end = this.#at
    let hash = hashAtFirst
    for (let place = start; place < end; place++) hash = hashWith(hash, bytes[place] as number)
    return hash >>> 0
  }

  /** Skips a null. Returns false, and skips nothing, if the next value is not null. */
  passNull(): boolean {
    if (this.#bytes[this.#at] !== 0xc0) return false
    this.#at++
    return true
  }

  any(): unknown {
    const at = this.#at
    const tag = this.#bytes[at] as number
    if (tag < 0x80 || tag >= 0xe0 || (tag >= 0xcb && tag <= 0xce) || (tag >= 0xd0 && tag <= 0xd2)) return this.number()
    if ((tag >= 0xa0 && tag < 0xc0) || (tag >= 0xd9 && tag <= 0xdb)) return this.text()
    this.pass(1)
    switch (tag) {
      case 0xc0:
        return null
      case 0xc2:
        return false
      case 0xc3:
        return true
      case 0x90:
        return []
      case 0x80:
        return {}
      default:
        return unpack(this.#bytes.subarray(at, this.#at))
    }
  }

  /** Skips this many values of any kind. */
  pass(count: number): void {
    const bytes = this.#bytes
    const { length } = bytes
    let at = this.#at
    for (let left = count; left > 0; left--) {
      const tag = bytes[at] as number
      if (tag < 0x80 || tag >= 0xe0) at += 1
      else if (tag === 0xcb) at += 9
      else if (tag < 0x90) {
        left += 2 * (tag & 0x0f)
        at += 1
      } else if (tag < 0xa0) {
        left += tag & 0x0f
        at += 1
      } else if (tag < 0xc0) at += 1 + (tag & 0x1f)
      else {
        left += childCountOf(bytes, at)
        at += bytesOf(bytes, at)
      }
      if (at > length) throw otherForm
    }
    this.#at = at
  }

  /** Skips the whole text; returns the length of its head. */
  #textHead(at: number): number {
    const bytes = this.#bytes
    const tag = bytes[at] as number
    let head = 1
    let length = tag & 0x1f
    if (!(tag >= 0xa0 && tag < 0xc0)) {
      if (!(tag >= 0xd9 && tag <= 0xdb)) throw otherForm
      head = headBytes[tag - 0xc0] as number
      length = bytesOf(bytes, at) - head
    }
    this.#at = at + head + length
    if (this.#at > bytes.length) throw otherForm
    return head
  }
}

/** The hash of the rest of a text from an index on, as in `passForHash`. */
export function textHash(text: string, from: number): number {
  let hash = hashAtFirst
  for (let place = from; place < text.length; place++) hash = hashWith(hash, text.charCodeAt(place))
  return hash >>> 0
}

/** FNV-1a. */
const hashAtFirst = 0x811c9dc5

function hashWith(hash: number, byte: number): number {
  return Math.imul(hash ^ byte, 0x01000193)
}

/** Thrown if bytes are not in the form of the writer. One object for all cases, because creating an error is slow. */
const otherForm = new Error('not in the form of the writer')

const noBytes = Buffer.alloc(0)

/**
 * For tags from 0xc0 to 0xdf: the size in bytes of the tag and the number or length after it; 0 for tags that are never
 * written. 0xd4 is `undefined` in a list or an object, if the byte after it is 0.
 * nil, –, false, true · bin 8, 16, 32 · ext 8, 16, 32 · float 32, 64 · uint 8 to 64 · int 8 to 64 · fixext · str 8, 16,
 * 32 · array 16, 32 · map 16, 32
 */
const headBytes = [1, 0, 1, 1, 2, 3, 5, 0, 0, 0, 5, 9, 2, 3, 5, 9, 2, 3, 5, 9, 3, 0, 0, 0, 0, 2, 3, 5, 3, 5, 3, 5]

/** The size in bytes of a value with a tag from 0xc0 to 0xdf, without the values in a list or an object. */
function bytesOf(bytes: Buffer, at: number): number {
  const tag = bytes[at] as number
  const head = headBytes[tag - 0xc0]
  if (!head || (tag === 0xd4 && bytes[at + 1] !== 0)) throw otherForm
  const hasBytes = (tag >= 0xc4 && tag <= 0xc6) || (tag >= 0xd9 && tag <= 0xdb)
  return hasBytes ? head + lengthAt(bytes, at, head) : head
}

/** The number of values in a list or an object with a tag from 0xc0 to 0xdf; 0 for other values. */
function childCountOf(bytes: Buffer, at: number): number {
  const tag = bytes[at] as number
  if (tag < 0xdc) return 0
  const head = headBytes[tag - 0xc0] as number
  return lengthAt(bytes, at, head) * (tag < 0xde ? 1 : 2)
}

function lengthAt(bytes: Buffer, at: number, head: number): number {
  if (head === 2) return bytes[at + 1] as number
  return head === 3 ? uint16At(bytes, at + 1) : uint32At(bytes, at + 1)
}

function uint16At(bytes: Buffer, at: number): number {
  return ((bytes[at] as number) << 8) | (bytes[at + 1] as number)
}

function uint32At(bytes: Buffer, at: number): number {
  const low = ((bytes[at + 1] as number) << 16) | ((bytes[at + 2] as number) << 8) | (bytes[at + 3] as number)
  return (((bytes[at] as number) << 24) | low) >>> 0
}

/** A double in the machine's order, which is little endian on all platforms of uWebSockets.js. */
const double = new Float64Array(1)
const words = new Uint32Array(double.buffer)
const lowWord = 0
const highWord = 1
