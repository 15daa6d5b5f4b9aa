import { ConnectedClient } from '#client/connected-client'
import type { Observable } from '#client/observable'
import type { ConnectOptions } from '#client/options'
import type { Answer, CallArguments, Item, ListName, RouteName, WholeAnswer } from '#client/routes'
import type { Confirmation, Factor, Session, SignIn, SignInOutcome } from '#client/session'
import type { State, StateOptions } from '#client/state'

export type { Desired } from '#client/device-desired'
export type { DeviceHistory, History, HistoryOptions } from '#client/device-history'
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
export type { DeviceView, LiveDevice, PropertyView, ServiceView } from '#client/state'
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

/** A client of one server: calls, a session and live states. */
export interface Client {
  /**
   * Calls a route by its method and path, as in the API description: `call('GET /devices', { query: { depth: 2 } })`.
   * Adds tokens and proofs, and renews them when necessary.
   * @returns the body of the 2xx answer, `undefined` without a body
   * @throws Problem for every other answer
   * @throws ConnectionLost if no answer arrived
   */
  call<R extends RouteName>(route: R, ...call: CallArguments<R>): Promise<Answer<R>>

  /** Like `call`, but returns the whole answer with any status. */
  answer<R extends RouteName>(route: R, ...call: CallArguments<R>): Promise<WholeAnswer<R>>

  /** The pages of a list, one after the other, with `limit` entries each. Contract 3.4. */
  pages<R extends ListName>(route: R, ...call: CallArguments<R>): AsyncIterable<readonly Item<R>[]>

  /**
   * The server's clock, Unix ms, adjusted with each answer and accurate to one or two seconds. All times of the server
   * and of this library use this clock. Before the first answer it is the local clock.
   */
  now(): number

  /** The user that is signed in. */
  readonly session: Observable<Session>

  /**
   * Continues the stored session, or finds out that authentication is off, or that no user is signed in. A page should
   * call `restore` when it loads. Clients with `credentials` sign in.
   */
  restore(): Promise<Session>

  /**
   * Signs in by the DPoP scheme with a new key. §5.2
   * @throws Problem 401 when the mail address, name or password is wrong
   */
  signIn(signIn: SignIn): Promise<SignInOutcome>

  /**
   * Completes a sign-in that requires a second factor.
   * @throws Problem 401 when the factor is wrong, 429 after too many attempts
   * @throws TypeError for a code if no sign-in is waiting for one
   */
  secondFactor(factor: Factor): Promise<'signed in'>

  /**
   * Creates a secret for one-time codes. It is valid after `activateTotp`. If a sign-in requires enrollment,
   * `activateTotp` or `finishWebauthnRegistration` completes the sign-in. In a session, the methods of enrollment and
   * registration change the second factors of the user, and need a confirmation.
   */
  enrollTotp(confirmation?: Confirmation): Promise<Answer<'POST /auth/2fa/totp/enroll'>>

  /** @returns new recovery codes, which are shown only once */
  activateTotp(
    code: string,
    confirmation?: Pick<Confirmation, 'password'>,
  ): Promise<{ readonly recoveryCodes: readonly string[] }>

  /** Returns the `optionsJSON` for `startRegistration` of `@simplewebauthn/browser`. */
  startWebauthnRegistration(confirmation?: Confirmation): Promise<object>

  /** `response`: the result of `startRegistration`; `name`: a name for the passkey. */
  finishWebauthnRegistration(
    response: object,
    more?: Confirmation & { readonly name?: string },
  ): Promise<{ readonly id: string; readonly recoveryCodes?: readonly string[] | undefined }>

  /** Returns the options for `startAuthentication`; pass its response to `secondFactor({ webauthn })`. */
  startWebauthnAuthentication(): Promise<object>

  /** Ends the session here and on the server; with `all`, every session of the user. */
  signOut(options?: { readonly all?: boolean }): Promise<void>

  /**
   * A live state; most clients need only one. Connects at once.
   * @throws TypeError without a `WebSocket`
   */
  state(options?: StateOptions): State

  /** Closes all live states and their sockets. The session stays stored. */
  close(): void
}

/** A client of the server at `url`. The client sends nothing before the first call. */
export function connect(options: ConnectOptions = {}): Client {
  return new ConnectedClient(options)
}
