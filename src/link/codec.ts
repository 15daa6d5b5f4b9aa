import { Packr, Unpackr } from 'msgpackr'
import { uint32Max } from '#model/identifier'

/** The two ways of writing the same messages. Contract 7. */
export const linkProtocols = { 'link.v1.json': 'json', 'link.v1.msgpack': 'msgpack' } as const
export type LinkProtocol = (typeof linkProtocols)[keyof typeof linkProtocols]

// 64-bit integers come as bigint: 'auto' gives 2⁵³ as a number too, which as a number could be 2⁵³ + 1. No records: a
// peer could define them to be anything.
const unpackr = new Unpackr({
  useRecords: false,
  int64AsType: 'bigint',
  moreTypes: false,
  mapsAsObjects: true,
  // Bytes that outlive the frame: it is only lent to us.
  copyBuffers: true,
})
const packr = new Packr({ useRecords: false, variableMapSize: true, moreTypes: false })

/** @throws Error when it is not what the protocol says. */
export function decodeFrame(protocol: LinkProtocol, data: Uint8Array, isBinary: boolean): unknown {
  if (protocol === 'json') {
    if (isBinary) throw new Error('this link speaks JSON in text frames')
    return JSON.parse(Buffer.from(data.buffer, data.byteOffset, data.byteLength).toString())
  }
  if (!isBinary) throw new Error('this link speaks msgpack in binary frames')
  return unpackr.unpack(data)
}

export function encodeFrame(protocol: LinkProtocol, message: unknown): string | Uint8Array {
  return protocol === 'json' ? JSON.stringify(message) : packr.pack(message)
}

/** A whole number as an integer on the wire: msgpackr writes those of more than 32 bits as floats. Contract 7. */
export function integerFor(protocol: LinkProtocol, number: number): number | bigint {
  return protocol === 'json' || number <= uint32Max ? number : BigInt(number)
}

/**
 * What a 'plain' value is on a link: null, boolean, number, bigint, string, bytes, and arrays and maps of them. msgpack
 * has extensions that come out as dates, errors, sets or regular expressions; none of them is a value of ours.
 */
export function isPlain(value: unknown, depthMax = 8): boolean {
  if (value === null || typeof value !== 'object') return typeof value !== 'function' && typeof value !== 'symbol'
  if (value instanceof Uint8Array) return true
  if (depthMax === 0) return false
  if (Array.isArray(value)) {
    for (let index = 0; index < value.length; index++) if (!isPlain(value[index], depthMax - 1)) return false
    return true
  }
  const prototype = Object.getPrototypeOf(value)
  if (prototype !== Object.prototype && prototype !== null) return false
  const object = value as Record<string, unknown>
  for (const key in object) if (!isPlain(object[key], depthMax - 1)) return false
  return true
}

/** A 64-bit integer as the number it is, where that is exact; anything else as it is. */
export function numberOf(value: unknown): unknown {
  return typeof value === 'bigint' && value >= -maxSafe && value <= maxSafe ? Number(value) : value
}

/** The same for a plain value and all that is in it. Written where it lies: the frame is ours, and nobody else's. */
export function withNumbers(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || value instanceof Uint8Array) return numberOf(value)
  if (Array.isArray(value)) {
    for (let index = 0; index < value.length; index++) value[index] = withNumbers(value[index])
    return value
  }
  const object = value as Record<string, unknown>
  for (const key in object) {
    const inner = object[key]
    const number = withNumbers(inner)
    if (number !== inner) object[key] = number
  }
  return value
}

const maxSafe = BigInt(Number.MAX_SAFE_INTEGER)
