import { createHmac } from 'node:crypto'
import { type CryptoKey, compactVerify, decodeJwt, decodeProtectedHeader, errors, importJWK } from 'jose'
import { RecentMap } from '#access/bounded-map'
import { type PublicJwk, readPublicJwk, thumbprintOf } from '#access/public-jwk'
import type { ReplayCache } from '#access/replay-cache'
import { isCompactJws, tokenHash } from '#access/secret-text'
import { type AuthenticationRequest, proofProblem } from '#http/authentication'
import type { ForwardedRequest } from '#model/forwarded-request'

/** A proof that is valid in itself. Whether its key is the token's, and whether it is new, is not checked yet. */
export interface CheckedProof {
  /** Thumbprint of the key that signed it. */
  readonly jkt: string
  readonly jti: string
  readonly headerText: string
  readonly key: CryptoKey
  /** Hash of the access token that was sent with the proof. */
  readonly tokenHash?: string
}

export interface ProofsParts {
  /** Unix ms. */
  now(): number
  readonly nonces: Nonces
  readonly replays: ReplayCache
  readonly keys: ReturnType<typeof proofKeys>
}

const proofCharactersMax = 4_096
const jtiCharactersMax = 128
const toleranceS = 60
const es256 = { algorithms: ['ES256'] }

/** The claims of a proof, with the right types; their values are not checked yet. */
interface ProofClaims {
  readonly jti: string
  readonly htm: string
  readonly htu: string
  readonly iat: number
  readonly nonce: unknown
  readonly ath: unknown
}

/**
 * Checks of DPoP proofs (RFC 9449 §4.3), in the order of contract 2: cheap checks with helpful errors first, then the
 * signature, and last the checks that store something.
 *
 * | RFC 9449 §4.3 | here |
 * |---|---|
 * | 1 one header | `requireOneHeader` |
 * | 2 a well-formed JWT | `requireMaxLength`, `requireThreeParts`, `readClaims` |
 * | 3 all required claims | `readClaims` |
 * | 4, 5 `typ`, `alg` | `readKey` |
 * | 6 signature | `verifySignature` |
 * | 7 no private key in `jwk` | `readKey` |
 * | 8 `htm` | `requireMethod` |
 * | 9 `htu` | `requireAddress` |
 * | 10 `nonce` | `requireNonce` |
 * | 11 `iat` | `requireFreshness` |
 * | 12 `ath` and the token's key | `requireTokenHash`, and the caller |
 *
 * The caller then checks that the token's key is the proof's, calls `checkUnused`, checks the token, and calls `use`.
 */
export class Proofs {
  readonly #parts: ProofsParts

  constructor(parts: ProofsParts) {
    this.#parts = parts
  }

