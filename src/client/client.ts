import { Client } from '#client/connected-client'
import type { ConnectOptions } from '#client/options'

export type { Client } from '#client/connected-client'
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

/** A client of the server at `url`. The client sends nothing before the first call. */
export function connect(options: ConnectOptions = {}): Client {
  return new Client(options)
}
