import { createHash, sign } from 'node:crypto'
import { base64urlOf } from '#access/secret-text'
import type { KeyPair } from '#test/access/key-pair'

/** A proof under construction, without code of the server, so that a test can make any part invalid. */
export interface ProofDraft {
  header: Record<string, unknown>
  claims: Record<string, unknown>
  /** Texts to sign instead of `header` and `claims`. */
  headerText?: string
  claimsText?: string
  /** Signs the input. `draftOf` sets ES256 with the key of the draft. */
  signature: (signed: string) => Uint8Array
  /** Changes the text of the signed proof. */
  edit: (text: string) => string
}

export interface ProofMaker {
  readonly method: string
  readonly path: string
  /** Scheme, host and port of the server. */
  readonly origin: string
  /** Unix seconds of the server's clock. */
  nowS(): number
  /** A valid nonce. */
  nonce(): string
}

let made = 0

/** A draft of a valid proof, for this token or for a request without a token. */
export function draftOf(maker: ProofMaker, key: KeyPair, token?: string): ProofDraft {
  made++
  const { method, path, origin } = maker
  return {
    header: { typ: 'dpop+jwt', alg: 'ES256', jwk: key.jwk },
    claims: {
      jti: `proof-${made}-${base64urlOf(createHash('sha256').update(`${made}`).digest()).slice(0, 12)}`,
      htm: method,
      htu: origin + path,
      iat: maker.nowS(),
      nonce: maker.nonce(),
      ...(token !== undefined && { ath: athOf(token) }),
    },
    signature: es256By(key),
    edit: (text) => text,
  }
}

/** The text of the proof. Members of the draft that are undefined are left out. */
export function proofOf(draft: ProofDraft): string {
  const header = base64urlOf(draft.headerText ?? JSON.stringify(draft.header))
  const claims = base64urlOf(draft.claimsText ?? JSON.stringify(draft.claims))
  const signed = `${header}.${claims}`
  return draft.edit(`${signed}.${base64urlOf(draft.signature(signed))}`)
}

export function signJws(header: object, claims: object, privateKey: KeyPair['privateKey']): string {
  return proofOf({
    header: { ...header },
    claims: { ...claims },
    signature: es256By({ privateKey }),
    edit: (text) => text,
  })
}

export function es256By({ privateKey }: Pick<KeyPair, 'privateKey'>): (signed: string) => Uint8Array {
  return (signed) => sign('sha256', Buffer.from(signed), { key: privateKey, dsaEncoding: 'ieee-p1363' })
}

export function athOf(token: string): string {
  return createHash('sha256').update(token).digest('base64url')
}

/** Changes one part of a text whose parts are separated by dots. */
export function withPart(text: string, place: 0 | 1 | 2, change: (part: string) => string): string {
  return text
    .split('.')
    .map((part, index) => (index === place ? change(part) : part))
    .join('.')
}
