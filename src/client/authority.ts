import { base64, makeKeys, utf8 } from '#client/dpop-proof'
import type { KeyPair, SessionStore, StoredSession } from '#client/options'
import type { Platform } from '#client/platform'
import { ConnectionLost, Problem } from '#client/problem'
import type { Answer } from '#client/routes'
import type { SignIn, TenantChoice } from '#client/session'
import { isTokenPair, MemoryStore, type TokenPair } from '#client/session-store'
import type { Credential, RawAnswer, Request, Transport } from '#client/transport'

/** The identity that requests are sent with: none, an API key, a Basic session or a DPoP session. */
export interface Authority {
  /** The user of a DPoP session: `crn#user:…`. */
  readonly subject?: unknown
  /** The credential of a request. Renews an access token that is about to expire. */
  credentialFor(request: Request): Promise<Credential>
  /**
   * Replaces a credential that the server refused. Concurrent calls share one renewal.
   *
   * @returns whether there is another credential
   * @throws ConnectionLost or Problem when the renewal fails, and it is unknown whether the session has ended
   */
  renew(refused: Credential): Promise<boolean>
}

/** No identity: before the sign-in, and while authentication is off. */
export const unauthenticated: Authority = {
  credentialFor: async () => ({}),
  renew: async () => false,
}

/** The authority of an API key, which is never renewed. Contract 2. */
export function apiKeyHolder(apiKey: string): Authority {
  return { credentialFor: async () => ({ apiKey }), renew: async () => false }
}

/**
 * A token is renewed this long before it expires, so that it is valid when the request arrives. A token that is valid
 * for less than a minute is renewed after three quarters of its lifetime.
 */
const renewalLeadMs = 15_000

/** Claims of an access token. Contract 2, Tokens. */
interface TokenClaims {
  /** The user. */
  readonly sub?: unknown
  /** The session of the user. */
  readonly sid?: unknown
  /** When the token was issued, in Unix seconds. */
  readonly iat?: unknown
  /** When the token expires, in Unix seconds. */
  readonly exp?: unknown
}

/** Whether an access token is about to expire, by the server's clock; false for a token without times. */
function isEnding(accessToken: string, now: number): boolean {
  const { iat, exp } = claimsOf(accessToken)
  if (typeof iat !== 'number' || typeof exp !== 'number') return false
  return now > exp * 1000 - Math.min(renewalLeadMs, ((exp - iat) * 1000) / 4)
}

/** Reads the claims without verifying them: the token came from the server. */
function claimsOf(accessToken: string): TokenClaims {
  try {
    const claims = accessToken.split('.')[1] ?? ''
    return JSON.parse(atob(claims.replaceAll('-', '+').replaceAll('_', '/')))
  } catch {
    return {}
  }
}

/** The outcome of `POST /auth/login`. `keys` is the key pair that signed the proof of the request. */
export type Login =
  | { readonly keys: KeyPair; readonly pair: TokenPair }
  | { readonly keys: KeyPair; readonly secondFactor: SecondFactorNeeded }
  | { readonly tenants: readonly TenantChoice[] }

type SecondFactorNeeded = Extract<Answer<'POST /auth/login'>, { readonly status: unknown }>

/**
 * Signs in with a new key pair, which the session then uses. §5.2.1
 *
 * @throws Problem for a refusal: 401 when the mail address, name or password is wrong
 */
export async function logIn(transport: Transport, account: Omit<SignIn, 'keep'>): Promise<Login> {
  const keys = await makeKeys()
  const request = { method: 'POST', path: '/auth/login', body: account }
  const { status, headers, body } = await transport.send(request, { proof: { keys } })
  if (status === 409 && Array.isArray((body as { readonly tenants?: unknown } | undefined)?.tenants)) {
    return { tenants: (body as { readonly tenants: readonly TenantChoice[] }).tenants }
  }
  if (status !== 200) throw new Problem(status, body, headers)
  const answer = body as Answer<'POST /auth/login'>
  return 'accessToken' in answer ? { keys, pair: answer } : { keys, secondFactor: answer }
}

interface Tokens {
  readonly token: string
  readonly refreshToken: string
}

/** Routes of second factors need a DPoP proof in the Basic scheme too. Contract 2, Second factor. */
const pathsWithProof = /^\/auth\/2fa\//

/** A session of the Basic scheme, for programs. Signs in again when the session has ended. §5.1 */
export class BasicSession implements Authority {
  readonly #transport: Transport
  readonly #authorization: string
  #tokens: Tokens | undefined
  #renewal: Promise<boolean> | undefined
  #keys: Promise<KeyPair> | undefined

  constructor(transport: Transport, name: string, password: string) {
    this.#transport = transport
    this.#authorization = `Basic ${base64(utf8(`${name}:${password}`))}`
  }

  /** @throws Problem 401 when name or password is wrong */
  async start(): Promise<void> {
    await this.#renewOnce()
  }

  async credentialFor({ path }: Request): Promise<Credential> {
    if (this.#tokens && isEnding(this.#tokens.token, this.#transport.now())) await this.#renewOnce().catch(() => false)
    const accessToken = this.#tokens?.token ?? ''
    const authorization = `Bearer ${accessToken}`
    if (!pathsWithProof.test(path)) return { authorization }
    this.#keys ??= makeKeys()
    return { authorization, proof: { keys: await this.#keys, accessToken } }
  }

  renew(refused: Credential): Promise<boolean> {
    return refused.authorization === `Bearer ${this.#tokens?.token}` ? this.#renewOnce() : Promise.resolve(true)
  }

  #renewOnce(): Promise<boolean> {
    this.#renewal ??= this.#renew().finally(() => {
      this.#renewal = undefined
    })
    return this.#renewal
  }

