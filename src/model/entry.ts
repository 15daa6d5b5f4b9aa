import type { StoredAlarm } from '#model/alarm'
import type { DesiredItem } from '#model/desired'
import type { UpdateState } from '#model/firmware'
import type { JsonObject, JsonValue } from '#model/json-value'
import type { DeviceStatus } from '#model/meta'
import type { PropertyValue } from '#model/property-type'
import type { ServiceSchema } from '#model/service-schema'
import type { Shape } from '#model/shape'
import type { StoredSubscription } from '#model/subscription'

/**
 * An entry of the stream: a fact that is decided and stored. One entry has one offset and is sent to clients as one
 * event. The stored form is in `src/store/entry-codec.ts`, the wire form in `src/events/wire-format.ts`.
 *
 * `at` is the server's time of the turn, Unix ms. Entries of a device contain the names and numbers that their events
 * need, so that events can be sent long after the device was deleted.
 */
export type Entry =
  | DeviceAdded
  | DeviceRemoved
  | Reported
  | Declared
  | Undeclared
  | StatusChanged
  | Discovered
  | MetaSet
  | MetaDeleted
  | SchemaSet
  | SchemaDeleted
  | AlarmSet
  | AlarmDeleted
  | AlarmChanged
  | AlarmAcknowledged
  | DesiredSet
  | UpdateChanged
  | Subscribed
  | SubscriptionUpdated
  | Unsubscribed

/** Reports are by far the most frequent entries. */
export type EntryExceptReport = Exclude<Entry, Reported>

export type EntryKind = Entry['kind']

interface OfDevice {
  readonly device: string
  readonly at: number
}

interface OfNumberedDevice extends OfDevice {
  readonly flakeAddress: number
}

interface DeviceAdded extends OfNumberedDevice {
  readonly kind: 'device_added'
}

interface DeviceRemoved extends OfNumberedDevice {
  readonly kind: 'device_removed'
}

/** Reported instead of a value that the device could not read. Contract 3.8. */
export interface PropertyError {
  readonly error: string
}

/** A property has a value, an error, or null: declared, without a value. */
export type PropertyState = PropertyValue | PropertyError | null

/** Indexes into the shape's properties and their states, alternating: index, state, index, state … */
export type Items = readonly (number | PropertyState)[]

export interface Reported extends OfNumberedDevice {
  readonly kind: 'reported'
  readonly shape: Shape
  /** The device's own time if it gave a plausible one, otherwise `at`. Contract 4.6. */
  readonly timestamp: number
  /** Number of the message in its session; 0 if the report has no number. */
  readonly seq: number
  /** The id of the session, if this report begins it. */
  readonly session?: string
  readonly items: Items
  /** Alarms that started or stopped waiting with this report; absent if none did. Not part of any event. */
  readonly alarms?: AlarmWaits
  /** Throttles that let an event pass with this report; absent if none did. Not part of any event. */
  readonly throttles?: Stamps
}

/**
 * Ids of alarms and the time since when each waits, Unix ms, alternating; 0: the alarm no longer waits. Contract 5.3,
 * `forSeconds`.
 */
export type AlarmWaits = readonly (string | number)[]

/**
 * Throttles of functions as `<functionId>/<nodeId>`, and the time at which each last let an event of this device pass,
 * Unix ms, alternating. Contract 5.4.
 */
export type Stamps = readonly (string | number)[]

/**
 * A device declared a service. `items` holds the values that differ from before, `removed` the properties that are no
 * longer declared or lost their value.
 */
export interface Declared extends OfNumberedDevice {
  readonly kind: 'declared'
  readonly shape: Shape
  readonly items: Items
  readonly removed: readonly RemovedProperty[]
}

export interface RemovedProperty {
  readonly propId: number
  /** Lower-case name of the type. */
  readonly type: string
  readonly modifier: number
}

/** A device no longer offers a service. */
export interface Undeclared extends OfNumberedDevice {
  readonly kind: 'undeclared'
  readonly service: string
  readonly removed: readonly RemovedProperty[]
}

