import type { KeyObject } from 'node:crypto'
import { isJsonObject, isSigned, type JsonObject, type JwsParts, readPart, splitJws } from '#iam/jws'
import type { Nonces } from '#iam/nonces'
import type { ProofKey, ProofKeys } from '#iam/proof-keys'
import { proofProblem } from '#iam/proof-problems'
import { importPublicJwk, readPublicJwk, thumbprintOf } from '#iam/public-jwk'
import type { Replays } from '#iam/replays'
import { isSeenAt } from '#iam/seen-address'
import { tokenHash } from '#iam/token-hash'
import type { Seen } from '#model/seen'

/** What of a request a proof is about. */
export interface ProofRequest {
  readonly method: string
  /** As it came, byte for byte, without the query. */
  readonly path: string
  readonly seen: Seen
  /** By lower-case name; empty when absent, copies joined by a comma. */
  header(name: string): string
  headerCount(name: string): number
  /** Added to the answer, whatever it will be. */
  addReplyHeader(name: string, value: string): void
}

/** A proof that was good in itself. Whether its key is the token's, and whether it is new, was not looked at yet. */
export interface CheckedProof {
  /** Thumbprint of the key that signed it. */
  readonly jkt: string
  readonly jti: string
  readonly headerText: string
  readonly key: KeyObject
  /** Of the access token that came with it. */
  readonly tokenHash?: string
}

export interface ProofsParts {
  /** Unix ms. */
  now(): number
  readonly nonces: Nonces
  readonly replays: Replays
  readonly keys: ProofKeys
}

const proofCharactersMax = 4_096
const jtiCharactersMax = 128
const toleranceS = 60

/** The claims of a proof, of the right types; nothing of them was compared with anything yet. */
interface ProofClaims {
  readonly jti: string
  readonly htm: string
  readonly htu: string
  readonly iat: number
  readonly nonce: unknown
  readonly ath: unknown
}

/**
 * Checks of DPoP proofs (RFC 9449 §4.3), in the order of contract 2: what is cheap and tells the client most comes
 * first, the signature after it, and last of all what leaves a trace.
 *
 * | RFC 9449 §4.3 | here |
 * |---|---|
 * | 1 one header | `oneHeader` |
 * | 2 a well-formed JWT | `notTooLong`, `threeParts`, `claimsShape` |
 * | 3 all required claims | `claimsShape` |
 * | 4, 5 `typ`, `alg` | `headerShape` |
 * | 6 signature | `signedByKey` |
 * | 7 no private key in `jwk` | `keyShape` |
 * | 8 `htm` | `methodMatches` |
 * | 9 `htu` | `addressMatches` |
 * | 10 `nonce` | `knownNonce` |
 * | 11 `iat` | `freshEnough` |
 * | 12 `ath` and the token's key | `boundToToken`, and whoever reads the token |
 *
 * A caller goes on with: the token's key is the proof's, `checkUnused`, the token itself, `use`.
 */
export class Proofs {
  readonly #parts: ProofsParts

  constructor(parts: ProofsParts) {
    this.#parts = parts
  }

