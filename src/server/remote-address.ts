/** An address as people write it: `127.0.0.1` also when it came over a socket of both families, `::1` in short. */
export function addressText(bytes: ArrayBuffer): string {
  const octets = new Uint8Array(bytes)
  if (octets.length === 4) return octets.join('.')
  if (octets.length !== 16) return ''
  if (isMapped(octets)) return octets.subarray(12).join('.')
  const groups = Array.from({ length: 8 }, (_, group) => octetPair(octets, group * 2).toString(16))
  return new URL(`http://[${groups.join(':')}]`).hostname.slice(1, -1)
}

function isMapped(octets: Uint8Array): boolean {
  return octets.subarray(0, 10).every((octet) => octet === 0) && octets[10] === 0xff && octets[11] === 0xff
}

function octetPair(octets: Uint8Array, index: number): number {
  return ((octets[index] ?? 0) << 8) | (octets[index + 1] ?? 0)
}
