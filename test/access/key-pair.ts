import { generateKeyPairSync, type JsonWebKey, type KeyObject, randomBytes } from 'node:crypto'
import type { PublicJwk } from '#access/public-jwk'
import { makeSigningKey } from '#access/signing-key'

/** A client's key: it signs proofs, and its public half goes with each. */
export interface KeyPair {
  readonly privateKey: KeyObject
  readonly publicKey: KeyObject
  readonly jwk: PublicJwk
  readonly jkt: string
}

export function makeKeyPair(): KeyPair {
  const { privateKey, publicKey, publicJwk, kid } = makeSigningKey(randomBytes)
  return { privateKey, publicKey, jwk: publicJwk, jkt: kid }
}

/** Keys of kinds that are none of ours, with the algorithm each is for. */
export function makeForeignKeys(): Readonly<Record<string, { privateKey: KeyObject; jwk: JsonWebKey }>> {
  const made = {
    RS256: generateKeyPairSync('rsa', { modulusLength: 2048 }),
    ES384: generateKeyPairSync('ec', { namedCurve: 'P-384' }),
    ES512: generateKeyPairSync('ec', { namedCurve: 'P-521' }),
    ES256K: generateKeyPairSync('ec', { namedCurve: 'secp256k1' }),
    EdDSA: generateKeyPairSync('ed25519'),
  }
  return Object.fromEntries(
    Object.entries(made).map(([alg, { privateKey, publicKey }]) => [
      alg,
      { privateKey, jwk: publicKey.export({ format: 'jwk' }) },
    ]),
  )
}
