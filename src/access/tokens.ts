import { createHmac, timingSafeEqual } from 'node:crypto'
import { errors, type JWTPayload, jwtVerify, SignJWT } from 'jose'
import { z } from 'zod'
import { RecentMap } from '#access/bounded-map'
import type { Random } from '#access/file-keys'
import { base64urlOf, isCompactJws, readBase64url, tokenHash } from '#access/secret-text'
import type { SigningKeys } from '#access/signing-keys'
import type { TokenFault } from '#http/authentication'
import { formatCrn, idOfCrn } from '#model/crn'
import { isServerMadeId, isTenantIdentifier } from '#model/identifier'
import type { Grant } from '#model/scope'

/** An access token that the server signed. Its session and the key of the proof are checked elsewhere. */
export interface VerifiedToken extends Omit<RefreshedSession, 'endsAt'> {
  /** Unix ms. The token is invalid from then on. */
  readonly expiresAt: number
  /** Thumbprint of the key that the token is bound to. */
  readonly jkt?: string
  /** SHA-256 of the token's text, in Base64url. */
  readonly hash: string
}

/** `token` alone: valid. `token` with `fault`: signed by the server, but expired. No `token`: invalid. */
export interface TokenReading {
  readonly token?: VerifiedToken
  readonly fault?: TokenFault
}

export interface AccessSubject extends Omit<RefreshedSession, 'endsAt'> {
  readonly roles: readonly string[]
  readonly grants: readonly Grant[]
  readonly jkt?: string
  readonly lifetimeMs: number
}

export interface RefreshedSession {
  readonly tenant: string
  /** Id of the user, without `crn#user:`. */
  readonly user: string
  readonly session: string
  /** The number of the refresh token; 0: the session has no refresh token. */
  readonly number: number
  /** Unix ms. */
  readonly endsAt: number
}

export interface SecondFactorSubject {
  readonly tenant: string
  readonly user: string
  readonly version: number
  readonly jkt: string
  readonly isEnrolling: boolean
  readonly lifetimeMs: number
}

export interface TokensParts {
  /** Unix ms. */
  now(): number
  readonly random: Random
  /** Called for each token, because a rotation changes the keys. */
  keys(): SigningKeys
  /** The claims `iss` and `aud`. */
  readonly issuer: string
}

/** Enough for 32 roles and 32 names of 64 characters, and all other claims, in Base64url. */
const tokenCharactersMax = 8_192
/** 128 bits. */
const jtiBytes = 16

/**
 * Makes and reads the server's tokens. They are signed with ES256, and each `typ` is valid only for its own use.
 * Contract 2, Tokens.
 *
 * An access token that was made or read is cached by its hash. Reading it again costs a hash and a lookup, and returns
 * the same object, so that other caches can use the object as key.
 */