  /**
   * Checks everything about a proof except that its key is the right one and that it is new. `token`: the access
   * token of the request. Adds the current nonce to the answer if the client needs it.
   *
   * @throws Problem `unauthorized`, or `bad_request` for a missing or invalid nonce
   */
  async check(request: AuthenticationRequest, token: string | undefined): Promise<CheckedProof> {
    const text = this.#requireProof(request)
    requireOneHeader(request)
    requireMaxLength(text)
    requireThreeParts(text)
    const headerText = text.slice(0, text.indexOf('.'))
    const { jkt, key } = this.#parts.keys.get(headerText, this.#parts.now()) ?? (await importKey(readKey(text)))
    const claims = readClaims(text)
    requireMethod(claims, request)
    requireAddress(claims, request)
    requireFreshness(claims, this.#parts.now())
    this.#requireNonce(claims, request)
    await verifySignature(text, key)
    const proof = { jkt, jti: claims.jti, headerText, key }
    return token === undefined ? proof : { ...proof, tokenHash: requireTokenHash(claims, token) }
  }

  /** @throws Problem `unauthorized` if this key has used this `jti` before */
  checkUnused({ jkt, jti }: CheckedProof): void {
    if (this.#parts.replays.isUsed(jkt, jti)) throw proofProblem('proof already used')
  }

  /**
   * Marks the proof as used, and caches its key. Call it after all checks that may refuse the request.
   *
   * @throws Problem `overloaded` when no more proofs can be remembered now
   */
  use({ jkt, jti, headerText, key }: CheckedProof): void {
    const { replays, keys } = this.#parts
    replays.record(jkt, jti)
    const now = this.#parts.now()
    if (headerText.length <= headerCharactersMax && !keys.get(headerText, now)) keys.set(headerText, { jkt, key }, now)
  }

  #requireProof(request: AuthenticationRequest): string {
    const text = request.header('dpop')
    if (text !== '') return text
    request.addReplyHeader('DPoP-Nonce', this.#parts.nonces.current)
    throw proofProblem('missing proof')
  }

  #requireNonce({ nonce }: ProofClaims, request: AuthenticationRequest): void {
    const age = this.#parts.nonces.ageOf(nonce)
    if (age !== 'current') request.addReplyHeader('DPoP-Nonce', this.#parts.nonces.current)
    if (age === undefined) throw proofProblem('use_dpop_nonce')
  }
}

function requireOneHeader(request: AuthenticationRequest): void {
  if (request.headerCount('dpop') !== 1) throw proofProblem('invalid proof')
}

/**
 * Counts characters instead of bytes. A character of several bytes is not allowed in a proof, and the next check
 * refuses it.
 */
function requireMaxLength(text: string): void {
  if (text.length > proofCharactersMax) throw proofProblem('invalid proof')
}

function requireThreeParts(text: string): void {
  if (!isCompactJws(text)) refuse()
}

function readKey(text: string): PublicJwk {
  const { typ, alg, crit, jwk } = read(decodeProtectedHeader, text)
  // No extension of `crit` is supported: RFC 7515 §4.1.11.
  if (typ !== 'dpop+jwt' || alg !== 'ES256' || crit !== undefined) return refuse()
  return readPublicJwk(jwk) ?? refuse()
}

/** @throws Problem `unauthorized` for a point that is not on the curve */
async function importKey(jwk: PublicJwk): Promise<ProofKey> {
  const key = await importJWK({ ...jwk }, 'ES256').catch(refuse)
  return { jkt: thumbprintOf(jwk), key: key as CryptoKey }
}

function readClaims(text: string): ProofClaims {
  const { jti, htm, htu, iat, nonce, ath } = read(decodeJwt, text)
  if (typeof jti !== 'string' || jti === '' || jti.length > jtiCharactersMax) return refuse()
  if (typeof htm !== 'string' || typeof htu !== 'string') return refuse()
  if (typeof iat !== 'number' || !Number.isSafeInteger(iat)) return refuse()
  return { jti, htm, htu, iat, nonce, ath }
}

function requireMethod({ htm }: ProofClaims, { method }: AuthenticationRequest): void {
  if (htm !== method) throw proofProblem('htm mismatch')
}

function requireAddress({ htu }: ProofClaims, { forwarded, path }: AuthenticationRequest): void {
  if (!isAddressOf(htu, forwarded, path)) throw proofProblem('htu mismatch')
}

/**
 * Compares whole seconds, because `iat` has whole seconds. Otherwise the server's milliseconds would refuse a proof
 * that is exactly at the limit.
 */
function requireFreshness({ iat }: ProofClaims, nowMs: number): void {
  if (Math.abs(Math.floor(nowMs / 1000) - iat) > toleranceS) throw proofProblem('iat outside tolerance')
}

async function verifySignature(text: string, key: CryptoKey): Promise<void> {
  try {
    await compactVerify(text, key, es256)
  } catch (error) {
    throw error instanceof errors.JOSEError ? proofProblem('invalid proof') : error
  }
}

/**
 * Returns the hash of the token. The client sent the token too, so the comparison need not be in constant time.
 */
function requireTokenHash({ ath }: ProofClaims, token: string): string {
  const hash = tokenHash(token)
  if (ath !== hash) throw proofProblem('ath does not match the access token')
  return hash
}

/** @throws Problem `unauthorized` for a text that jose cannot decode */
function read<T>(decode: (text: string) => T, text: string): T {
  try {
    return decode(text)
  } catch {
    return refuse()
  }
}

function refuse(): never {
  throw proofProblem('invalid proof')
}

const pattern = /^(https?):\/\/(\[[^\]/?#@]*\]|[^/?#@:[\]]*)(?::([0-9]*))?(\/[^?#]*)?(?:[?#].*)?$/is
const defaultPorts: Readonly<Record<string, string>> = { http: '80', https: '443' }

/**
 * Whether the proof's `htu` matches scheme, host, port and path as the server saw the request. Query and fragment are
 * ignored, as are the case of scheme and host, and an explicit default port (RFC 3986 §6.2.2 and §6.2.3, as RFC 9449
 * §4.3 requires). The path is compared byte for byte, because a proxy in front may treat two spellings as two paths.
 */
function isAddressOf(htu: string, { origins }: ForwardedRequest, path: string): boolean {
  // Nearly every client spells `htu` exactly like this.
  if (origins.some((origin) => htu.length === origin.length + path.length && htu === origin + path)) return true
  const claimed = normalUrl(htu)
  return claimed !== undefined && origins.some((origin) => normalUrl(origin + path) === claimed)
}

/** Undefined if the text is not an `http` or `https` URL, or if it contains a user. */
function normalUrl(url: string): string | undefined {
  const [, scheme = '', host = '', port = '', path = ''] = pattern.exec(url) ?? []
  if (host === '') return undefined
  const lowerScheme = scheme.toLowerCase()
  const isDefault = port === '' || port === defaultPorts[lowerScheme]
  return `${lowerScheme}://${host.toLowerCase()}${isDefault ? '' : `:${port}`}${path}`
}

interface ProofKey {
  readonly jkt: string
  readonly key: CryptoKey
}

/** The most cached keys in one generation. Each takes about 7 KB, and saves an import of 130 µs. */
const keysMax = 8_192
/** Headers of real clients have 230 to 400 characters; longer ones are accepted, but parsed each time. */
const headerCharactersMax = 1_024
/** The length of a generation. A key is evicted one to two generations after its last use. */
const keyGenerationMs = 5 * 60_000

/**
 * Makes a cache of keys by the exact text of the proof's header. A client sends the same header each time. So its key is
 * imported, and the thumbprint computed, only once while the client is active. `Proofs.use` adds only headers of valid
 * proofs.
 */
export function proofKeys(): RecentMap<string, ProofKey> {
  return new RecentMap({ generationMs: keyGenerationMs, sizeMax: keysMax })
}

/** A nonce is valid in its own window and the next: 5 to 10 minutes. Contract 2, DPoP. */
const nonceWindowMs = 300_000
const nonceBytes = 16

export interface NoncesOptions {
  /** Unix ms. */
  readonly now: () => number
  /** New in each process: nonces of an earlier process are invalid. */
  readonly key: Uint8Array
}

/**
 * The nonces that proofs must contain, so that no proof can be made long before its use. RFC 9449 §8.
 *
 * Stateless: a nonce is the MAC of the window's number. It is not a secret (any client can get one), so it is not
 * compared in constant time.
 */
export class Nonces {
  readonly #options: NoncesOptions
  #window = Number.NaN
  #current = ''
  #previous = ''

  constructor(options: NoncesOptions) {
    this.#options = options
  }

  get current(): string {
    this.#move()
    return this.#current
  }

  /** `ageing`: still valid, but the client should get the current nonce. Undefined: invalid. */
  ageOf(nonce: unknown): 'current' | 'ageing' | undefined {
    this.#move()
    if (nonce === this.#current) return 'current'
    return nonce === this.#previous ? 'ageing' : undefined
  }

  #move(): void {
    const window = Math.floor(this.#options.now() / nonceWindowMs)
    if (window === this.#window) return
    this.#previous = window === this.#window + 1 ? this.#current : this.#of(window - 1)
    this.#current = this.#of(window)
    this.#window = window
  }

  #of(window: number): string {
    const mac = createHmac('sha256', this.#options.key).update(String(window)).digest()
    return mac.subarray(0, nonceBytes).toString('base64url')
  }
}
