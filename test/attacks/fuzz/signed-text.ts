import { hkdfSync, sign } from 'node:crypto'
import { base64urlOf } from '#access/secret-text'
import { makeSigningKey, type SigningKey } from '#access/signing-keys'

/** Deterministic bytes for a name. */
export function bytesFor(name: string): (bytes: number) => Uint8Array {
  return (bytes) => new Uint8Array(hkdfSync('sha256', name, '', '', bytes))
}

export function keyFor(name: string): SigningKey {
  return makeSigningKey(bytesFor(name))
}

/**
 * The bytes as a JSON Web Signature, with one character for each byte. If they contain a line break, the parts before
 * and after the first one become header and claims with a valid signature. Mutation would never make such a text.
 */
export function signedText(bytes: Uint8Array, { privateKey }: SigningKey): string {
  const all = Buffer.from(bytes)
  const end = all.indexOf('\n')
  if (end < 0) return all.toString('latin1')
  const signed = `${base64urlOf(all.subarray(0, end))}.${base64urlOf(all.subarray(end + 1))}`
  const signature = sign('sha256', Buffer.from(signed), { key: privateKey, dsaEncoding: 'ieee-p1363' })
  return `${signed}.${base64urlOf(signature)}`
}
