import { type Options, Packr, Unpackr } from 'msgpackr'
import type { RecordFormat } from '#runtime/actor'
import { StorageFailure } from '#runtime/storage'
import type { ValueWriter } from '#runtime/value-codec'

/**
 * Stored values: msgpack with plain maps and arrays only, so that any reader of the format can read them and decoding
 * only creates data.
 */
const packr = new Packr({ useRecords: false, variableMapSize: true, moreTypes: false })
// The package's types lack 'auto': a number when it is safe, otherwise a bigint.
const options = {
  useRecords: false,
  int64AsType: 'auto',
  moreTypes: false,
  structuredClone: false,
} as unknown as Options
const unpackr = new Unpackr(options)

export function pack(value: unknown): Uint8Array {
  return packr.pack(value)
}

export function unpack(bytes: Uint8Array): unknown {
  return unpackr.unpack(bytes)
}

/** `[version, value]`. */
export function packRecord(format: RecordFormat, value: unknown): Uint8Array {
  return pack([format.version, value])
}

/**
 * Unpacks a record, and upgrades an older one to the current version.
 * @throws StorageFailure `damaged` if it is not a record, or has a version that this release does not know.
 */
export function unpackRecord(format: RecordFormat, bytes: Uint8Array): unknown {
  const [stored, value] = versioned(format, bytes)
  let upgraded = value
  for (let version = stored; version < format.version; version++) {
    const upgrade = format.upgrades[version]
    if (!upgrade)
      throw new StorageFailure('damaged', `version ${version} of a stored ${format.name} cannot be upgraded`)
    upgraded = upgrade(upgraded)
  }
  if (!(stored <= format.version)) {
    throw new StorageFailure(
      'damaged',
      `a stored ${format.name} has version ${stored}; this release knows ${format.version}: it was written by a newer one`,
    )
  }
  return upgraded
}

/** The error of msgpackr may show the content of the bytes, so it is not passed on. */
function versioned({ name }: RecordFormat, bytes: Uint8Array): [number, unknown] {
  try {
    const record = unpack(bytes)
    if (Array.isArray(record) && record.length === 2) return record as [number, unknown]
  } catch {}
  throw new StorageFailure(
    'damaged',
    `a stored ${name} cannot be read; to find the damage, run npm run admin -- repair`,
  )
}

/**
 * Writes consecutive msgpack values into a buffer that is reused, without an object or a buffer for each. The bytes are
 * those of the general encoder, `pack` (property tests compare the two).
 */
export class MsgpackWriter implements ValueWriter {
  readonly #bytesKeptMax: number
  readonly #bytesAtFirst: number
  #bytes: Buffer
  #start = 0
  #at = 0

  /** A buffer that grew larger than `bytesKeptMax` is not kept. */
  constructor(bytesKeptMax = 1024 * 1024, bytesAtFirst = 64 * 1024) {
    this.#bytesKeptMax = bytesKeptMax
    this.#bytesAtFirst = bytesAtFirst
    this.#bytes = Buffer.allocUnsafe(bytesAtFirst)
  }

