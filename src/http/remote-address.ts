import { isIP } from 'node:net'

/** An address in its usual form: `127.0.0.1` also on a socket of both families, `::1` in short. */
export function addressText(bytes: ArrayBuffer): string {
  const octets = new Uint8Array(bytes)
  if (octets.length === 4) return octets.join('.')
  if (octets.length !== 16) return ''
  if (isMapped(octets)) return octets.subarray(12).join('.')
  const groups = Array.from({ length: 8 }, (_, group) => octetPair(octets, group * 2).toString(16))
  return new URL(`http://[${groups.join(':')}]`).hostname.slice(1, -1)
}

/**
 * Parses an address into the form of `addressText`; undefined if it is not one. Proxies write `192.0.2.1`,
 * `2001:db8::1`, `[2001:db8::1]`, and some add a port.
 */
export function addressOfText(text: string): string | undefined {
  const [, bracketed, plain] = /^(?:\[([^\]]*)\](?::\d+)?|([^:]*)(?::\d+)?)$/.exec(text) ?? []
  const address = bracketed ?? plain ?? text
  const family = isIP(address)
  if (family === 4 && bracketed === undefined) return address
  // A zone (`%eth0`) is only valid on the machine that wrote it.
  if (family !== 6 || !URL.canParse(`http://[${address}]`)) return undefined
  const short = new URL(`http://[${address}]`).hostname.slice(1, -1)
  const [, high, low] = /^::ffff:([0-9a-f]+):([0-9a-f]+)$/.exec(short) ?? []
  if (high === undefined || low === undefined) return short
  return [high, low].flatMap((pair) => [Number.parseInt(pair, 16) >> 8, Number.parseInt(pair, 16) & 0xff]).join('.')
}

/** Whether the address, in the form of `addressText`, is this machine itself. */
export function isLoopbackAddress(address: string): boolean {
  return address === '::1' || /^127(\.\d{1,3}){3}$/.test(address)
}

function isMapped(octets: Uint8Array): boolean {
  return octets.subarray(0, 10).every((octet) => octet === 0) && octets[10] === 0xff && octets[11] === 0xff
}

function octetPair(octets: Uint8Array, index: number): number {
  return ((octets[index] ?? 0) << 8) | (octets[index + 1] ?? 0)
}