export interface StatusChanged extends OfDevice {
  readonly kind: 'status_changed'
  readonly status: DeviceStatus
  /** Unix ms, 0 for never, like `lastConnect`. */
  readonly lastMessage: number
  readonly lastConnect: number
  readonly numConnects: number
}

export interface Firmware {
  readonly firmware: string
  readonly hardware?: string | undefined
  readonly index: number
}

/** A device sent its description. Contract 4, DEVICE_DISCOVERY. */
export interface Discovered extends OfNumberedDevice {
  readonly kind: 'discovered'
  readonly project: string | null
  readonly firmwares: readonly Firmware[]
  readonly isAutoUpdated: boolean
}

interface MetaSet extends OfDevice {
  readonly kind: 'meta_set'
  /** The whole object after the change. */
  readonly meta: JsonObject
}

interface MetaDeleted extends OfDevice {
  readonly kind: 'meta_deleted'
  readonly key: string
}

interface SchemaSet {
  readonly kind: 'schema_set'
  readonly service: string
  readonly at: number
  readonly isNew: boolean
  readonly schema: ServiceSchema
}

interface SchemaDeleted {
  readonly kind: 'schema_deleted'
  readonly service: string
  readonly at: number
}

/** An alarm was created or changed. */
export interface AlarmSet {
  readonly kind: 'alarm_set'
  readonly alarm: string
  readonly at: number
  /** The whole alarm after the change. */
  readonly stored: StoredAlarm
}

/** An alarm was deleted. Its former devices and groups decide which subscribers receive the event. */
interface AlarmDeleted {
  readonly kind: 'alarm_deleted'
  readonly alarm: string
  readonly at: number
  readonly devices: readonly string[] | null
  readonly groups: readonly string[] | null
}

/** An alarm became active or inactive on a device. */
export interface AlarmChanged extends OfDevice {
  readonly kind: 'alarm_changed'
  readonly alarm: string
  readonly isActive: boolean
  /** The time of the change, Unix ms. It may be earlier than `at`. */
  readonly since: number
  /** The alarm no longer applies to this device, and its state there is deleted. */
  readonly isEnded?: true
  /**
   * The value of the first property that the condition reads without a default. If there is no such property, the value
   * of its first property. It may be cut. Not part of the event.
   */
  readonly value?: JsonValue
}

/** The desired values of a service of a device changed. */
export interface DesiredSet extends OfDevice {
  readonly kind: 'desired_set'
  readonly service: string
  /** All desired values of the service after the change, sorted by propId. */
  readonly items: readonly DesiredItem[]
}

/** A user or program acknowledged an alarm on a device. Contract 12, Alarms. */
export interface AlarmAcknowledged extends OfDevice {
  readonly kind: 'alarm_acknowledged'
  readonly alarm: string
  /** The `since` of the acknowledged state. */
  readonly since: number
  /** The resource name of a user or an API key. */
  readonly by: string
  readonly comment?: string
}

/**
 * An update of a device's firmware changed its state. This entry does not change the device's own state. Contract 6.
 */
export interface UpdateChanged extends OfDevice {
  readonly kind: 'update_changed'
  readonly index: number
  readonly status: UpdateState
  /** The version to install, once it is known. */
  readonly firmware?: string
  /** In percent. */
  readonly progress?: number
  readonly message?: string
}

/** A user subscribed to a function; only that user receives the event. §3.1 */
export interface Subscribed {
  readonly kind: 'subscribed'
  readonly at: number
  /** The owner: the resource name of a user, or of an API key that acts as a user. */
  readonly user: string
  /** The whole subscription after the change. */
  readonly stored: StoredSubscription
}

/** The locale of a subscription was set, perhaps to the same locale as before. */
export interface SubscriptionUpdated extends Omit<Subscribed, 'kind'> {
  readonly kind: 'subscription_updated'
}

export interface Unsubscribed {
  readonly kind: 'unsubscribed'
  readonly at: number
  readonly user: string
  readonly subscription: string
}

export function isPropertyError(state: PropertyState): state is PropertyError {
  return typeof state === 'object' && state !== null && !Array.isArray(state)
}
