import { type KeyObject, randomBytes, randomUUID, sign } from 'node:crypto'
import { base64urlOf, tokenHash } from '#access/secret-text'
import { makeSigningKey } from '#access/signing-keys'

export interface ProofSubject {
  readonly method: string
  readonly url: string
  readonly nonce: string
  /** The access token that is bound to the key, if there is one. */
  readonly token?: string
}

/** A client's key, and its DPoP proofs. RFC 9449 §4.2. */
export class DpopKey {
  readonly #privateKey: KeyObject
  /** The part of a proof that is the same in all. */
  readonly #header: { readonly typ: string; readonly alg: string; readonly jwk: object }

  constructor() {
    // Not `generateKeyPairSync`: before Node 22 a garbage collection during the export of its key as a JWK deadlocks
    // the process.
    const { privateKey, publicJwk } = makeSigningKey(randomBytes)
    this.#privateKey = privateKey
    this.#header = { typ: 'dpop+jwt', alg: 'ES256', jwk: publicJwk }
  }

  /** Valid from now on for a minute, by its `iat`. */
  proof({ method, url, nonce, token }: ProofSubject): string {
    const claims = { jti: randomUUID(), htm: method, htu: url, iat: Math.floor(Date.now() / 1000), nonce }
    const bound = token === undefined ? claims : { ...claims, ath: tokenHash(token) }
    const signed = `${base64urlOf(JSON.stringify(this.#header))}.${base64urlOf(JSON.stringify(bound))}`
    const signature = sign('sha256', Buffer.from(signed), { key: this.#privateKey, dsaEncoding: 'ieee-p1363' })
    return `${signed}.${base64urlOf(signature)}`
  }
}
