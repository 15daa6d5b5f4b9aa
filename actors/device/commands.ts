import type { Firmware, Items } from '#model/entry'
import type { JsonObject } from '#model/json-value'
import type { ResultMessage } from '#model/link-message'
import type { DeviceStatus } from '#model/meta'
import type { PropertyType, PropertyValue } from '#model/property-type'
import type { ServiceSchema } from '#model/service-schema'
import type { Shape } from '#model/shape'
import type { ReminderDue } from '#runtime/system'

/** Commands of a device actor. */
export type DeviceCommand =
  | AddDevice
  | EndAlarms
  | RemoveDevice
  | Hello
  | Report
  | Post
  | ChangeStatus
  | SetSecret
  | SetToken
  | PatchMeta
  | DeleteMetaKey
  | Write
  | Evaluate
  | AcknowledgeAlarm
  | SetDesired
  | SendDesired
  | DesiredResult
  | ReminderDue

/** Sent by the tenant, which assigns the flake address. */
export interface AddDevice {
  readonly type: 'add'
  readonly flakeAddress: number
  readonly meta: JsonObject
  /** SHA-256 of the initial secret, if there is one. */
  readonly secretHash?: Uint8Array
  /** Id of the provisioning key that registered the device. */
  readonly registrar?: string
}

/** Replaces the secret of the device. `hash`: the SHA-256 of the new secret. Contract 3.11. */
export interface SetSecret {
  readonly type: 'set_secret'
  readonly hash: Uint8Array
}

/** Contract 10. Hashes are the SHA-256 of tokens, in base64url. `before`: the stored hash of the previous token. */
export interface SetToken {
  readonly type: 'set_token'
  readonly hash: string
  readonly before?: string
}

/**
 * Ends some alarms of a device before its removal, if the device has too many alarms to end them in one turn. The
 * answer is true if more alarms may be active. If the device is not removed afterwards, a reminder evaluates the alarms
 * again.
 */
interface EndAlarms {
  readonly type: 'end_alarms'
}

/**
 * `registrar` and `token` as stored in the device's records. Afterwards the provisioning key may register another
 * device, and the token may belong to another device.
 */
export interface RemoveDevice {
  readonly type: 'remove'
  readonly registrar?: string
  readonly token?: string
}

/** The answer to `RemoveDevice`. It contains the flake address, because a new device may have the same name by now. */
export interface DeviceRemoved {
  readonly flakeAddress: number
}

/** A declared service with the values that were sent with the declaration: index, state, … */
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
  /** False if the device repeats a HELLO on the same connection. */
  readonly isConnect: boolean
}

/** The answer to a HELLO. */
export interface Welcome {
  readonly flakeAddress: number
  /** The last stored number of this session, or 0. */
  readonly seq: number
}

/**
 * Contract 7, UPDATE, validated against the declaration that the link has cached. Answered with the seq to acknowledge.
 */
export interface Report {
  readonly type: 'report'
  readonly shape: Shape
  readonly session: string
  /** 0: the next number; the report is never a repetition. */
  readonly seq: number
  readonly items: Items
  readonly timestamp: number | undefined
}

/** Contract 7, POST /link: several reports and optionally a declaration in one turn, all or nothing. */
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
  /** The error that the device reports instead of a value. */
  readonly error?: string
  readonly timestamp: number | undefined
}

/** Contract 3.10. */
export interface ChangeStatus {
  readonly type: 'status'
  readonly status: DeviceStatus
}

/** A validated merge patch, RFC 7396. Answered with the device's metadata. */
export interface PatchMeta {
  readonly type: 'patch_meta'
  readonly patch: JsonObject
}

export interface DeleteMetaKey {
  readonly type: 'delete_meta_key'
  readonly key: string
}

/**
 * Contract 3.5: checks a write to properties. Changes nothing and causes no event; the answer is a `WriteOrder` for the
 * device's link. `values` by key as received, `schema` is the current schema of the service.
 */
export interface Write {
  readonly type: 'write'
  readonly service: string
  readonly values: Readonly<Record<string, unknown>>
  readonly schema: ServiceSchema | undefined
}

/** A validated write. `updates` lists each property once, in the order of the keys. */
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

/** Answered with the alarm's state on the device. Contract 12, Alarms. */
export interface AcknowledgeAlarm {
  readonly type: 'acknowledge_alarm'
  readonly alarm: string
  /** The resource name of a user or an API key. */
  readonly by: string
  readonly comment: string | undefined
}

/**
 * Contract 12. `values` by key as received. `isWhole`: `values` replaces all desired values of the service; otherwise
 * the value null removes the desired value of its property. `id` names the request.
 */
export interface SetDesired {
  readonly type: 'set_desired'
  readonly service: string
  readonly values: Readonly<Record<string, unknown>>
  readonly isWhole: boolean
  readonly schema: ServiceSchema | undefined
  readonly id: string
}

/** Sent for a connected device. */
export interface SendDesired {
  readonly type: 'send_desired'
  /** The ids of the requests that the device's connection has received. */
  readonly sent: ReadonlySet<string>
  /** The schemas of the services with desired values. */
  readonly schemas: ReadonlyMap<string, ServiceSchema | undefined>
}

export interface DesiredResult {
  readonly type: 'desired_result'
  readonly id: string
  readonly results: ResultMessage['results']
}

/** Sent when the device's alarms have changed, so that a device without reports is evaluated too. */
interface Evaluate {
  readonly type: 'evaluate'
}