  async #renew(): Promise<boolean> {
    const before = this.#tokens
    let answer = before && (await this.#refresh(before))
    if (!answer || answer.status === 401) answer = await this.#signIn()
    if (answer.status !== 200) throw new Problem(answer.status, answer.body, answer.headers)
    const tokens = answer.body as Partial<Tokens> | undefined
    // A captive portal or proxy may also answer 200.
    if (typeof tokens?.token !== 'string') throw new ConnectionLost('the answer contains no tokens')
    this.#tokens = tokens as Tokens
    return true
  }

  #refresh({ refreshToken }: Tokens): Promise<RawAnswer> {
    const path = '/iam/token?grant_type=refresh_token&scope=offline'
    return this.#transport.send({ method: 'POST', path, body: { refreshToken } })
  }

  #signIn(): Promise<RawAnswer> {
    const request = { method: 'GET', path: '/iam/token?scope=offline' }
    return this.#transport.send(request, { authorization: this.#authorization })
  }
}

/**
 * The pause before each attempt of a refresh. A retry within ten seconds gets the same new tokens. After that, the
 * server treats the refresh token as stolen. So `refreshSilenceMs` is short: all attempts end within ten seconds.
 * Contract 2, Refresh.
 */
const refreshPausesMs = [0, 300, 600]
const refreshSilenceMs = 3_000

/**
 * A session of the DPoP scheme. Its tokens are in a store that tabs may share, so only one tab renews at a time. §5.2
 *
 * It stays with one user: it neither uses nor changes the stored session of another user.
 */
export class DpopSession implements Authority {
  readonly #transport: Transport
  readonly #platform: Platform
  #store: SessionStore
  #session: StoredSession
  #renewal: Promise<boolean> | undefined

  private constructor(transport: Transport, platform: Platform, store: SessionStore, session: StoredSession) {
    this.#transport = transport
    this.#platform = platform
    this.#store = store
    this.#session = session
  }

  /** The stored session, if there is one. */
  static async restore(
    transport: Transport,
    platform: Platform,
    store: SessionStore,
  ): Promise<DpopSession | undefined> {
    const session = await store.read()
    return session && new DpopSession(transport, platform, store, session)
  }

  static async start(
    transport: Transport,
    platform: Platform,
    store: SessionStore,
    keys: KeyPair,
    { accessToken, refreshToken }: TokenPair,
  ): Promise<DpopSession> {
    const session = { keys, accessToken, refreshToken }
    await store.exclusively(() => store.write(session))
    return new DpopSession(transport, platform, store, session)
  }

  get subject(): unknown {
    return claimsOf(this.#session.accessToken).sub
  }

  async credentialFor(): Promise<Credential> {
    const now = credentialOf(this.#session)
    // If the renewal fails, the request is sent with the old token, which may still be valid.
    if (isEnding(this.#session.accessToken, this.#transport.now())) await this.renew(now).catch(() => false)
    return credentialOf(this.#session)
  }

  renew(refused: Credential): Promise<boolean> {
    if (refused.proof?.accessToken !== this.#session.accessToken) return Promise.resolve(true)
    this.#renewal ??= this.#store
      .exclusively(() => this.#renew())
      .finally(() => {
        this.#renewal = undefined
      })
    return this.#renewal
  }

  /** Removes the session from the store, unless the store holds another session. */
  async forget(): Promise<void> {
    await this.#store.exclusively(async () => {
      const stored = await this.#store.read()
      // Compares the ids of the sessions, because another tab may have renewed the tokens.
      if (stored && claimsOf(stored.accessToken).sid === claimsOf(this.#session.accessToken).sid)
        await this.#store.remove()
    })
  }

  /** Uses the tokens in the store if another tab has already renewed them. */
  async #renew(): Promise<boolean> {
    const stored = await this.#storedSession()
    if (!stored) return false
    const isNewer = stored.accessToken !== this.#session.accessToken
    this.#session = stored
    if (isNewer && !isEnding(stored.accessToken, this.#transport.now())) return true
    const { status, headers, body } = await this.#refresh(stored)
    if (status === 200) {
      if (!isTokenPair(body)) throw new ConnectionLost('the answer contains no tokens')
      this.#session = { keys: stored.keys, accessToken: body.accessToken, refreshToken: body.refreshToken }
      await this.#store.write(this.#session)
      return true
    }
    if (status !== 401) throw new Problem(status, body, headers)
    await this.#store.remove()
    return false
  }

  /**
   * The stored session of this user. If the store holds a session of another user, this session continues in memory.
   */
  async #storedSession(): Promise<StoredSession | undefined> {
    const stored = await this.#store.read()
    if (!stored || claimsOf(stored.accessToken).sub === this.subject) return stored
    this.#store = new MemoryStore()
    await this.#store.write(this.#session)
    return this.#session
  }

  async #refresh({ keys, refreshToken }: StoredSession): Promise<RawAnswer> {
    const body = { refreshToken }
    const request: Request = { method: 'POST', path: '/auth/token', body, silenceMs: refreshSilenceMs }
    let lost: unknown
    for (const pauseMs of refreshPausesMs) {
      await this.#platform.sleep(pauseMs)
      try {
        return await this.#transport.send(request, { proof: { keys } })
      } catch (error) {
        if (!(error instanceof ConnectionLost)) throw error
        lost = error
      }
    }
    throw lost
  }
}

function credentialOf({ keys, accessToken }: StoredSession): Credential {
  return { authorization: `DPoP ${accessToken}`, proof: { keys, accessToken } }
}
