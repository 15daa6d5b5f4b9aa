import type { Reported } from '#model/entry'

/**
 * Writes entries as msgpack one behind the other, into a buffer that is used again and again. The reports there are
 * millions of are written by hand: the general encoder takes five times as long, and needs an array built for each.
 * What is written is the same to the byte (a property test compares the two).
 */
export class EntryWriter {
  #bytes = Buffer.allocUnsafe(bytesAtFirst)
  #at = 0

  /** From the beginning. What one long chunk needed is not kept for ever. */
  clear(): void {
    this.#at = 0
    if (this.#bytes.length > bytesKeptMax) this.#bytes = Buffer.allocUnsafe(bytesAtFirst)
  }

  get length(): number {
    return this.#at
  }

  /** Everything written so far; only valid until the next `clear`. */
  get written(): Uint8Array {
    return this.#bytes.subarray(0, this.#at)
  }

  /** A value that was packed already. */
  append(packed: Uint8Array): void {
    this.#reserve(packed.length)
    this.#bytes.set(packed, this.#at)
    this.#at += packed.length
  }

  /**
   * A report in the form of the table in `entry-codec`, if its values are numbers, its device's name is ASCII and it
   * begins no session. False, and nothing is written, for any other.
   */
  writeReported(code: number, place: number, entry: Reported): boolean {
    const { device, items } = entry
    if (entry.session !== undefined || device.length > shortStringMax) return false
    const start = this.#at
    this.#reserve(headBytesMax + device.length + items.length * numberBytesMax)
    this.#bytes[this.#at++] = 0x98
    this.#number(code)
    if (!this.#shortAscii(device)) {
      this.#at = start
      return false
    }
    this.#number(entry.flakeAddress)
    this.#number(place)
    this.#number(entry.at)
    if (entry.timestamp === entry.at) this.#bytes[this.#at++] = 0xc0
    else this.#number(entry.timestamp)
    this.#number(entry.seq)
    this.#arrayHead(items.length)
    for (let index = 0; index < items.length; index++) {
      const item = items[index]
      if (typeof item !== 'number') {
        this.#at = start
        return false
      }
      this.#number(item)
    }
    return true
  }

  #reserve(bytes: number): void {
    if (this.#at + bytes <= this.#bytes.length) return
    const larger = Buffer.allocUnsafe(Math.max(this.#bytes.length * 2, this.#at + bytes))
    larger.set(this.written)
    this.#bytes = larger
  }

  #shortAscii(text: string): boolean {
    const bytes = this.#bytes
    const { length } = text
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

  #arrayHead(length: number): void {
    const bytes = this.#bytes
    if (length < 0x10) bytes[this.#at++] = 0x90 | length
    else {
      bytes[this.#at++] = 0xdc
      bytes[this.#at++] = length >>> 8
      bytes[this.#at++] = length
    }
  }

  /** Integers of at most 32 bits in their shortest form, everything else as a double. */
  #number(value: number): void {
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
}

const bytesAtFirst = 64 * 1024
const bytesKeptMax = 1024 * 1024
/** What the form's length byte can say; names are of at most 64 characters. */
const shortStringMax = 0xff
/** A tag and a double. */
const numberBytesMax = 9
/** Everything of a report but its name and its items. */
const headBytesMax = 64

/** A double in the machine's order, which is little endian wherever Node's binaries run. */
const double = new Float64Array(1)
const doubleBytes = new Uint8Array(double.buffer)
