import * as zlib from 'node:zlib'

/** CRC-32 of ISO 3309, as gzip and PNG have it: Node's own, which Node 22.0 and 22.1 lack. */
export const crc32: (bytes: Uint8Array) => number = (zlib as Partial<typeof zlib>).crc32 ?? tableCrc32

/** By a table, a byte at a time: 64 KiB take some tenths of a millisecond. */
export function tableCrc32(bytes: Uint8Array): number {
  let sum = 0xffffffff
  for (let at = 0; at < bytes.length; at++) sum = (table[(sum ^ (bytes[at] as number)) & 0xff] as number) ^ (sum >>> 8)
  return (sum ^ 0xffffffff) >>> 0
}

const table = Uint32Array.from({ length: 256 }, (_, byte) => {
  let sum = byte
  for (let bit = 0; bit < 8; bit++) sum = sum & 1 ? 0xedb88320 ^ (sum >>> 1) : sum >>> 1
  return sum >>> 0
})
