import { encodeFrame, integerFor, type LinkProtocol } from '#link/codec'
import { uint32Max } from '#model/identifier'

/**
 * ACK: everything of a device up to this number is stored. Contract 7.
 *
 * Its short form as msgpack is what the general encoder gives too, written by hand, for there is one for nearly every
 * frame. The bytes are only valid until the next call.
 */
export function encodeAcknowledgement(
  protocol: LinkProtocol,
  flakeAddress: number,
  seq: number,
  isShort: boolean,
): string | Uint8Array {
  if (isShort && protocol === 'msgpack' && seq <= uint32Max) return shortOf(flakeAddress, seq)
  const number = integerFor(protocol, seq)
  return encodeFrame(protocol, isShort ? ['A', flakeAddress, number] : { type: 'ACK', flakeAddress, seq: number })
}

/** `["A", …]`: an array of three, a string of one; then two integers of at most five bytes. */
const head = [0x93, 0xa1, 0x41]
const bytes = Uint8Array.from([...head, ...new Array<number>(10).fill(0)])
const views = Array.from(bytes, (_, index) => bytes.subarray(0, index + 1))

function shortOf(flakeAddress: number, seq: number): Uint8Array {
  const end = putInteger(putInteger(head.length, flakeAddress), seq)
  return views[end - 1] as Uint8Array
}

/** A natural number of at most 32 bits in its shortest form. Answers where it ends. */
function putInteger(at: number, value: number): number {
  if (value < 0x80) {
    bytes[at] = value
    return at + 1
  }
  if (value < 0x100) {
    bytes[at] = 0xcc
    bytes[at + 1] = value
    return at + 2
  }
  if (value < 0x10000) {
    bytes[at] = 0xcd
    bytes[at + 1] = value >>> 8
    bytes[at + 2] = value
    return at + 3
  }
  bytes[at] = 0xce
  bytes[at + 1] = value >>> 24
  bytes[at + 2] = value >>> 16
  bytes[at + 3] = value >>> 8
  bytes[at + 4] = value
  return at + 5
}
