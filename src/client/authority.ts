import { base64, makeKeys, utf8 } from '#client/dpop-proof'
import type { KeyPair, SessionStore, StoredSession } from '#client/options'
import type { Platform } from '#client/platform'
import { ConnectionLost, Problem } from '#client/problem'
import type { Answer } from '#client/routes'
import type { SignIn, TenantChoice } from '#client/session'
import { isTokenPair, MemoryStore, type TokenPair } from '#client/session-store'
import type { Credential, RawAnswer, Request, Transport } from '#client/transport'

/** In whose name requests are sent. */
export interface Authority {
  /** Who that is, where he did not say so by `credentials`: `crn#user:…`. */
  readonly subject?: unknown
  /** What goes with a request; signs in, or renews, first if that has to be. */
  credentialFor(request: Request): Promise<Credential>
  /**
   * What went with a request was refused: whether there is something else by now. Many may wait for one renewal.
   *
   * @throws ConnectionLost or Problem when that can't be known at the moment
   */
  renew(refused: Credential): Promise<boolean>
}

/** Nobody: as it is before signing in, and where nobody does. */
export const nobody: Authority = {
  credentialFor: async () => ({}),
  renew: async () => false,
}

/** A program, by its key. Contract 2. */
export function apiKeyHolder(apiKey: string): Authority {
  return { credentialFor: async () => ({ apiKey }), renew: async () => false }
}

/** Sooner than it ends, so that it is good when it arrives. */
const renewEarlierMs = 15_000

/** What an access token says by itself; nothing is known of one that says nothing. Contract 2, Tokens. */
interface TokenClaims {
  /** Whose it is, and of which session of his. */
  readonly sub?: unknown
  readonly sid?: unknown
  /** Unix seconds. */
  readonly iat?: unknown
  readonly exp?: unknown
}

/** Whether an access token is about to end, by the server's clock. One that does not say when is taken as good. */
function isEnding(accessToken: string, now: number): boolean {
  const { iat, exp } = claimsOf(accessToken)
  if (typeof iat !== 'number' || typeof exp !== 'number') return false
  return now > exp * 1000 - Math.min(renewEarlierMs, ((exp - iat) * 1000) / 4)
}

/** Not verified: whose it was is known to who was given it. */
function claimsOf(accessToken: string): TokenClaims {
  try {
    const claims = accessToken.split('.')[1] ?? ''
    return JSON.parse(atob(claims.replaceAll('-', '+').replaceAll('_', '/')))
  } catch {
    return {}
  }
}

/** What `POST /auth/login` comes to, with the key that was proven. */
export type Login =
  | { readonly keys: KeyPair; readonly pair: TokenPair }
  | { readonly keys: KeyPair; readonly secondFactor: SecondFactorNeeded }
  | { readonly tenants: readonly TenantChoice[] }

type SecondFactorNeeded = Extract<Answer<'POST /auth/login'>, { readonly status: unknown }>

/** With a fresh key, which the session has from then on. §5.2.1 @throws Problem 401 when address or password is wrong */
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

/** Second factors want a proof whatever the scheme is. Contract 2, Second factor. */
const provenPaths = /^\/auth\/2fa\//

/** A session of the Basic scheme, for programs: begun with name and password, renewed, and begun again when it ended. §5.1 */
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
  async begin(): Promise<void> {
    await this.#renewOnce()
  }

  async credentialFor({ path }: Request): Promise<Credential> {
    if (this.#tokens && isEnding(this.#tokens.token, this.#transport.now())) await this.#renewOnce().catch(() => false)
    const accessToken = this.#tokens?.token ?? ''
    const authorization = `Bearer ${accessToken}`
    if (!provenPaths.test(path)) return { authorization }
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
    // Whatever stands in between may answer 200 as well.
    if (typeof tokens?.token !== 'string') throw new ConnectionLost('no tokens came')
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
 * When a refresh is tried again whose answer was lost: within ten seconds the same token gives the same successor, later
 * it is taken for stolen. Contract 2, Refresh.
 */
const refreshPausesMs = [0, 300, 600]
const refreshSilenceMs = 3_000

/**
 * A session of the DPoP scheme: its tokens in a store that others may share, renewed by one at a time. §5.2
 *
 * It is one user's for good: what somebody else left in the store is neither taken up nor touched.
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

  /** The one that the store holds, if any. */
  static async kept(transport: Transport, platform: Platform, store: SessionStore): Promise<DpopSession | undefined> {
    const session = await store.read()
    return session && new DpopSession(transport, platform, store, session)
  }

  /** One that has just begun. */
  static async begun(
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
    // One that fails is found out by the request itself, which may find the old token still good.
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

  /** It is over here, and in the store unless somebody has signed in anew there. */
  async forget(): Promise<void> {
    await this.#store.exclusively(async () => {
      const kept = await this.#store.read()
      // Another tab may have renewed it: the tokens are others then.
      if (kept && claimsOf(kept.accessToken).sid === claimsOf(this.#session.accessToken).sid) await this.#store.remove()
    })
  }

  /** Another tab that shares the store may have been first: its pair is the newer one. */
  async #renew(): Promise<boolean> {
    const kept = await this.#kept()
    if (!kept) return false
    const isNewer = kept.accessToken !== this.#session.accessToken
    this.#session = kept
    if (isNewer && !isEnding(kept.accessToken, this.#transport.now())) return true
    const { status, headers, body } = await this.#refresh(kept)
    if (status === 200) {
      if (!isTokenPair(body)) throw new ConnectionLost('no tokens came')
      this.#session = { keys: kept.keys, accessToken: body.accessToken, refreshToken: body.refreshToken }
      await this.#store.write(this.#session)
      return true
    }
    if (status !== 401) throw new Problem(status, body, headers)
    await this.#store.remove()
    return false
  }

  /** What the store holds of this user. Where somebody else has signed in, he goes on by himself, for as long as that lasts. */
  async #kept(): Promise<StoredSession | undefined> {
    const kept = await this.#store.read()
    if (!kept || claimsOf(kept.accessToken).sub === this.subject) return kept
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
