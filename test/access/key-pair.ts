import { generateKeyPairSync, type JsonWebKey, type KeyObject, randomBytes } from 'node:crypto'
import type { PublicJwk } from '#access/public-jwk'
import { makeSigningKey } from '#access/signing-keys'

/** The key of a client: it signs proofs, and each proof has its public key. */
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

/** Keys of unsupported types, each with its algorithm. */
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
