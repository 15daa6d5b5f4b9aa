import { createECDH, createPrivateKey, createPublicKey, type KeyObject } from 'node:crypto'
import { base64urlOf } from '#access/base64url'
import { open, type Random, seal } from '#access/file-keys'
import { type PublicJwk, thumbprintOf } from '#access/public-jwk'

/** A present or earlier key of the server's tokens. */
export interface SigningKey {
  /** The thumbprint of the key, so equal keys have equal names, even after a restart. RFC 7638. */
  readonly kid: string
  readonly publicJwk: PublicJwk
  readonly publicKey: KeyObject
  readonly privateKey: KeyObject
}

/** All keys of the server. One of them signs. Each is valid until it retires. */
export interface SigningKeys {
  readonly current: SigningKey
  find(kid: string): SigningKey | undefined
}

const curve = 'prime256v1'
const privateBytes = 32
/** One number in 2³² is above the order of the curve; several in a row mean that `random` is not random. */
const attemptsMax = 8

/** Makes a key from 32 random bytes, so that the same seed makes the same key. */
export function makeSigningKey(random: Random): SigningKey {
  for (let attempt = 0; attempt < attemptsMax; attempt++) {
    const key = signingKeyOf(random(privateBytes))
    if (key) return key
  }
  throw new Error('no signing key can be made: the random source is broken')
}

/** The private half, sealed for storage. Inverse of `openSigningKey`. */
export function sealSigningKey(sealKey: Uint8Array, key: SigningKey, random: Random): Uint8Array {
  const { d = '' } = key.privateKey.export({ format: 'jwk' })
  return seal(sealKey, Buffer.from(d, 'base64url'), contextOf(key.kid), random)
}

/** Undefined if the key was sealed under another key file, or has another `kid`. Inverse of `sealSigningKey`. */
export function openSigningKey(sealKey: Uint8Array, kid: string, sealed: Uint8Array): SigningKey | undefined {
  const bytes = open(sealKey, sealed, contextOf(kid))
  const key = bytes && signingKeyOf(bytes)
  return key?.kid === kid ? key : undefined
}

/** A key as published at the well-known URL. RFC 7517 §4. */
export function publishedKeyOf({ kid, publicJwk }: SigningKey) {
  return { ...publicJwk, kid, alg: 'ES256', use: 'sig' }
}

/** Undefined if the number is zero or above the curve's order. */
function signingKeyOf(bytes: Uint8Array): SigningKey | undefined {
  const ecdh = createECDH(curve)
  try {
    ecdh.setPrivateKey(bytes)
  } catch {
    return undefined
  }
  // Uncompressed: 0x04, x, y. SEC 1 §2.3.3.
  const point = ecdh.getPublicKey()
  const half = (point.length - 1) / 2
  const coordinates = { x: base64urlOf(point.subarray(1, 1 + half)), y: base64urlOf(point.subarray(1 + half)) }
  const publicJwk: PublicJwk = { kty: 'EC', crv: 'P-256', ...coordinates }
  const d = base64urlOf(Buffer.concat([Buffer.alloc(privateBytes - bytes.length), bytes]))
  const privateKey = createPrivateKey({ key: { ...publicJwk, d }, format: 'jwk' })
  return { kid: thumbprintOf(publicJwk), publicJwk, publicKey: createPublicKey(privateKey), privateKey }
}

function contextOf(kid: string): string {
  return `signing-key/${kid}`
}