export class Tokens {
  readonly #parts: TokensParts
  /**
   * Access tokens with a verified signature, by their hash. The cache never holds the text of a token. A token is
   * already wrapped as a `TokenReading`, so that a request allocates nothing.
   */
  readonly #cache = new RecentMap<string, { readonly token: VerifiedToken }>({
    generationMs: tokenGenerationMs,
    sizeMax: tokensMax,
  })

  constructor(parts: TokensParts) {
    this.#parts = parts
  }

  async issueAccess(subject: AccessSubject): Promise<string> {
    const { tenant, user, session, number, roles, grants, jkt, lifetimeMs } = subject
    const exp = this.#secondsIn(lifetimeMs)
    const own = { sid: session, roles, ...displayedRights(grants), ...(jkt !== undefined && { cnf: { jkt } }) }
    const text = await this.#sign(tokenTypes.access, tenant, user, `${this.#newId()}.${number}`, exp, own)
    this.#remember(verifiedOf({ tenant, user, session, number, exp, jkt }, tokenHash(text)))
    return text
  }

  /** Returns no promise for a token in the cache. `knownHash`: the hash of this text, if the caller has it. */
  read(text: string, knownHash?: string): TokenReading | Promise<TokenReading> {
    if (text.length > tokenCharactersMax) return invalid
    const hash = knownHash ?? tokenHash(text)
    const found = this.#cache.get(hash, this.#parts.now())
    return found ? this.#inTime(found) : this.#readUnknown(text, hash)
  }

  /** Refresh token number n of a session in the Basic scheme, as a JWT. */
  issueBasicRefresh({ tenant, user, session, number, endsAt }: RefreshedSession): Promise<string> {
    const id = `${session}.${number}`
    return this.#sign(tokenTypes.basicRefresh, tenant, user, id, Math.floor(endsAt / 1000), { sid: session })
  }

  /** Undefined if the text is not a valid refresh token of the Basic scheme that this server signed. */
  async readBasicRefresh(text: string): Promise<Omit<RefreshToken, 'mac'> | undefined> {
    const claims = await this.#readOf(tokenTypes.basicRefresh, text)
    if (!claims || this.#isOver(claims.exp)) return undefined
    const [session, number = '', ...more] = claims.jti.split('.')
    const isValid = session === claims.sid && /^[1-9][0-9]{0,9}$/.test(number) && more.length === 0
    return isValid ? { tenant: claims.tenant, session: claims.sid, number: Number(number) } : undefined
  }

  /** The token between a right password and the second factor. */
  issueSecondFactor({ tenant, user, version, jkt, isEnrolling, lifetimeMs }: SecondFactorSubject): Promise<string> {
    const own = { ver: version, enroll: isEnrolling, cnf: { jkt } }
    return this.#sign(tokenTypes.secondFactor, tenant, user, this.#newId(), this.#secondsIn(lifetimeMs), own)
  }

  /** Undefined if the token is invalid, has expired, or is bound to another key than `jkt`, that of the proof. */
  async readSecondFactor(
    text: string,
    jkt: string,
  ): Promise<(Omit<SecondFactorSubject, 'jkt' | 'lifetimeMs'> & { readonly id: string }) | undefined> {
    const claims = await this.#readOf(tokenTypes.secondFactor, text)
    if (!claims || this.#isOver(claims.exp) || claims.cnf.jkt !== jkt) return undefined
    const { tenant, sub, ver, enroll, jti } = claims
    return { tenant, user: sub, version: ver, isEnrolling: enroll, id: jti }
  }

  #sign(typ: TokenType, tenant: string, user: string, jti: string, exp: number, own: JWTPayload): Promise<string> {
    const { kid, privateKey } = this.#parts.keys().current
    const { issuer } = this.#parts
    const common = { iss: issuer, aud: issuer, sub: formatCrn({ type: 'user', id: user }), tenant, jti }
    const claims = { ...common, iat: this.#secondsIn(0), exp, ...own }
    return new SignJWT(claims).setProtectedHeader({ alg: 'ES256', typ, kid }).sign(privateKey)
  }

  async #readUnknown(text: string, hash: string): Promise<TokenReading> {
    const claims = await this.#readOf(tokenTypes.access, text)
    if (!claims) return invalid
    const { tenant, sub, sid, jti, exp, cnf } = claims
    const token = verifiedOf({ tenant, user: sub, session: sid, number: jti, exp, jkt: cnf?.jkt }, hash)
    return this.#inTime(this.#remember(token))
  }

  #remember(token: VerifiedToken): { readonly token: VerifiedToken } {
    const found = { token }
    this.#cache.set(token.hash, found, this.#parts.now())
    return found
  }

  #inTime(found: { readonly token: VerifiedToken }): TokenReading {
    return found.token.expiresAt > this.#parts.now() ? found : { ...found, fault: 'token expired' }
  }

  /** Checks form, type, key, signature and claims, but not times, because an expired token still names its user. */
  async #readOf<T extends TokenType>(typ: T, text: string): Promise<z.output<(typeof claimsOf)[T]> | undefined> {
    if (text.length > tokenCharactersMax || !isCompactJws(text)) return undefined
    const keyOf = ({ kid }: { readonly kid?: unknown }) => {
      const key = typeof kid === 'string' ? this.#parts.keys().find(kid) : undefined
      if (!key) throw new errors.JWKSNoMatchingKey()
      return key.publicKey
    }
    try {
      const { payload, protectedHeader } = await jwtVerify(text, keyOf, {
        algorithms: ['ES256'],
        currentDate: ignoredTime,
      })
      // An exact comparison, because jose ignores case.
      if (protectedHeader.typ !== typ) return undefined
      return claimsOf[typ].safeParse(payload).data as z.output<(typeof claimsOf)[T]> | undefined
    } catch (error) {
      if (error instanceof errors.JOSEError) return undefined
      throw error
    }
  }

  #newId(): string {
    return base64urlOf(this.#parts.random(jtiBytes))
  }

  /** The time `ms` milliseconds from now, in Unix seconds. */
  #secondsIn(ms: number): number {
    return Math.floor((this.#parts.now() + ms) / 1000)
  }

  #isOver(exp: number): boolean {
    return exp * 1000 <= this.#parts.now()
  }
}

/** The time given to jose, so that it accepts expired tokens: `#inTime` and `#isOver` check the expiry. */
const ignoredTime = new Date(0)

const invalid: TokenReading = { fault: 'invalid token' }

function verifiedOf(
  of: { tenant: string; user: string; session: string; number: number; exp: number; jkt: string | undefined },
  hash: string,
): VerifiedToken {
  const { tenant, user, session, number, exp, jkt } = of
  return { tenant, user, session, number, expiresAt: exp * 1000, hash, ...(jkt !== undefined && { jkt }) }
}

/** The most tokens in one generation, one for each active session. Each takes about half a kilobyte. */
const tokensMax = 65_536
/**
 * The length of a generation. A token is evicted one to two generations after its last use. Reading it again then takes
 * some 100 µs.
 */
export const tokenGenerationMs = 5 * 60_000

