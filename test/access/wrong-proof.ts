import { sign } from 'node:crypto'
import { type KeyPair, makeForeignKeys } from '#test/access/key-pair'
import { draftOf, type ProofDraft, type ProofMaker, proofOf } from '#test/access/proof-draft'

/** The material for the rows of right and wrong proofs. */
export interface ProofContext extends ProofMaker {
  readonly key: KeyPair
  readonly otherKey: KeyPair
  readonly nonces: {
    /** A nonce that was valid eleven minutes ago. */
    readonly old: string
    /** A nonce of an earlier start of the server, in the present window. */
    readonly earlierStart: string
  }
  readonly tokens: {
    /** T: valid, bound to `key`. */
    readonly bound: string
    /** Valid, bound to no key. */
    readonly unbound: string
    /** Valid, bound to `otherKey`. */
    readonly otherBound: string
    /** Bound to `key`, of a session that is over. */
    readonly ended: string
    /** Bound to `key`, expired, with an active session. */
    readonly expired: string
    readonly refresh: string
    readonly secondFactor: string
    /** Claims of T, signed by the key of the server, with type `JWT`. */
    readonly plainType: string
    /** Claims of T, signed by the key of the server under an unknown id. */
    readonly unknownKid: string
    /** Claims of T, signed by another key under the id of the key of the server. */
    readonly foreign: string
  }
}

export interface ProofRequestText {
  readonly query?: string
  readonly headers: readonly (readonly [name: string, value: string])[]
}

/** Requests in order. Only the last one is refused. */
export type Requests = (context: ProofContext) => readonly ProofRequestText[]

export interface Refusal {
  readonly status: number
  readonly error: string
  /** The complete `WWW-Authenticate` header. */
  readonly challenge?: string
  /** True if `DPoP-Nonce` is present. */
  readonly hasNonce?: boolean
  readonly hasRetryAfter?: true
}

/**
 * A fault of a proof or its token, and the expected error. The number is the row of the contract. The valid request is
 * `GET /api/v1/iam/me` with token T, which is bound to `key`, and a valid proof of `key`.
 */
export type WrongProofRow = readonly [number: number, name: string, requests: Requests, refusal: Refusal]

const proofChallenge = 'DPoP error="invalid_dpop_proof", algs="ES256"'
const tokenChallenge = 'DPoP error="invalid_token", algs="ES256"'
const refusal = (error: string): Refusal => ({ status: 401, error, challenge: proofChallenge })
export const invalid = refusal('invalid proof')
export const htm = refusal('htm mismatch')
export const htu = refusal('htu mismatch')
export const iat = refusal('iat outside tolerance')
export const ath = refusal('ath does not match the access token')
export const keyMismatch = refusal('key mismatch')
export const used = refusal('proof already used')
export const missing: Refusal = { ...refusal('missing proof'), hasNonce: true }
export const useNonce: Refusal = {
  status: 400,
  error: 'use_dpop_nonce',
  challenge: 'DPoP error="use_dpop_nonce", algs="ES256"',
  hasNonce: true,
}
export const badToken = (error: string): Refusal => ({ status: 401, error, challenge: tokenChallenge })
export const invalidToken = badToken('invalid token')

const foreignKeys = makeForeignKeys()

/** The valid request with a fault in its only proof. */
export function spoilt(spoil: (draft: ProofDraft, context: ProofContext) => void): Requests {
  return (context) => {
    const draft = draftOf(context, context.key, context.tokens.bound)
    spoil(draft, context)
    return [request(context.tokens.bound, proofOf(draft))]
  }
}

/** The valid request, with other members in the draft of its proof. */
export const drafted = (changes: (draft: ProofDraft, context: ProofContext) => Partial<ProofDraft>) =>
  spoilt((draft, context) => Object.assign(draft, changes(draft, context)))
/** A request with T and this proof. */
export const sent =
  (proof: (context: ProofContext) => string | undefined, scheme?: string): Requests =>
  (context) => [request(context.tokens.bound, proof(context), scheme)]
export const claims = (changes: Record<string, unknown>) => spoilt((draft) => Object.assign(draft.claims, changes))
export const header = (changes: Record<string, unknown>) => spoilt((draft) => Object.assign(draft.header, changes))
export const edited = (edit: (text: string) => string) => drafted(() => ({ edit }))
export const jwk = (changes: (context: ProofContext) => Record<string, unknown>) =>
  spoilt((draft, context) => Object.assign(draft.header, { jwk: { ...context.key.jwk, ...changes(context) } }))

/** The valid request, with a proof that a key of another type signed correctly. */
export const foreign = (alg: string, kind: string, signing: (key: never) => object = (key) => ({ key })) =>
  spoilt((draft) => {
    const { privateKey, jwk: foreignJwk } = foreignKeys[kind] as never as { privateKey: never; jwk: object }
    const hash = alg === 'EdDSA' ? null : `sha${alg.replace(/\D/g, '').slice(0, 3)}`
    draft.header = { ...draft.header, alg, jwk: foreignJwk }
    draft.signature = (signed) => sign(hash, Buffer.from(signed), signing(privateKey) as never)
  })
export const ecdsa = (key: never) => ({ key, dsaEncoding: 'ieee-p1363' })

/** A request with another token than T, and a valid proof for that token. */
export const withToken =
  (tokenOf: (context: ProofContext) => string): Requests =>
  (context) => {
    const token = tokenOf(context)
    return [request(token, proofOf(draftOf(context, context.key, token)))]
  }

export function request(token: string, proof: string | undefined, scheme = 'DPoP'): ProofRequestText {
  const credentials = ['authorization', `${scheme} ${token}`] as const
  return { headers: proof === undefined ? [credentials] : [credentials, ['dpop', proof]] }
}

export const good = (context: ProofContext) => proofOf(draftOf(context, context.key, context.tokens.bound))
