import type { Observable, ObservableMap } from '#client/observable'
import type { Answer, Item } from '#client/routes'
import type { EventType, StreamEvent } from '#model/event'
import type { DeviceStatus } from '#model/meta'
import type { Modifier } from '#model/property'
import type { PropertyValue } from '#model/property-type'

/** What of the whole state is wanted; everything without options. */
export interface StateOptions {
  /** Only these devices. */
  readonly devices?: readonly string[]
  /** Only these services of them. */
  readonly services?: readonly string[]
  /** Only these types of events: what none of them is about is not read either. */
  readonly types?: readonly EventType[]
  /** 0: devices with their status, 1: also their services, 2, the default: also properties. */
  readonly depth?: 0 | 1 | 2
}

/**
 * How true what is shown is. `connecting`: nothing was read yet. `catching up`: connected, and what is missing is on its
 * way. `live`: all that the server had stored was folded in, and what happens comes. `stale`: connected, and nothing was
 * heard for 15 s, not even an answer to a ping. `reconnecting`: not connected; what is shown was true at `since`.
 * `closed`: it will not go on by itself, see `problem`.
 */
export interface Connection {
  readonly state: 'connecting' | 'catching up' | 'live' | 'reconnecting' | 'stale' | 'closed'
  /** By `client.now()`; of `stale` and `reconnecting` the last sign of life. */
  readonly since: number
  /** Of `connecting` and `reconnecting`: the how manyth attempt in a row. */
  readonly attempt?: number
  /** Of these: when it is made, by `client.now()`; absent while it is. */
  readonly nextAttemptAt?: number
  /** Why the last attempt failed, why something could not be read so far, or why it is over. */
  readonly problem?: Error
}

/** A place in the tenant's stream: everything up to and including `offset` is folded in. Contract 4.3. */
export interface Position {
  readonly epoch: string
  readonly offset: number
}

/** Where an alarm stands on a device. */
export type AlarmStatus = Item<'GET /alarms/status'>

/** The description of a service; `undefined` in it where it was left out. */
export type Schema = NonNullable<Item<'GET /schemas'>['schema']>

/** A device's firmware, and where its updates stand. */
export type FirmwareView = Answer<'GET /updates/:deviceIdentifier'>

export type Subscription = Item<'GET /notifications/subscribe'>

/** The state of a tenant, or of a part of it, as it is: read once, kept up by events, made whole after breaks. §1.7 */
export interface State {
  readonly connection: Observable<Connection>
  /** By device identifier. */
  readonly devices: ObservableMap<string, DeviceView>
  /** Resolves when it is live for the first time; rejects when it is closed before. */
  readonly ready: Promise<void>
  /** One device; its value is undefined while there is none. Case does not matter. */
  device(deviceIdentifier: string): Observable<DeviceView | undefined>
  /** By service identifier. This and the following are read when first asked for, and are empty until then. */
  readonly schemas: ObservableMap<string, Schema>
  /** By `alarmKey(resourceIdentifier, deviceIdentifier)`; also those that are active no more. */
  readonly alarms: ObservableMap<string, AlarmStatus>
  /** By device identifier. */
  readonly updates: ObservableMap<string, FirmwareView>
  /** The caller's own, by resource name. */
  readonly subscriptions: ObservableMap<string, Subscription>
  /** Every event as it comes, also what is folded in; while connected, and after a break what was missed. */
  events(listener: (event: StreamEvent) => void): () => void
  /** Undefined before the first full read. */
  readonly position: Position | undefined
  close(): void
}

/** The key of an alarm on a device, in `state.alarms`. */
export function alarmKey(resourceIdentifier: string, deviceIdentifier: string): string {
  return `${resourceIdentifier} ${deviceIdentifier}`
}

/** A property as it stands. §2.2, contract 3.8. */
export interface PropertyView {
  readonly propId: number
  /** Upper case: `UINT8`, `FLOAT-ARRAY`. */
  readonly type: string
  readonly tag: 'value' | 'error'
  readonly modifier: Modifier
  /** Absent in error, and before the first report. */
  readonly value?: PropertyValue
  readonly error?: string
  /** Unix milliseconds; absent before the first report. */
  readonly timestamp?: number
}

/** The properties of a service of a device, by propId. Each is made when it is asked for: compare values, not these. */
export interface ServiceView extends ReadonlyMap<number, PropertyView> {
  /** The value alone, without making a PropertyView: for long lists. */
  valueAt(propId: number): PropertyValue | undefined
}

/** A device as it stood: another object after each change, the same one while nothing changes. */
export interface DeviceView {
  readonly deviceIdentifier: string
  /** Undefined where the caller may not read `meta`. */
  readonly status: DeviceStatus | undefined
  /** Unix milliseconds, 0 for never; as of the last change of `status`, for nothing else tells of it. */
  readonly lastMessage: number
  readonly lastConnect: number
  readonly numConnects: number
  readonly meta: Readonly<Record<string, unknown>>
  /** By service identifier. */
  readonly services: ReadonlyMap<string, ServiceView>
}