  /**
   * Everything about a proof but its key's being the right one and its being new. `token`: the access token that came
   * with it. Tells the nonce to go on with, where the client needs one.
   *
   * @throws Problem `unauthorized`, or `bad_request` for the nonce alone.
   */
  check(request: ProofRequest, token: string | undefined): CheckedProof {
    const text = this.#present(request)
    oneHeader(request)
    notTooLong(text)
    const parts = threeParts(text)
    const { jkt, key } = this.#parts.keys.find(parts.header) ?? keyShape(headerShape(parts))
    const claims = claimsShape(parts)
    methodMatches(claims, request)
    addressMatches(claims, request)
    freshEnough(claims, this.#parts.now())
    this.#knownNonce(claims, request)
    signedByKey(parts, key)
    const proof = { jkt, jti: claims.jti, headerText: parts.header, key }
    return token === undefined ? proof : { ...proof, tokenHash: boundToToken(claims, token) }
  }

  /** @throws Problem `unauthorized` when this key has used this `jti` before. */
  checkUnused({ jkt, jti }: CheckedProof): void {
    if (this.#parts.replays.isUsed(jkt, jti)) throw proofProblem('proof already used')
  }

  /**
   * Last of all, when nothing can be refused any more: the proof is used up, and its key is kept at hand.
   *
   * @throws Problem `overloaded` when no more can be remembered.
   */
  use(proof: CheckedProof): void {
    this.#parts.replays.record(proof.jkt, proof.jti)
    this.#parts.keys.admit(proof.headerText, proof)
  }

  #present(request: ProofRequest): string {
    const text = request.header('dpop')
    if (text !== '') return text
    request.addReplyHeader('DPoP-Nonce', this.#parts.nonces.current)
    throw proofProblem('missing proof')
  }

  #knownNonce({ nonce }: ProofClaims, request: ProofRequest): void {
    const verdict = this.#parts.nonces.judge(nonce)
    if (verdict !== 'current') request.addReplyHeader('DPoP-Nonce', this.#parts.nonces.current)
    if (verdict === undefined) throw proofProblem('use_dpop_nonce')
  }
}

function oneHeader(request: ProofRequest): void {
  if (request.headerCount('dpop') !== 1) throw proofProblem('invalid proof')
}

/** Bytes are characters here: one that takes more has no place in a proof, and is refused by the next check. */
function notTooLong(text: string): void {
  if (text.length > proofCharactersMax) throw proofProblem('invalid proof')
}

function threeParts(text: string): JwsParts {
  return splitJws(text) ?? refuse()
}

function headerShape(parts: JwsParts): JsonObject {
  const header = readPart(parts.header) ?? refuse()
  // Nothing here is understood that `crit` could ask to be: RFC 7515 §4.1.11.
  if (header.typ !== 'dpop+jwt' || header.alg !== 'ES256' || Object.hasOwn(header, 'crit')) return refuse()
  return isJsonObject(header.jwk) ? header.jwk : refuse()
}

function keyShape(jwk: JsonObject): ProofKey {
  const publicJwk = readPublicJwk(jwk) ?? refuse()
  const key = importPublicJwk(publicJwk) ?? refuse()
  return { jkt: thumbprintOf(publicJwk), key }
}

function claimsShape(parts: JwsParts): ProofClaims {
  const { jti, htm, htu, iat, nonce, ath } = readPart(parts.payload) ?? refuse()
  if (typeof jti !== 'string' || jti === '' || jti.length > jtiCharactersMax) return refuse()
  if (typeof htm !== 'string' || typeof htu !== 'string') return refuse()
  if (typeof iat !== 'number' || !Number.isSafeInteger(iat)) return refuse()
  return { jti, htm, htu, iat, nonce, ath }
}

function methodMatches({ htm }: ProofClaims, { method }: ProofRequest): void {
  if (htm !== method) throw proofProblem('htm mismatch')
}

function addressMatches({ htu }: ProofClaims, { seen, path }: ProofRequest): void {
  if (!isSeenAt(htu, seen, path)) throw proofProblem('htu mismatch')
}

/** In whole seconds, as `iat` counts: a client that is exactly at the border is not refused for our milliseconds. */
function freshEnough({ iat }: ProofClaims, nowMs: number): void {
  if (Math.abs(Math.floor(nowMs / 1000) - iat) > toleranceS) throw proofProblem('iat outside tolerance')
}

function signedByKey(parts: JwsParts, key: KeyObject): void {
  if (!isSigned(parts, key)) throw proofProblem('invalid proof')
}

/** Answers the hash of a token that came in the open beside it: there is nothing to hide in comparing. */
function boundToToken({ ath }: ProofClaims, token: string): string {
  const hash = tokenHash(token)
  if (ath !== hash) throw proofProblem('ath does not match the access token')
  return hash
}

function refuse(): never {
  throw proofProblem('invalid proof')
}
