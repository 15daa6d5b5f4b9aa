import type { Firmware, Items } from '#model/entry'
import type { JsonObject } from '#model/json-value'
import type { DeviceStatus } from '#model/meta'
import type { PropertyType, PropertyValue } from '#model/property-type'
import type { ServiceSchema } from '#model/service-schema'
import type { Shape } from '#model/shape'
import type { ReminderDue } from '#runtime/system'

/** What a device actor can be asked or told. */
export type DeviceCommand =
  | AddDevice
  | EndAlarms
  | RemoveDevice
  | Hello
  | Report
  | Post
  | ChangeStatus
  | SetSecret
  | PatchMeta
  | DeleteMetaKey
  | Write
  | Judge
  | ReminderDue

/** Told by the tenant, which gives the address. Plain data. */
export interface AddDevice {
  readonly type: 'add'
  readonly flakeAddress: number
  readonly meta: JsonObject
  /** SHA-256 of its secret, if it has one from the beginning. */
  readonly secretHash?: Uint8Array
  /** Id of the provisioning key that let it in. */
  readonly registrar?: string
}

/** The SHA-256 of the device's secret; the one before is void. Contract 3.11. */
export interface SetSecret {
  readonly type: 'set_secret'
  readonly hash: Uint8Array
}

/**
 * Ends some alarms of a device that is about to be removed; the answer is true when more of them may stand. Should the device
 * stay, a reminder has them judged again.
 */
interface EndAlarms {
  readonly type: 'end_alarms'
}

/** `registrar`: as its record says; the key that let the device in may then let in another one. */
export interface RemoveDevice {
  readonly type: 'remove'
  readonly registrar?: string
}

/** Which one was removed: its name may mean another by the time this is heard. */
export interface DeviceRemoved {
  readonly flakeAddress: number
}

/** A service as declared now, with the values that came along: index, state, … */
export interface DeclaredService {
  readonly shape: Shape
  readonly items: Items
}

/** Contract 7, HELLO. Answered with `Welcome`. */
export interface Hello {
  readonly type: 'hello'
  readonly session: string
  readonly services: readonly DeclaredService[]
  readonly project: string | undefined
  readonly firmwares: readonly Firmware[] | undefined
  readonly isAutoUpdated: boolean
  /** False when it was said before on the same link. */
  readonly isConnect: boolean
}

/** What becomes of a HELLO. `seq`: the last one stored of this session, else 0. */
export interface Welcome {
  readonly flakeAddress: number
  readonly seq: number
}

/** Contract 7, UPDATE, checked against the declaration that the link knows. Answered with the seq to acknowledge. */
export interface Report {
  readonly type: 'report'
  readonly shape: Shape
  readonly session: string
  readonly seq: number
  readonly items: Items
  readonly timestamp: number | undefined
}

/** Contract 7, POST /link: several reports and perhaps a declaration in one turn, all or nothing. */
export interface Post {
  readonly type: 'post'
  readonly session: string | undefined
  readonly seq: number | undefined
  readonly services: readonly DeclaredService[] | undefined
  readonly updates: readonly PostedUpdate[]
}

export interface PostedUpdate {
  readonly serviceIdentifier: string
  readonly propId: number
  readonly value: unknown
  readonly timestamp: number | undefined
}

/** Contract 3.10. */
export interface ChangeStatus {
  readonly type: 'status'
  readonly status: DeviceStatus
}

/** RFC 7396, checked. Answered with the device's state. */
export interface PatchMeta {
  readonly type: 'patch_meta'
  readonly patch: JsonObject
}

export interface DeleteMetaKey {
  readonly type: 'delete_meta_key'
  readonly key: string
}

/**
 * Contract 3.5: whether properties may be asked to become what somebody wants. Nothing changes and nothing is told; the
 * answer is a `WriteOrder` for the device's link. `values` by key as they came, `schema` as the service's is now.
 */
export interface Write {
  readonly type: 'write'
  readonly service: string
  readonly values: Readonly<Record<string, unknown>>
  readonly schema: ServiceSchema | undefined
}

/** A write that was checked. `updates`: each property once, in the order of the keys. */
export interface WriteOrder {
  readonly flakeAddress: number
  readonly service: string
  readonly updates: readonly {
    readonly propId: number
    readonly type: PropertyType
    /** The normal form. */
    readonly value: PropertyValue
  }[]
}

/** Told when its alarms are others than before: a device that says nothing is judged by them too. */
interface Judge {
  readonly type: 'judge'
}
