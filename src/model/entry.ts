import type { StoredAlarm } from '#model/alarm'
import type { UpdateState } from '#model/firmware'
import type { JsonObject } from '#model/json-value'
import type { DeviceStatus } from '#model/meta'
import type { PropertyValue } from '#model/property-type'
import type { ServiceSchema } from '#model/service-schema'
import type { Shape } from '#model/shape'
import type { StoredSubscription } from '#model/subscription'

/**
 * What the stream keeps: a fact, past and decided. One entry has one offset and is told to clients as one event. The
 * stored form is in `src/store/entry-codec.ts`, the wire form in `src/events/wire.ts`.
 *
 * `at` is the server's time of the turn, Unix ms. Entries of a device name it by identifier and flakeAddress, so that
 * they can be told long after it is gone.
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
  | UpdateChanged
  | Subscribed
  | SubscriptionUpdated
  | Unsubscribed

export type EntryKind = Entry['kind']

interface DeviceAdded {
  readonly kind: 'device_added'
  readonly device: string
  readonly flakeAddress: number
  readonly at: number
}

interface DeviceRemoved {
  readonly kind: 'device_removed'
  readonly device: string
  readonly flakeAddress: number
  readonly at: number
}

/** A property whose value could not be had. Contract 3.8. */
export interface PropertyError {
  readonly error: string
}

/** What a property stands at: a value, an error, or null: declared and never heard of. */
export type PropertyState = PropertyValue | PropertyError | null

/** Places in the shape's properties and what they stand at, in turn: index, state, index, state … */
export type Items = readonly (number | PropertyState)[]

/** A device said what some properties of a service are. */
export interface Reported {
  readonly kind: 'reported'
  readonly device: string
  readonly flakeAddress: number
  readonly shape: Shape
  readonly at: number
  /** The device's own time if it gave one we believe, else `at`. Contract 4.6. */
  readonly timestamp: number
  /** Place in the numbering of the session; 0 for reports without one. */
  readonly seq: number
  /** Set when this report begins a session. */
  readonly session?: string
  readonly items: Items
  /** Which alarms began or ceased to wait by this report; absent when none did. No event tells it. */
  readonly alarms?: Waits
  /** Which throttles let something through by this report; absent when none did. No event tells it. */
  readonly throttles?: Stamps
}

/** Ids of alarms and since when each has been waiting, Unix ms, in turn; 0: it waits no more. Contract 5.3, `forSeconds`. */
export type Waits = readonly (string | number)[]

/**
 * Throttles of functions as `<functionId>/<nodeId>`, and when each let something of this device through last, Unix ms, in
 * turn. Contract 5.4.
 */
export type Stamps = readonly (string | number)[]

/** A device declared a service anew; `items` holds what differs from before, `removed` what is declared no more. */
export interface Declared {
  readonly kind: 'declared'
  readonly device: string
  readonly flakeAddress: number
  readonly shape: Shape
  readonly at: number
  readonly items: Items
  readonly removed: readonly RemovedProperty[]
}

export interface RemovedProperty {
  readonly propId: number
  /** Lower-case name of its type. */
  readonly type: string
  readonly modifier: number
}

/** A device no longer offers a service. */
export interface Undeclared {
  readonly kind: 'undeclared'
  readonly device: string
  readonly flakeAddress: number
  readonly service: string
  readonly at: number
  readonly removed: readonly RemovedProperty[]
}

export interface StatusChanged {
  readonly kind: 'status_changed'
  readonly device: string
  readonly at: number
  readonly status: DeviceStatus
  /** 0 for never, like `lastConnect`. */
  readonly lastMessage: number
  readonly lastConnect: number
  readonly numConnects: number
}

export interface Firmware {
  readonly firmware: string
  readonly hardware?: string | undefined
  readonly index: number
}

/** A device said what it is. Contract 4, DEVICE_DISCOVERY. */
export interface Discovered {
  readonly kind: 'discovered'
  readonly device: string
  readonly flakeAddress: number
  readonly at: number
  readonly project: string | null
  readonly firmwares: readonly Firmware[]
  readonly isAutoUpdated: boolean
}

interface MetaSet {
  readonly kind: 'meta_set'
  readonly device: string
  readonly at: number
  /** Whole, after. */
  readonly meta: JsonObject
}

interface MetaDeleted {
  readonly kind: 'meta_deleted'
  readonly device: string
  readonly at: number
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

/** An alarm was made or changed. */
export interface AlarmSet {
  readonly kind: 'alarm_set'
  readonly alarm: string
  readonly at: number
  /** Whole, after. */
  readonly stored: StoredAlarm
}

/** An alarm is no more. What it was bound to says who hears of it. */
interface AlarmDeleted {
  readonly kind: 'alarm_deleted'
  readonly alarm: string
  readonly at: number
  readonly devices: readonly string[] | null
  readonly groups: readonly string[] | null
}

/** An alarm came to be active, or inactive again, on a device. */
export interface AlarmChanged {
  readonly kind: 'alarm_changed'
  readonly device: string
  readonly alarm: string
  readonly at: number
  readonly isActive: boolean
  /** Unix ms. When it came to be so, which may be before it is told. */
  readonly since: number
  /** It means this device no more, and nothing is left of it there. */
  readonly isEnded?: true
}

/** An update of a device's firmware goes on. It is no entry of the device itself: nothing of it shows there. Contract 6. */
export interface UpdateChanged {
  readonly kind: 'update_changed'
  readonly device: string
  readonly at: number
  readonly index: number
  readonly status: UpdateState
  /** What it is updated to, once that is known. */
  readonly firmware?: string
  /** In percent. */
  readonly progress?: number
  readonly message?: string
}

/** Somebody subscribed to a function: only he hears of it. §3.1 */
export interface Subscribed {
  readonly kind: 'subscribed'
  readonly at: number
  /** Whose it is: `crn#user:…`, or the name of the API key that acts as one. */
  readonly user: string
  /** Whole, after. */
  readonly stored: StoredSubscription
}

/** A subscription has another locale. */
export interface SubscriptionUpdated extends Omit<Subscribed, 'kind'> {
  readonly kind: 'subscription_updated'
}

export interface Unsubscribed {
  readonly kind: 'unsubscribed'
  readonly at: number
  readonly user: string
  /** Its id. */
  readonly subscription: string
}

export function isPropertyError(state: PropertyState): state is PropertyError {
  return typeof state === 'object' && state !== null && !Array.isArray(state)
}
