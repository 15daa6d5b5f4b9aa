import {
  type Authority,
  apiKeyHolder,
  basicSession,
  dpopSession,
  type Login,
  logIn,
  sharing,
  unauthenticated,
} from '#client/authority'
import { LiveState } from '#client/live-state'
import { type Observable, ObservableValue } from '#client/observable'
import type { ConnectOptions, Credentials, KeyPair, SessionStore, StoredSession } from '#client/options'
import { ownOrigin, type Platform, platformOf } from '#client/platform'
import { Problem } from '#client/problem'
import { type AnyCall, idempotentSend, pagesOf, rememberTag, requestOf } from '#client/requests'
import type { Answer, CallArguments, Item, ListName, RouteName, WholeAnswer } from '#client/routes'
import {
  type Confirmation,
  type Factor,
  permissionsOf,
  type Session,
  type SignIn,
  type SignInOutcome,
} from '#client/session'
import { indexedDbStore, memoryStore, type TokenPair } from '#client/session-store'
import type { State, StateOptions } from '#client/state'
import { type Exchange, isReplayable, problemOf, type RawAnswer, Transport } from '#client/transport'

/** A sign-in that waits for its second factor. */
interface PendingSignIn {
  readonly keys: KeyPair
  readonly token: string
  readonly keep: boolean
}

/** The error of `/auth` and `/iam` when authentication is off. Credentials are then not needed. */
const iamOffError = 'IAM is off'

const signedOut: Session = { state: 'signed out', permissions: {} }

/** A client of one server: calls, a session and live states. */
export class Client {
  readonly #options: ConnectOptions
  readonly #platform: Platform
  readonly #transport: Transport
  readonly #idempotentSend: Exchange
  readonly #store: SessionStore
  readonly #session: ObservableValue<Session>
  readonly #states = new Set<LiveState>()
  /** Undefined: the next request must first sign in with `credentials`. */
  #authority: Authority | undefined
  #pendingSignIn: PendingSignIn | undefined

  constructor(options: ConnectOptions) {
    const url = options.url ?? ownOrigin()
    if (url === undefined) throw new TypeError('url is required outside of web pages')
    const { origin, pathname } = new URL(url)
    const base = `${origin}${pathname.replace(/\/+$/, '')}/api/v1`
    this.#options = options
    this.#platform = platformOf(options)
    this.#transport = new Transport(base, this.#platform)
    this.#idempotentSend = idempotentSend(this.#platform, this.#exchange)
    const shared = options.credentials ? undefined : indexedDbStore(base)
    this.#store = options.store ?? shared ?? memoryStore()
    this.#session = new ObservableValue<Session>({ state: 'unknown', permissions: {} })
    if (!options.credentials) this.#authority = unauthenticated
  }

  /** The user that is signed in. */
  get session(): Observable<Session> {
    return this.#session
  }

  /**
   * The server's clock, Unix ms, adjusted with each answer and accurate to one or two seconds. All times of the server
   * and of this library use this clock. Before the first answer it is the local clock.
   */
  now(): number {
    return this.#transport.now()
  }

  /**
   * Calls a route by its method and path, as in the API description: `call('GET /devices', { query: { depth: 2 } })`.
   * Adds tokens and proofs, and renews them when necessary.
   * @returns the body of the 2xx answer, `undefined` without a body
   * @throws Problem for every other answer
   * @throws ConnectionLost if no answer arrived
   */
  async call<R extends RouteName>(route: R, ...[call]: CallArguments<R>): Promise<Answer<R>> {
    const answer = await this.#idempotentSend(requestOf(route, call as AnyCall))
    return rememberTag(bodyOfSuccess(answer), answer.headers) as Answer<R>
  }

  /** Like `call`, but returns the whole answer with any status. */
  async answer<R extends RouteName>(route: R, ...[call]: CallArguments<R>): Promise<WholeAnswer<R>> {
    return this.#idempotentSend(requestOf(route, call as AnyCall))
  }

