import { type KeyObject, randomBytes, randomUUID, sign } from 'node:crypto'
import { base64urlOf } from '#access/base64url'
import { makeSigningKey } from '#access/signing-key'
import { tokenHash } from '#access/token-hash'

export interface ProofSubject {
  readonly method: string
  /** Scheme, host, port and path. */
  readonly url: string
  readonly nonce: string
  /** The access token that goes with it, if one does. */
  readonly token?: string
}

/** A client's key, and proofs by it as clients send them. RFC 9449 §4.2. */
export class ProvingKey {
  readonly #privateKey: KeyObject
  /** The same in each proof, to the letter. */
  readonly #header: { readonly typ: string; readonly alg: string; readonly jwk: object }

  constructor() {
    // Not by `generateKeyPairSync`: until Node 22 a collection that comes while such a key is exported as a JWK waits for
    // that export, and the process for ever.
    const { privateKey, publicJwk } = makeSigningKey(randomBytes)
    this.#privateKey = privateKey
    this.#header = { typ: 'dpop+jwt', alg: 'ES256', jwk: publicJwk }
  }

  /** Good from now on, for as long as its `iat` is: a minute. */
  proof({ method, url, nonce, token }: ProofSubject): string {
    const claims = { jti: randomUUID(), htm: method, htu: url, iat: Math.floor(Date.now() / 1000), nonce }
    const bound = token === undefined ? claims : { ...claims, ath: tokenHash(token) }
    const signed = `${base64urlOf(JSON.stringify(this.#header))}.${base64urlOf(JSON.stringify(bound))}`
    const signature = sign('sha256', Buffer.from(signed), { key: this.#privateKey, dsaEncoding: 'ieee-p1363' })
    return `${signed}.${base64urlOf(signature)}`
  }
}
