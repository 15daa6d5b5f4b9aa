import type { Desired } from '#client/device-desired'
import type { DeviceHistory, HistoryOptions } from '#client/device-history'
import type { Observable, ObservableMap } from '#client/observable'
import type { Answer, Item } from '#client/routes'
import type { EventType, StreamEvent } from '#model/event'
import type { DeviceStatus } from '#model/meta'
import type { Modifier } from '#model/property'
import type { PropertyValue } from '#model/property-type'

/** The part of the state that is wanted; without options, everything. */
export interface StateOptions {
  /**
   * Only these devices. `'watched'`: a device is read when it gets a listener of its own, such as a row on a screen. It
   * may be kept after its listeners end. `devices.isComplete` is true when all of these devices are read.
   */
  readonly devices?: readonly string[] | 'watched'
  /** Only these services of the devices. */
  readonly services?: readonly string[]
  /** Only events of these types. A list is read only if at least one of these types changes it. */
  readonly types?: readonly EventType[]
  /** 0: devices with their status, 1: also their services, 2, the default: also properties. */
  readonly depth?: 0 | 1 | 2
}

/**
 * The state of the connection. `connecting`: nothing is read yet. `catching up`: connected, and reading what is
 * missing. `live`: all stored changes are included, and new events arrive. `stale`: connected, but no message for 15 s,
 * not even an answer to a ping. `reconnecting`: not connected; the data is as of `since`. `closed`: the state has
 * ended, see `problem`. It continues only after another sign-in, and never after `close`.
 */
export interface Connection {
  readonly state: 'connecting' | 'catching up' | 'live' | 'reconnecting' | 'stale' | 'closed'
  /** By `client.now()`; for `stale` and `reconnecting` the time of the last message. */
  readonly since: number
  /** For `connecting` and `reconnecting`: the number of the attempt, from 1. */
  readonly attempt?: number
  /** For `connecting` and `reconnecting`: when the attempt begins, by `client.now()`; absent during the attempt. */
  readonly nextAttemptAt?: number
  /** Why the last attempt failed, why a list cannot be read at present, or why the state was closed. */
  readonly problem?: Error
}

/** A position in the tenant's stream: all events up to and including `offset` are applied. Contract 4.3. */
export interface Position {
  readonly epoch: string
  readonly offset: number
}

/** The status of an alarm on a device. */
export type AlarmStatus = Item<'GET /alarms/status'>

/** The schema of a service: the names, units and value names of its properties. Absent fields are `undefined`. */
export type Schema = NonNullable<Item<'GET /schemas'>['schema']>

/** A device's firmware and the status of its updates. */
export type FirmwareView = Answer<'GET /updates/:deviceIdentifier'>

export type Subscription = Item<'GET /notifications/subscribe'>

/**
 * The live state of a tenant or a part of it: read once, kept current by events, and completed after interruptions.
 * §1.7
 */
export interface State {
  readonly connection: Observable<Connection>
  /** By device identifier. */
  readonly devices: ObservableMap<string, DeviceView>
  /** Resolves when the state is live for the first time. Rejects if the state is closed before. */
  readonly ready: Promise<void>
  /** One device, and its history. The value is undefined if the device is unknown. Case does not matter. */
  device(deviceIdentifier: string): LiveDevice
  /** By service identifier. `schemas`, `alarms`, `updates` and `subscriptions` are each read when first used. */
  readonly schemas: ObservableMap<string, Schema>
  /** By `alarmKey(resourceIdentifier, deviceIdentifier)`; includes alarms that are no longer active. */
  readonly alarms: ObservableMap<string, AlarmStatus>
  /** By device identifier. */
  readonly updates: ObservableMap<string, FirmwareView>
  /** The caller's own subscriptions, by resource name. */
  readonly subscriptions: ObservableMap<string, Subscription>
  /**
   * Calls the listener for every event, also for events that were missed during an interruption, if the server can
   * still send them.
   */
  events(listener: (event: StreamEvent) => void): () => void
  /** Undefined before the first full read, and while the state is closed. */
  readonly position: Position | undefined
  close(): void
}

/** The key of an alarm on a device, in `state.alarms`. */
export function alarmKey(resourceIdentifier: string, deviceIdentifier: string): string {
  return `${resourceIdentifier} ${deviceIdentifier}`
}

/** A property with its value. §2.2, contract 3.8. */
export interface PropertyView {
  readonly propId: number
  /** Upper case: `UINT8`, `FLOAT-ARRAY`. */
  readonly type: string
  readonly tag: 'value' | 'error'
  readonly modifier: Modifier
  /** Absent for an error, and before the first report. */
  readonly value?: PropertyValue
  readonly error?: string
  /** Unix milliseconds; absent before the first report. */
  readonly timestamp?: number
}

/**
 * The properties of a service of a device, by propId. Each access creates the PropertyView: compare values, not
 * objects.
 */
export interface ServiceView extends ReadonlyMap<number, PropertyView> {
  /** Only the value, without creating a PropertyView: for long lists. */
  valueAt(propId: number): PropertyValue | undefined
}

/** One device, its history and its desired values. */
export interface LiveDevice extends Observable<DeviceView | undefined> {
  /**
   * Reads all pages of the history of some properties, given by id or name; without `properties`, of all.
   * @throws Problem, ConnectionLost
   */
  history(service: string, properties?: readonly (string | number)[], options?: HistoryOptions): Promise<DeviceHistory>
  /**
   * Calls `changed` with the desired values of a service, and after each change, until the returned function is called.
   */
  desired(service: string, changed: (desired: Desired) => void): () => void
}

/** An immutable device: a new object after each change, the same object otherwise. */
export interface DeviceView {
  readonly deviceIdentifier: string
  /** Undefined if it is not read yet, or the caller may not read `meta`. */
  readonly status: DeviceStatus | undefined
  /** Unix milliseconds, 0 for never. As of the last change of `status`, because no other event contains it. */
  readonly lastMessage: number
  readonly lastConnect: number
  readonly numConnects: number
  readonly meta: Readonly<Record<string, unknown>>
  /** By service identifier. */
  readonly services: ReadonlyMap<string, ServiceView>
}