  /** The pages of a list, one after the other, with `limit` entries each. Contract 3.4. */
  async *pages<R extends ListName>(route: R, ...[call]: CallArguments<R>): AsyncIterable<readonly Item<R>[]> {
    const pages = pagesOf(requestOf(route, call as AnyCall), this.#exchange)
    for await (const { items } of pages) yield items as readonly Item<R>[]
  }

  /**
   * Continues the stored session, or finds out that authentication is off, or that no user is signed in. A page should
   * call `restore` when it loads. Clients with `credentials` sign in.
   */
  restore(): Promise<Session> {
    return this.#restore()
  }

  readonly #restore = sharing(async () => {
    if (!this.#options.credentials && this.#authority === unauthenticated) {
      const stored = await this.#store.read()
      if (stored) this.#authority = this.#dpopSession(stored)
    }
    return this.#readSession()
  })

  /**
   * Signs in by the DPoP scheme with a new key. §5.2
   * @throws Problem 401 when the mail address, name or password is wrong
   */
  async signIn({ keep = true, ...credentials }: SignIn): Promise<SignInOutcome> {
    const login = await logIn(this.#transport, credentials)
    if ('tenants' in login) return login
    if ('pair' in login) {
      await this.#startSession(login.keys, login.pair, keep)
      return 'signed in'
    }
    const { keys, secondFactor } = login
    const { token, methods, enroll, expiresIn } = secondFactor
    this.#pendingSignIn = { keys, token, keep }
    const expiresAt = this.now() + expiresIn * 1000
    this.#session.set({ state: 'second factor', permissions: {}, methods, enroll, expiresAt })
    return { secondFactor: { methods, enroll } }
  }

  /**
   * Completes a sign-in that requires a second factor.
   * @throws Problem 401 when the factor is wrong, 429 after too many attempts
   * @throws TypeError for a code if no sign-in is waiting for one
   */
  async secondFactor(factor: Factor): Promise<'signed in'> {
    if ('webauthn' in factor) await this.#factor('POST /auth/2fa/webauthn/authenticate/verify', factor.webauthn)
    else if (!this.#pendingSignIn) throw new TypeError('no sign-in is waiting for a code')
    else if ('code' in factor) await this.#factor('POST /auth/2fa/totp', { code: factor.code })
    else await this.#factor('POST /auth/2fa/recovery', { code: factor.recovery })
    return 'signed in'
  }

  /**
   * Creates a secret for one-time codes. It is valid after `activateTotp`. If a sign-in requires enrollment,
   * `activateTotp` or `finishWebauthnRegistration` completes the sign-in. In a session, the methods of enrollment and
   * registration change the second factors of the user, and need a confirmation.
   */
  async enrollTotp(confirmation: Confirmation = {}): Promise<Answer<'POST /auth/2fa/totp/enroll'>> {
    return this.#factor('POST /auth/2fa/totp/enroll', confirmation)
  }

  /** @returns new recovery codes, which are shown only once */
  async activateTotp(
    code: string,
    confirmation: Pick<Confirmation, 'password'> = {},
  ): Promise<{ readonly recoveryCodes: readonly string[] }> {
    const { recoveryCodes } = await this.#factor('POST /auth/2fa/totp/activate', { code, ...confirmation })
    return { recoveryCodes }
  }

  /** Returns the `optionsJSON` for `startRegistration` of `@simplewebauthn/browser`. */
  async startWebauthnRegistration(confirmation: Confirmation = {}): Promise<object> {
    return this.#factor('POST /auth/2fa/webauthn/register/options', confirmation)
  }

  /** `response`: the result of `startRegistration`; `name`: a name for the passkey. */
  async finishWebauthnRegistration(
    response: object,
    more: Confirmation & { readonly name?: string } = {},
  ): Promise<{ readonly id: string; readonly recoveryCodes?: readonly string[] | undefined }> {
    const body = { ...response, ...more }
    const { id, recoveryCodes } = await this.#factor('POST /auth/2fa/webauthn/register/verify', body)
    return { id, recoveryCodes }
  }

  /** Returns the options for `startAuthentication`; pass its response to `secondFactor({ webauthn })`. */
  async startWebauthnAuthentication(): Promise<object> {
    return this.#factor('POST /auth/2fa/webauthn/authenticate/options', {})
  }

  /** Ends the session here and on the server; with `all`, every session of the user. */
  async signOut({ all = false }: { readonly all?: boolean } = {}): Promise<void> {
    const authority = this.#authority
    this.#pendingSignIn = undefined
    try {
      if (authority && authority !== unauthenticated) {
        const answer = await this.#exchange(requestOf('POST /auth/logout', { query: { all: all || undefined } }))
        if (answer.status >= 300 && answer.status !== 401) throw problemOf(answer)
      }
    } finally {
      await authority?.forget?.()
      this.#end()
    }
  }

  /**
   * A live state; most clients need only one. Connects at once.
   * @throws TypeError without a `WebSocket`
   */
  state(options: StateOptions = {}): State {
    const { WebSocket } = this.#platform
    if (!WebSocket) {
      throw new TypeError('Node 20 has no WebSocket: run npm install ws, or pass one to connect()')
    }
    const state = new LiveState(options, {
      platform: this.#platform,
      now: () => this.now(),
      session: this.#session,
      read: this.#exchange,
      open: (path) => new WebSocket(this.#transport.socketUrl(path)),
      renew: () => this.#renew(),
      rightsChanged: () => void this.#readSession().catch(() => {}),
      closed: (closed) => this.#states.delete(closed),
    })
    this.#states.add(state)
    return state
  }

  /** Closes all live states and their sockets. The session stays stored. */
  close(): void {
    for (const state of [...this.#states]) state.close()
  }

  /**
   * Sends a request with the credential of the session. If the server refuses the token and a new token is available,
   * sends the request once more. §5.2.9
   */
  readonly #exchange: Exchange = async (request) => {
    let authority = await this.#currentAuthority()
    const credential = await authority.credentialFor(request)
    const answer = await this.#transport.send(request, credential)
    if (!isTokenRefused(answer) || !isReplayable(request.body)) return answer
    if (!(await authority.renew(credential))) {
      if (!this.#sessionEnded(authority)) return answer
      const next = await this.#currentAuthority()
      // Another user has signed in: the request must not be sent as that user.
      if (next.subject !== authority.subject) return answer
      authority = next
    }
    return this.#transport.send(request, await authority.credentialFor(request))
  }

  /** The authority for requests. With `credentials`, signs in first, once for all concurrent requests. */
  async #currentAuthority(): Promise<Authority> {
    return this.#authority ?? this.#signInByCredentials()
  }

  readonly #signInByCredentials = sharing(async () => {
    const { credentials } = this.#options
    if (!credentials) return unauthenticated
    this.#authority = await this.#authorityOf(credentials).catch((error) => {
      if (error instanceof Problem && error.status === 404 && error.message === iamOffError) return unauthenticated
      throw error
    })
    return this.#authority
  })

  async #authorityOf(credentials: Credentials): Promise<Authority> {
    if ('apiKey' in credentials) return apiKeyHolder(credentials.apiKey)
    if (credentials.scheme === 'basic') return basicSession(this.#transport, credentials.name, credentials.password)
    const { scheme: _, ...account } = credentials
    const login = await logIn(this.#transport, account)
    if (!('pair' in login)) throw refusalOf(login)
    return this.#newDpopSession(this.#store, login.keys, login.pair)
  }

  async #newDpopSession(store: SessionStore, keys: KeyPair, pair: TokenPair): Promise<Authority> {
    const session = { keys, accessToken: pair.accessToken, refreshToken: pair.refreshToken }
    await store.exclusively(() => store.write(session))
    return this.#dpopSession(session, store)
  }

  #dpopSession(session: StoredSession, store = this.#store): Authority {
    return dpopSession(this.#transport, this.#platform, store, session)
  }

  /** Called when the session of `authority` has ended. Returns whether another session has begun or can begin. */
  #sessionEnded(authority: Authority): boolean {
    const { credentials } = this.#options
    const signsInAgain = credentials !== undefined && !('apiKey' in credentials)
    if (this.#authority !== authority) return true
    if (signsInAgain) this.#authority = undefined
    else this.#end()
    return signsInAgain
  }

  #end(): void {
    this.#pendingSignIn = undefined
    this.#authority = this.#options.credentials ? undefined : unauthenticated
    this.#session.set(signedOut)
  }

  /** Called when a socket was closed because the token is no longer valid. Returns whether the stream can continue. */
  async #renew(): Promise<boolean> {
    const authority = await this.#currentAuthority()
    const credential = await authority.credentialFor({ method: 'GET', path: '/events/ticket' })
    return (await authority.renew(credential)) || this.#sessionEnded(authority)
  }

  /** Reads the user from the server. A 200 answer to a request without a token means that authentication is off. */
  async #readSession(): Promise<Session> {
    const before = await this.#currentAuthority()
    const answer = await this.#exchange(requestOf('GET /iam/me'))
    // The user has signed in or out meanwhile, which sets the session.
    if (this.#authority !== before && !this.#options.credentials) return this.#session.value
    if (answer.status === 401) this.#session.set(signedOut)
    else if (answer.status !== 200) throw problemOf(answer)
    else {
      const { name, tenant, roles, grants } = answer.body as Answer<'GET /iam/me'>
      // The name is not checked: a real user may be called `anonymous`. Users and API keys get their grants from roles.
      const isAnonymous = this.#authority === unauthenticated || (roles.length === 0 && grants.length > 0)
      const state = isAnonymous ? 'IAM off' : 'signed in'
      this.#session.set({ state, name, tenant, roles, grants, permissions: permissionsOf(grants, tenant) })
    }
    return this.#session.value
  }

  async #startSession(keys: KeyPair, pair: TokenPair, keep: boolean): Promise<void> {
    this.#authority = await this.#newDpopSession(keep ? this.#store : memoryStore(), keys, pair)
    this.#pendingSignIn = undefined
    try {
      await this.#readSession()
    } catch {
      // No error: the user is signed in, and the answer of the sign-in may contain secrets that are shown only once.
      this.#session.set({ state: 'signed in', permissions: {} })
    }
  }

  /** A request about second factors: for the pending sign-in, which it may complete, or for the current session. */
  async #factor<R extends RouteName>(route: R, body: object): Promise<Answer<R>> {
    const pending = this.#pendingSignIn
    if (!pending) return bodyOfSuccess(await this.#exchange(requestOf(route, { body }))) as Answer<R>
    const { keys, token, keep } = pending
    const answer = await this.#transport.send(requestOf(route, { body: { ...body, token } }), { proof: { keys } })
    if (answer.status !== 200) {
      if (answer.status === 401 && hasError(answer, 'invalid or expired token')) this.#end()
      throw problemOf(answer)
    }
    const { accessToken, refreshToken } = answer.body as Partial<TokenPair>
    if (accessToken && refreshToken) await this.#startSession(keys, { accessToken, refreshToken }, keep)
    return answer.body as Answer<R>
  }
}

/** @throws Problem for a status other than 2xx */
function bodyOfSuccess(answer: RawAnswer): unknown {
  if (answer.status < 200 || answer.status > 299) throw problemOf(answer)
  return answer.body
}

function refusalOf(login: Exclude<Login, { readonly pair: unknown }>): Problem {
  return 'tenants' in login
    ? new Problem(409, { error: 'TENANT_CONFLICT_ERROR', tenants: login.tenants })
    : new Problem(401, { error: '2fa_required' })
}

/** The server also answers 401 to wrong passwords and codes, but without this error. RFC 6750 §3.1 */
function isTokenRefused({ status, headers }: RawAnswer): boolean {
  return status === 401 && /error="invalid_token"/.test(headers.get('www-authenticate') ?? '')
}

function hasError({ body }: RawAnswer, error: string): boolean {
  return (body as { readonly error?: unknown } | undefined)?.error === error
}
