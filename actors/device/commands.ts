import type { Firmware, Items } from '#model/entry'
import type { JsonObject } from '#model/json-value'
import type { ResultMessage } from '#model/link-message'
import type { DeviceStatus } from '#model/meta'
import type { PropertyType, PropertyValue } from '#model/property-type'
import type { ServiceSchema } from '#model/service-schema'
import type { Shape } from '#model/shape'
import type { CommandOf, NoFields } from '#runtime/actor'
import type { Reminded } from '#runtime/system'

/** Commands of a device actor. */
export interface DeviceCommands extends Reminded {
  /** Sent by the tenant, which assigns the flake address. */
  add: {
    readonly flakeAddress: number
    readonly meta: JsonObject
    /** SHA-256 of the initial secret, if there is one. */
    readonly secretHash?: Uint8Array
    /** Id of the provisioning key that registered the device. */
    readonly registrar?: string
  }
  /**
   * Ends some alarms of a device before its removal, if the device has too many alarms to end them in one turn. The
   * answer is true if more alarms may be active. If the device is not removed afterwards, a reminder evaluates the alarms
   * again.
   */
  end_alarms: NoFields
  /**
   * `registrar` and `token` as stored in the device's records. Afterwards the provisioning key may register another
   * device, and the token may belong to another device.
   */
  remove: {
    readonly registrar?: string
    readonly token?: string
  }
  /** Contract 7, HELLO. Answered with `Welcome`. */
  hello: {
    readonly session: string
    readonly services: readonly DeclaredService[]
    readonly project: string | undefined
    readonly firmwares: readonly Firmware[] | undefined
    readonly isAutoUpdated: boolean
    /** False if the device repeats a HELLO on the same connection. */
    readonly isConnect: boolean
  }
  /**
   * Contract 7, UPDATE, validated against the declaration that the link has cached. Answered with the seq to acknowledge.
   */
  report: {
    readonly shape: Shape
    readonly session: string
    /** 0: the next number; the report is never a repetition. */
    readonly seq: number
    readonly items: Items
    readonly timestamp: number | undefined
  }
  /** Contract 7, POST /link: several reports and optionally a declaration in one turn, all or nothing. */
  post: {
    readonly session: string | undefined
    readonly seq: number | undefined
    readonly services: readonly DeclaredService[] | undefined
    readonly updates: readonly PostedUpdate[]
  }
  /** Contract 3.10. */
  status: { readonly status: DeviceStatus }
  /** Replaces the secret of the device. `hash`: the SHA-256 of the new secret. Contract 3.11. */
  set_secret: { readonly hash: Uint8Array }
  /** Contract 10. Hashes are the SHA-256 of tokens, in base64url. `before`: the stored hash of the previous token. */
  set_token: {
    readonly hash: string
    readonly before?: string
  }
  /** A validated merge patch, RFC 7396. Answered with the device's metadata. */
  patch_meta: { readonly patch: JsonObject }
  delete_meta_key: { readonly key: string }
  /**
   * Contract 3.5: checks a write to properties. Changes nothing and causes no event; the answer is a `WriteOrder` for the
   * device's link. `values` by key as received, `schema` is the current schema of the service.
   */
  write: {
    readonly service: string
    readonly values: Readonly<Record<string, unknown>>
    readonly schema: ServiceSchema | undefined
  }
  /** Sent when the device's alarms have changed, so that a device without reports is evaluated too. */
  evaluate: NoFields
  /** Answered with the alarm's state on the device. Contract 12, Alarms. */
  acknowledge_alarm: {
    readonly alarm: string
    /** The resource name of a user or an API key. */
    readonly by: string
    readonly comment: string | undefined
  }
  /**
   * Contract 12. `values` by key as received. `isWhole`: `values` replaces all desired values of the service; otherwise
   * the value null removes the desired value of its property. `id` names the request.
   */
  set_desired: {
    readonly service: string
    readonly values: Readonly<Record<string, unknown>>
    readonly isWhole: boolean
    readonly schema: ServiceSchema | undefined
    readonly id: string
  }
  /** Sent for a connected device. */
  send_desired: {
    /** The ids of the requests that the device's connection has received. */
    readonly sent: ReadonlySet<string>
    /** The schemas of the services with desired values. */
    readonly schemas: ReadonlyMap<string, ServiceSchema | undefined>
  }
  desired_result: {
    readonly id: string
    readonly results: ResultMessage['results']
  }
}

export type DeviceCommand = CommandOf<DeviceCommands>
export type Hello = CommandOf<DeviceCommands, 'hello'>
export type Report = CommandOf<DeviceCommands, 'report'>
export type Post = CommandOf<DeviceCommands, 'post'>

/** The answer to `remove`. It contains the flake address, because a new device may have the same name by now. */
export interface DeviceRemoved {
  readonly flakeAddress: number
}

/** A declared service with the values that were sent with the declaration: index, state, … */
export interface DeclaredService {
  readonly shape: Shape
  readonly items: Items
}

/** The answer to `hello`. */
export interface Welcome {
  readonly flakeAddress: number
  /** The last stored number of this session, or 0. */
  readonly seq: number
}

export interface PostedUpdate {
  readonly serviceIdentifier: string
  readonly propId: number
  readonly value: unknown
  /** The error that the device reports instead of a value. */
  readonly error?: string
  readonly timestamp: number | undefined
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
