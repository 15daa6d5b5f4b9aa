import { malformed } from '#mqtt/reason-codes'

const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/**
 * Reads a UTF-8 string without U+0000. MQTT 5.0 §1.5.4.
 * @throws PacketFault
 */
export function readUtf8(bytes: Uint8Array, from: number, end: number): string {
  let isAscii = true
  for (let at = from; at < end; at++) {
    const byte = bytes[at] as number
    if (byte === 0) throw malformed('a string contains U+0000')
    if (byte >= 0x80) isAscii = false
  }
  if (isAscii) return Buffer.from(bytes.buffer, bytes.byteOffset + from, end - from).toString('latin1')
  try {
    return decoder.decode(bytes.subarray(from, end))
  } catch {
    throw malformed('a string is not valid UTF-8')
  }
}
