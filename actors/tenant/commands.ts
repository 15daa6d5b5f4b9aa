import type { KeyKind } from '#actors/tenant/state'
import type { AlarmBody } from '#model/alarm'
import type { Principal } from '#model/caller'
import type { FunctionBody } from '#model/function'
import type { StoredGroup } from '#model/group'
import type { JsonObject } from '#model/json-value'
import type { Grant } from '#model/scope'
import type { ServiceSchema } from '#model/service-schema'
import type { TemplateBody } from '#model/template'
import type { ReminderDue } from '#runtime/system'

/** What a tenant actor can be asked or told. */
export type TenantCommand =
  | AdmitDevice
  | DeviceGone
  | DeviceSized
  | PutSchema
  | DeleteSchema
  | PutRole
  | DeleteRole
  | RoleSettled
  | AddApiKey
  | AddProvisioningKey
  | DeleteKey
  | PutGroup
  | DeleteGroup
  | PutAlarm
  | DeleteAlarm
  | PutFunction
  | DeleteFunction
  | TopicSwept
  | PutTemplate
  | DeleteTemplate
  | SweepProgress
  | SweepDone
  | ReminderDue

export interface AdmitDevice {
  readonly type: 'admit_device'
  readonly device: string
  readonly meta: JsonObject
  /** The provisioning key that lets it in: it is counted there, and may let in no more than it may. */
  readonly key?: string
  /** SHA-256 of the secret that the device has from now on. */
  readonly secretHash?: Uint8Array
}

/** Told by a device that was removed. `key`: the provisioning key that had let it in. */
export interface DeviceGone {
  readonly type: 'device_gone'
  readonly key?: string
}

/** Sent by a device whose memory no longer matches the tenant's count. `bytes`: 0 for a small one. */
export interface DeviceSized {
  readonly type: 'device_sized'
  readonly device: string
  readonly bytes: number
}

export interface PutSchema {
  readonly type: 'put_schema'
  readonly service: string
  readonly schema: ServiceSchema
}

export interface DeleteSchema {
  readonly type: 'delete_schema'
  readonly service: string
}

/** Answered with whether it is new. Contract 2. */
export interface PutRole {
  readonly type: 'put_role'
  readonly role: string
  readonly grants: readonly Grant[]
  readonly author?: string
  readonly isNarrow?: boolean
}

/** The asker has looked that no user holds it. */
export interface DeleteRole {
  readonly type: 'delete_role'
  readonly role: string
}

/** From which offset on an edit of a role holds, now that it has left the gate. */
export interface RoleSettled {
  readonly type: 'role_settled'
  readonly role: string
  readonly edit: number
  readonly since: number
}

/** `id`: made by the server. The asker has looked that there are such roles. */
export interface AddApiKey {
  readonly type: 'add_api_key'
  readonly id: string
  readonly name: string
  readonly hash: Uint8Array
  readonly roles: readonly string[]
  /** Unix ms; null: never. */
  readonly expiresAt: number | null
  readonly createdBy?: Principal
  readonly isNarrow?: boolean
}

export interface AddProvisioningKey {
  readonly type: 'add_provisioning_key'
  readonly id: string
  readonly name: string
  readonly hash: Uint8Array
  readonly expiresAt: number | null
  readonly maxDevices: number | null
}

export interface DeleteKey {
  readonly type: 'delete_key'
  readonly kind: KeyKind
  readonly id: string
}

/**
 * Answered with the group as it is stored. `isNew`: the id was made for it; otherwise there is one. The asker has looked
 * that the author may reach who is and was in it.
 */
export interface PutGroup {
  readonly type: 'put_group'
  readonly id: string
  readonly isNew: boolean
  readonly body: Pick<StoredGroup, 'name' | 'devices'>
  /** `crn#user:…`, or the name of the API key that acts as one. */
  readonly author: string
  readonly isNarrow?: boolean
}

export interface DeleteGroup {
  readonly type: 'delete_group'
  readonly id: string
}

/** The same of an alarm; it counts by what its author may read. */
export interface PutAlarm {
  readonly type: 'put_alarm'
  readonly id: string
  readonly isNew: boolean
  readonly body: AlarmBody
  readonly author: string
  readonly isNarrow?: boolean
}

export interface DeleteAlarm {
  readonly type: 'delete_alarm'
  readonly id: string
}

/** Devices up to `cursor` were judged by what `digest` stands for; '' for an alarm that is no more. */
export interface SweepProgress {
  readonly type: 'sweep_progress'
  readonly alarm: string
  readonly digest: string
  readonly cursor: string
}

/** All were. Of an alarm that is no more ('') nothing is left on any. */
export interface SweepDone {
  readonly type: 'sweep_done'
  readonly alarm: string
  readonly digest: string
}

/** The same of a function, whose runs see what its author may read. Of an edit, `body` is whole too. */
export interface PutFunction {
  readonly type: 'put_function'
  readonly id: string
  readonly isNew: boolean
  readonly body: FunctionBody
  readonly author: string
  readonly isNarrow?: boolean
}

/** Its subscriptions end behind it. */
export interface DeleteFunction {
  readonly type: 'delete_function'
  readonly id: string
}

/** Answered with the template as it is stored. */
export interface PutTemplate {
  readonly type: 'put_template'
  readonly name: string
  readonly body: TemplateBody
  readonly author: string
}

export interface DeleteTemplate {
  readonly type: 'delete_template'
  readonly name: string
}

/** Nobody is subscribed any more to a function that is no more. */
export interface TopicSwept {
  readonly type: 'topic_swept'
  readonly function: string
}