  /** Begins again: all pieces returned before are overwritten. */
  clear(): void {
    this.#start = 0
    this.#at = 0
    if (this.#bytes.length > this.#bytesKeptMax) this.#bytes = Buffer.allocUnsafe(this.#bytesAtFirst)
  }

  /** Begins a new piece. */
  begin(): void {
    this.#start = this.#at
  }

  get length(): number {
    return this.#at - this.#start
  }

  /** The bytes of this piece. Valid until the next `clear`, also while other pieces are written. */
  get written(): Uint8Array {
    return this.#bytes.subarray(this.#start, this.#at)
  }

  /** Shortens this piece to an earlier length. */
  cut(length: number): void {
    this.#at = this.#start + length
  }

  /** Appends a value that is already packed. */
  append(packed: Uint8Array): void {
    this.#reserve(packed.length)
    this.#bytes.set(packed, this.#at)
    this.#at += packed.length
  }

  any(value: unknown): void {
    const byte = oneByteOf(value)
    if (byte === undefined) this.append(pack(value))
    else this.#byte(byte)
  }

  null(): void {
    this.#byte(0xc0)
  }

  text(text: string): void {
    if (!this.#shortAscii(text)) this.append(pack(text))
  }

  object(size: number): void {
    if (size > objectSizeMax) throw new RangeError(`an object of ${size} entries: write it with any()`)
    this.#byte(0x80 | size)
  }

  array(length: number): void {
    this.#reserve(5)
    const bytes = this.#bytes
    let at = this.#at
    if (length < 0x10) bytes[at++] = 0x90 | length
    else {
      bytes[at++] = length < 0x10000 ? 0xdc : 0xdd
      if (length >= 0x10000) {
        bytes[at++] = length >>> 24
        bytes[at++] = length >>> 16
      }
      bytes[at++] = length >>> 8
      bytes[at++] = length
    }
    this.#at = at
  }

  /** Writes integers of at most 32 bits in their shortest form, and other numbers as a double. */
  number(value: number): void {
    this.#reserve(numberBytesMax)
    const bytes = this.#bytes
    let at = this.#at
    if (value >>> 0 === value) {
      if (value < 0x80) bytes[at++] = value
      else if (value < 0x100) {
        bytes[at++] = 0xcc
        bytes[at++] = value
      } else if (value < 0x10000) {
        bytes[at++] = 0xcd
        bytes[at++] = value >>> 8
        bytes[at++] = value
      } else {
        bytes[at++] = 0xce
        bytes[at++] = value >>> 24
        bytes[at++] = value >>> 16
        bytes[at++] = value >>> 8
        bytes[at++] = value
      }
    } else if (value >> 0 === value) {
      if (value >= -0x20) bytes[at++] = 0x100 + value
      else if (value >= -0x80) {
        bytes[at++] = 0xd0
        bytes[at++] = value
      } else if (value >= -0x8000) {
        bytes[at++] = 0xd1
        bytes[at++] = value >> 8
        bytes[at++] = value
      } else {
        bytes[at++] = 0xd2
        bytes[at++] = value >> 24
        bytes[at++] = value >> 16
        bytes[at++] = value >> 8
        bytes[at++] = value
      }
    } else {
      double[0] = value
      bytes[at++] = 0xcb
      for (let index = 7; index >= 0; index--) bytes[at++] = doubleBytes[index] as number
    }
    this.#at = at
  }

  #byte(byte: number): void {
    this.#reserve(1)
    this.#bytes[this.#at++] = byte
  }

  /** Returns false, and writes nothing, if the text is longer than `shortTextMax` or not ASCII. */
  #shortAscii(text: string): boolean {
    const { length } = text
    if (length > shortTextMax) return false
    this.#reserve(length + 2)
    const bytes = this.#bytes
    let at = this.#at
    if (length < 0x20) bytes[at++] = 0xa0 | length
    else {
      bytes[at++] = 0xd9
      bytes[at++] = length
    }
    for (let index = 0; index < length; index++) {
      const unit = text.charCodeAt(index)
      if (unit > 0x7f) return false
      bytes[at++] = unit
    }
    this.#at = at
    return true
  }

  /** Makes space for `count` bytes. Earlier pieces stay in the old buffer, which their users keep. */
  #reserve(count: number): void {
    if (this.#at + count <= this.#bytes.length) return
    const { length } = this
    const larger = Buffer.allocUnsafe(Math.max(this.#bytes.length * 2, length + count))
    larger.set(this.written)
    this.#bytes = larger
    this.#start = 0
    this.#at = length
  }
}

/** The byte of null, a boolean, an empty array or an empty object; undefined for any other value. */
function oneByteOf(value: unknown): number | undefined {
  if (value === null) return 0xc0
  if (typeof value === 'boolean') return value ? 0xc3 : 0xc2
  if (Array.isArray(value)) return value.length === 0 ? 0x90 : undefined
  if (typeof value !== 'object' || Object.getPrototypeOf(value) !== Object.prototype) return undefined
  for (const _ in value) return undefined
  return 0x80
}

/** The largest number of entries of an object whose head is one byte. */
const objectSizeMax = 0xf
/** The largest length of a text whose head has the length in one byte. */
const shortTextMax = 0xff
/** A tag and a double. */
const numberBytesMax = 9

/** A double in the machine's order, which is little endian on all platforms of uWebSockets.js. */
const double = new Float64Array(1)
const doubleBytes = new Uint8Array(double.buffer)
