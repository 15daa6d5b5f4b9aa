import { base64, makeKeys, utf8 } from '#client/dpop-proof'
import type { KeyPair, SessionStore, StoredSession } from '#client/options'
import type { Platform } from '#client/platform'
import { ConnectionLost } from '#client/problem'
import type { Answer } from '#client/routes'
import type { SignIn, TenantChoice } from '#client/session'
import { isTokenPair, memoryStore, type TokenPair } from '#client/session-store'
import { type Credential, problemOf, type Request, type Transport } from '#client/transport'

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
  /** Removes the session from its store, unless the store holds another session. */
  forget?(): Promise<void>
}

/** Concurrent calls of the returned function share one run. */
export function sharing<T>(run: () => Promise<T>): () => Promise<T> {
  let running: Promise<T> | undefined
  return () => {
    running ??= run().finally(() => {
      running = undefined
    })
    return running
  }
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

/** The claims of an access token: user, session, and the times of issue and expiry in Unix seconds. Contract 2, Tokens. */
type TokenClaims = { readonly [name in 'sub' | 'sid' | 'iat' | 'exp']?: unknown }

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
  const answer = await transport.send(request, { proof: { keys } })
  const { status, body } = answer
  if (status === 409 && Array.isArray((body as { readonly tenants?: unknown } | undefined)?.tenants)) {
    return { tenants: (body as { readonly tenants: readonly TenantChoice[] }).tenants }
  }
  if (status !== 200) throw problemOf(answer)
  const outcome = body as Answer<'POST /auth/login'>
  return 'accessToken' in outcome ? { keys, pair: outcome } : { keys, secondFactor: outcome }
}

interface Tokens {
  readonly token: string
  readonly refreshToken: string
}

/** Routes of second factors need a DPoP proof in the Basic scheme too. Contract 2, Second factor. */
const pathsWithProof = /^\/auth\/2fa\//

/**
 * A new session of the Basic scheme, for programs. Signs in again when the session has ended. §5.1
 *
 * @throws Problem 401 when name or password is wrong
 */
export async function basicSession(transport: Transport, name: string, password: string): Promise<Authority> {
  const authorization = `Basic ${base64(utf8(`${name}:${password}`))}`
  let tokens: Tokens | undefined
  let keys: Promise<KeyPair> | undefined
  const signIn = () => transport.send({ method: 'GET', path: '/iam/token?scope=offline' }, { authorization })
  const refresh = ({ refreshToken }: Tokens) => {
    const path = '/iam/token?grant_type=refresh_token&scope=offline'
    return transport.send({ method: 'POST', path, body: { refreshToken } })
  }
  const renew = sharing(async () => {
    let answer = tokens && (await refresh(tokens))
    if (!answer || answer.status === 401) answer = await signIn()
    if (answer.status !== 200) throw problemOf(answer)
    const next = answer.body as Partial<Tokens> | undefined
    // A captive portal or proxy may also answer 200.
    if (typeof next?.token !== 'string') throw new ConnectionLost('the answer contains no tokens')
    tokens = next as Tokens
    return true
  })
  await renew()
  return {
    async credentialFor({ path }) {
      if (tokens && isEnding(tokens.token, transport.now())) await renew().catch(() => false)
      const accessToken = tokens?.token ?? ''
      const credential = { authorization: `Bearer ${accessToken}` }
      if (!pathsWithProof.test(path)) return credential
      keys ??= makeKeys()
      return { ...credential, proof: { keys: await keys, accessToken } }
    },
    renew: (refused) => (refused.authorization === `Bearer ${tokens?.token}` ? renew() : Promise.resolve(true)),
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
export function dpopSession(
  transport: Transport,
  platform: Platform,
  sharedStore: SessionStore,
  first: StoredSession,
): Authority {
  let store = sharedStore
  let session = first
  const subject = claimsOf(first.accessToken).sub

  /** The stored session of this user. If the store holds a session of another user, this session continues in memory. */
  const storedSession = async () => {
    const stored = await store.read()
    if (!stored || claimsOf(stored.accessToken).sub === subject) return stored
    store = memoryStore()
    await store.write(session)
    return session
  }
  const refresh = async ({ keys, refreshToken }: StoredSession) => {
    const body = { refreshToken }
    const request: Request = { method: 'POST', path: '/auth/token', body, silenceMs: refreshSilenceMs }
    let lost: unknown
    for (const pauseMs of refreshPausesMs) {
      await platform.sleep(pauseMs)
      try {
        return await transport.send(request, { proof: { keys } })
      } catch (error) {
        if (!(error instanceof ConnectionLost)) throw error
        lost = error
      }
    }
    throw lost
  }
  const renewExclusively = async () => {
    const stored = await storedSession()
    if (!stored) return false
    // Uses the tokens in the store if another tab has already renewed them.
    const isNewer = stored.accessToken !== session.accessToken
    session = stored
    if (isNewer && !isEnding(stored.accessToken, transport.now())) return true
    const answer = await refresh(stored)
    const { status, body } = answer
    if (status === 200) {
      if (!isTokenPair(body)) throw new ConnectionLost('the answer contains no tokens')
      session = { keys: stored.keys, accessToken: body.accessToken, refreshToken: body.refreshToken }
      await store.write(session)
      return true
    }
    if (status !== 401) throw problemOf(answer)
    await store.remove()
    return false
  }
  const renew = sharing(() => store.exclusively(renewExclusively))
  const credential = (): Credential => {
    const { keys, accessToken } = session
    return { authorization: `DPoP ${accessToken}`, proof: { keys, accessToken } }
  }
  return {
    subject,
    async credentialFor() {
      // If the renewal fails, the request is sent with the old token, which may still be valid.
      if (isEnding(session.accessToken, transport.now())) await renew().catch(() => false)
      return credential()
    },
    renew: (refused) => (refused.proof?.accessToken === session.accessToken ? renew() : Promise.resolve(true)),
    forget: () =>
      store.exclusively(async () => {
        const stored = await store.read()
        // Compares the ids of the sessions, because another tab may have renewed the tokens.
        if (stored && claimsOf(stored.accessToken).sid === claimsOf(session.accessToken).sid) await store.remove()
      }),
  }
}