/**
 * The claims of the server's tokens, by their `typ`. RFC 7519 §4.1, RFC 9068 §2.2, contract 2 (Tokens).
 *
 * `iss` and `aud` are for other readers. The server recognises its tokens by its key, so a change of the public URL
 * signs no user out.
 */

const tokenTypes = { access: 'at+jwt', basicRefresh: 'rt+jwt', secondFactor: '2fa+jwt' } as const
type TokenType = (typeof tokenTypes)[keyof typeof tokenTypes]

/** The largest number of device and service names in a token; `/iam/me` returns all. Contract 2. */
const displayedNamesMax = 32

const seconds = z.int().min(0)
const jkt = z.string().length(43)
const subject = z.string().transform((text, context) => {
  const id = idOfCrn(text, 'user')
  if (id === undefined) context.addIssue('must be a user')
  return id ?? z.NEVER
})
const tenant = z.string().refine(isTenantIdentifier)
const sid = z.string().refine(isServerMadeId)

const common = { sub: subject, tenant, jti: z.string().min(1), iat: seconds, exp: seconds }

const AccessClaims = z.object({
  ...common,
  /** `<random>.<number>`. A refresh replaces access tokens of lower numbers. */
  jti: z
    .string()
    .regex(/^[\w-]+\.\d{1,10}$/)
    .transform((id) => Number(id.slice(id.indexOf('.') + 1))),
  sid,
  roles: z.array(z.string()),
  cnf: z.object({ jkt }).optional(),
})

/** `jti` is `<sid>.<number>`, so it need not be stored. */
const BasicRefreshClaims = z.object({ ...common, sid })

const SecondFactorClaims = z.object({
  ...common,
  cnf: z.object({ jkt }),
  /** Version of the account's credentials. A changed password voids the token. */
  ver: z.int().min(0),
  enroll: z.boolean(),
})

const claimsOf = {
  [tokenTypes.access]: AccessClaims,
  [tokenTypes.basicRefresh]: BasicRefreshClaims,
  [tokenTypes.secondFactor]: SecondFactorClaims,
} as const

/**
 * The rights that a token displays to its reader. They are displayed only if there is a single grant, because one list
 * cannot express the union of several grants. The server itself checks the current roles. Contract 2.
 */
function displayedRights(
  grants: readonly Grant[],
): Pick<Grant, 'permissions' | 'devices' | 'services'> | Record<string, never> {
  const [grant, ...more] = grants
  if (!grant || more.length > 0 || grant.devices.length + grant.services.length > displayedNamesMax) return {}
  // A grant with groups is not displayed: without the groups, it would seem to give fewer rights.
  if (grant.groups && grant.groups.length > 0) return {}
  const { permissions, devices, services } = grant
  return { permissions, devices, services }
}

/**
 * A refresh token of the DPoP scheme, read from `<tenant>.<session>.<number>.<mac>`. Only the number is stored. Token n
 * of a session always has the same text, so that a lost answer can be repeated. Contract 2, Refresh.
 */
export interface RefreshToken {
  readonly tenant: string
  readonly session: string
  /** 1 when the session begins. Each rotation adds 1. */
  readonly number: number
  readonly mac: Uint8Array
}

/** The content that the MAC of a refresh token covers, including the key that the session is bound to. */
type RefreshSubject = Omit<RefreshToken, 'mac'> & { readonly jkt: string }

const macBytes = 32
/** 63 characters of the tenant, 16 of the session, 10 of the number, 43 of the MAC, and three dots. */
const textCharactersMax = 135
/** Enough for a session that is renewed every second for 300 years. */
const numberPattern = /^[1-9][0-9]{0,9}$/

export function refreshTokenText(key: Uint8Array, subject: RefreshSubject): string {
  const { tenant, session, number } = subject
  return `${tenant}.${session}.${number}.${base64urlOf(macOf(key, subject))}`
}

/** Checks the form only; `hasValidMac` checks the MAC. Inverse of `refreshTokenText`. */
export function readRefreshToken(text: string): RefreshToken | undefined {
  if (text.length > textCharactersMax) return undefined
  const [tenant = '', session = '', number = '', macText = '', ...more] = text.split('.')
  const mac = readBase64url(macText)
  if (more.length > 0 || mac?.length !== macBytes) return undefined
  if (!isTenantIdentifier(tenant) || !isServerMadeId(session) || !numberPattern.test(number)) return undefined
  return { tenant, session, number: Number(number), mac }
}

/** Compares in constant time. `jkt`: the key of the session, not that of the caller's proof. */
export function hasValidMac(key: Uint8Array, { mac, ...token }: RefreshToken, jkt: string): boolean {
  return timingSafeEqual(mac, macOf(key, { ...token, jkt }))
}

/** Only the last of the four fields could contain a dot, so no two subjects have the same text. */
function macOf(key: Uint8Array, { tenant, session, number, jkt }: RefreshSubject): Buffer {
  return createHmac('sha256', key).update(`${tenant}.${session}.${number}.${jkt}`).digest()
}
