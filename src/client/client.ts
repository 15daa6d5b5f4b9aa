import { ConnectedClient } from '#client/connected-client'
import type { Observable } from '#client/observable'
import type { ConnectOptions } from '#client/options'
import type { Answer, CallArguments, Item, ListName, RouteName, WholeAnswer } from '#client/routes'
import type { Confirmation, Factor, Session, SignIn, SignInOutcome } from '#client/session'
import type { State, StateOptions } from '#client/state'

export type { Observable, ObservableMap } from '#client/observable'
export type {
  ConnectOptions,
  Credentials,
  KeyPair,
  SessionStore,
  Socket,
  SocketConstructor,
  SocketEvent,
  StoredSession,
} from '#client/options'
export { ConnectionLost, Problem, type ProblemDetail } from '#client/problem'
export { etagOf } from '#client/requests'
export type {
  Answer,
  Body,
  CallArguments,
  CallOptions,
  Item,
  ListName,
  Parameters,
  Query,
  RouteName,
  WholeAnswer,
} from '#client/routes'
export {
  type Confirmation,
  type Factor,
  type FactorMethod,
  may,
  type Permissions,
  type Session,
  type SignIn,
  type SignInOutcome,
  type TenantChoice,
} from '#client/session'
export type { DeviceView, PropertyView, ServiceView } from '#client/state'
export {
  type AlarmStatus,
  alarmKey,
  type Connection,
  type FirmwareView,
  type Position,
  type Schema,
  type State,
  type StateOptions,
  type Subscription,
} from '#client/state'

/** Calls to a server, a session there, and the state that is kept current. */
export interface Client {
  /**
   * Calls a route by its method and path, as the API description names it: `call('GET /devices', { query: { depth: 2 } })`.
   * Tokens, proofs, nonces and refreshes are seen to.
   *
   * @returns the body of the 2xx answer, `undefined` where it has none
   * @throws Problem for every other answer
   * @throws ConnectionLost when none came
   */
  call<R extends RouteName>(route: R, ...call: CallArguments<R>): Promise<Answer<R>>

  /** The same, with the answer whole, whatever its status. */
  answer<R extends RouteName>(route: R, ...call: CallArguments<R>): Promise<WholeAnswer<R>>

  /** The pages of a list, one after the other; how long they are says `limit`. Contract 3.4. */
  pages<R extends ListName>(route: R, ...call: CallArguments<R>): AsyncIterable<readonly Item<R>[]>

  /**
   * Unix milliseconds by the server's clock, which each answer tells: what its times are to be held against, and those of
   * this library. Exact to a second or two; before the first answer by this machine's clock.
   */
  now(): number

  /** Who is signed in. */
  readonly session: Observable<Session>

  /**
   * At the beginning of a page: takes up the session that is kept, or finds out that identity and access management is
   * off, or that nobody is signed in. Clients with `credentials` sign in with them.
   */
  restore(): Promise<Session>

  /** Signs in by the DPoP scheme, with a key of its own. §5.2 @throws Problem 401 when address or password is wrong */
  signIn(signIn: SignIn): Promise<SignInOutcome>

  /** Completes a sign-in that asked for it. @throws Problem 401 when it is wrong, 429 when it was wrong too often */
  secondFactor(factor: Factor): Promise<'signed in'>

  /**
   * A secret for one-time codes, in force once it is activated. This and the following complete the sign-in that has to
   * enroll, or act for who is signed in, who confirms it.
   */
  enrollTotp(confirmation?: Confirmation): Promise<Answer<'POST /auth/2fa/totp/enroll'>>

  /** @returns fresh codes to recover with: they are shown once */
  activateTotp(
    code: string,
    confirmation?: Pick<Confirmation, 'password'>,
  ): Promise<{ readonly recoveryCodes: readonly string[] }>

  /** What to hand to `startRegistration` of `@simplewebauthn/browser`, as its `optionsJSON`. */
  startWebauthnRegistration(confirmation?: Confirmation): Promise<object>

  /** `response`: what that gave; `name`: what people know the key by. */
  finishWebauthnRegistration(
    response: object,
    more?: Confirmation & { readonly name?: string },
  ): Promise<{ readonly id: string; readonly recoveryCodes?: readonly string[] | undefined }>

  /** What to hand to `startAuthentication`; its response goes into `secondFactor({ webauthn })`. */
  startWebauthnAuthentication(): Promise<object>

  /** Ends the session here and on the server, or with `all` every one of the user. */
  signOut(options?: { readonly all?: boolean }): Promise<void>

  /** The state kept up to date; one for each client is usual. Connects at once. @throws TypeError where there is no `WebSocket` */
  state(options?: StateOptions): State

  /** Closes what is open: states and their sockets. The session is kept. */
  close(): void
}

/** A client of the server at `url`. Nothing is sent before something is asked. */
export function connect(options: ConnectOptions = {}): Client {
  return new ConnectedClient(options)
}
