import type { KeyPair } from '#client/options'

/** Proofs of possession: a request is signed with the key of its session. RFC 9449 §4, §5.2. */

/** The request that one proof covers. */
export interface ProvenRequest {
  readonly method: string
  /** Absolute; the proof omits query and fragment. */
  readonly url: string
  /** Unix seconds, by the server's clock. */
  readonly at: number
  /** Unique for each proof. */
  readonly id: string
  readonly nonce?: string | undefined
  readonly accessToken?: string | undefined
}

const curve = { name: 'ECDSA', namedCurve: 'P-256' } as const
const signature = { name: 'ECDSA', hash: 'SHA-256' } as const

/** A key pair whose private key cannot be exported. */
export async function makeKeys(): Promise<KeyPair> {
  return (await subtle().generateKey(curve, false, ['sign', 'verify'])) as KeyPair
}

/** A DPoP proof JWT. */
export async function proofOf(keys: KeyPair, request: ProvenRequest): Promise<string> {
  const { method, url, at, id, nonce, accessToken } = request
  const header = { typ: 'dpop+jwt', alg: 'ES256', jwk: await publicKeyOf(keys) }
  const claims = {
    jti: id,
    htm: method,
    htu: url.replace(/[?#].*$/s, ''),
    iat: at,
    nonce,
    ath: accessToken === undefined ? undefined : base64url(await subtle().digest('SHA-256', utf8(accessToken))),
  }
  const text = `${base64url(utf8(JSON.stringify(header)))}.${base64url(utf8(JSON.stringify(claims)))}`
  return `${text}.${base64url(await subtle().sign(signature, keys.privateKey, utf8(text)))}`
}

const publicKeys = new WeakMap<KeyPair, Promise<object>>()

/** Only the public parts, RFC 9449 §4.2. */
function publicKeyOf(keys: KeyPair): Promise<object> {
  let key = publicKeys.get(keys)
  if (!key) {
    key = subtle()
      .exportKey('jwk', keys.publicKey)
      .then(({ kty, crv, x, y }) => ({ kty, crv, x, y }))
    publicKeys.set(keys, key)
  }
  return key
}

/** @throws Error on pages that were loaded by http from another machine: browsers disable WebCrypto there. */
function subtle(): typeof globalThis.crypto.subtle {
  const webCrypto = globalThis.crypto?.subtle
  if (!webCrypto) throw new Error('Sign-in requires a page loaded by HTTPS or from localhost')
  return webCrypto
}

/** RFC 4648 §5, without padding. */
function base64url(bytes: ArrayBuffer | Uint8Array): string {
  return base64(bytes).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '')
}

/** RFC 4648 §4. */
export function base64(bytes: ArrayBuffer | Uint8Array): string {
  return btoa(Array.from(new Uint8Array(bytes), (byte) => String.fromCharCode(byte)).join(''))
}

export function utf8(text: string): Uint8Array<ArrayBuffer> {
  return new TextEncoder().encode(text)
}
