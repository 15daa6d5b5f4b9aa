import { type Options, Packr, Unpackr } from 'msgpackr'

/** The two ways of writing the same messages. Contract 7. */
export const linkProtocols = { 'link.v1.json': 'json', 'link.v1.msgpack': 'msgpack' } as const
export type LinkProtocol = (typeof linkProtocols)[keyof typeof linkProtocols]

// 64-bit integers come as numbers where that is exact, else as bigint. No records: a peer could define them to be
// anything. The package's own types leave 'auto' out.
const options = { useRecords: false, int64AsType: 'auto', moreTypes: false, mapsAsObjects: true } as unknown as Options
const unpackr = new Unpackr(options)
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

/**
 * What a 'plain' value is on a link: null, boolean, number, bigint, string, bytes, and arrays and maps of them. msgpack
 * has extensions that come out as dates, errors, sets or regular expressions; none of them is a value of ours.
 */
export function isPlain(value: unknown, depthMax = 8): boolean {
  if (value === null || typeof value !== 'object') return typeof value !== 'function' && typeof value !== 'symbol'
  if (value instanceof Uint8Array) return true
  if (depthMax === 0) return false
  if (Array.isArray(value)) return value.every((element) => isPlain(element, depthMax - 1))
  const prototype = Object.getPrototypeOf(value)
  if (prototype !== Object.prototype && prototype !== null) return false
  return Object.values(value).every((element) => isPlain(element, depthMax - 1))
}
