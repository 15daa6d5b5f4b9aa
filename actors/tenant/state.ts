import type { BindingCounts } from '#actors/tenant/bindings'
import type { StoredAlarm } from '#model/alarm'
import type { Principal } from '#model/caller'
import type { StoredFunction } from '#model/function'
import type { StoredGroup } from '#model/group'
import type { Grant } from '#model/scope'
import type { ServiceSchema } from '#model/service-schema'
import type { StoredTemplate } from '#model/template'

/**
 * A tenant: what its devices' services mean, which addresses its devices have, what its roles and keys allow, what is
 * watched for and who is told of it.
 */
export interface TenantState {
  readonly tenant: string
  /** By serviceIdentifier. */
  readonly schemas: Map<string, ServiceSchema>
  /** Of all schemas as JSON text. */
  schemaCharacters: number
  counters: TenantCounters
  readonly memory: TenantMemory
  /** By name; those that every tenant has are not among them. */
  readonly roles: Map<string, StoredRole>
  /** By id. */
  readonly apiKeys: Map<string, StoredApiKey>
  readonly provisioningKeys: Map<string, StoredProvisioningKey>
  /** By id. */
  readonly groups: Map<string, StoredGroup>
  readonly alarms: Map<string, StoredAlarm>
  readonly functions: Map<string, StoredFunction>
  /** By name. */
  readonly templates: Map<string, StoredTemplate>
  /** Of all templates as JSON text. */
  templateCharacters: number
  readonly bindings: BindingCounts
  /** By alarm, also for a while after its end. */
  readonly judged: Map<string, StoredJudged>
}

/**
 * How far devices were judged by an alarm. A digest stands for all that decides a judgement: where it is not the one of
 * now, devices are still to be judged. It is '' before the first sweep, and while one goes on over an alarm that is no more.
 */
export interface StoredJudged {
  /** By which all devices were judged last. */
  readonly digest: string
  /** By which some were; null where none are under way. */
  readonly sweeping: string | null
  /** Up to which. */
  readonly cursor: string
}

export interface TenantCounters {
  /** The last flakeAddress given; they are never given twice. */
  readonly lastFlakeAddress: number
  readonly devices: number
}

/** Memory of the larger devices of a tenant when they are awake (`actors/device/memory.ts`). */
export interface TenantMemory {
  /** Of all of them. */
  bytes: number
  readonly byDevice: Map<string, number>
}

export interface StoredRole {
  readonly grants: readonly Grant[]
  /**
   * The offset in the tenant's stream at which the role last came to mean something else; -1 never. Null: it did, and the
   * offset is not known yet, because it is only given when the edit has left the gate. Who finds null at a start takes the
   * last offset there is.
   */
  readonly since: number | null
  /** The edit that `since` is about. */
  readonly edit: number
  /** Resource name. Absent in roles that were stored before it was kept. */
  readonly createdBy?: string
}

export type KeyKind = 'api_key' | 'provisioning_key'

/** What speaks for itself, once its text is shown. Times are Unix ms. */
export interface StoredKey {
  readonly name: string
  /** SHA-256 of its text. */
  readonly hash: Uint8Array
  readonly createdAt: number
  /** Null: never. */
  readonly expiresAt: number | null
}

/** Acts as a user with these roles. */
export interface StoredApiKey extends StoredKey {
  readonly roles: readonly string[]
  /** The key is suspended while its maker may not give its roles. Absent in keys that were stored before makers were. */
  readonly createdBy?: Principal
}

/** Lets devices in. */
export interface StoredProvisioningKey extends StoredKey {
  /** Null: as many as come. */
  readonly maxDevices: number | null
  /** Those it let in that are still there. */
  readonly devices: number
}

/** Names of records: `counters`, and one for each of the others, after what it is. */
export const countersRecord = 'counters'
export const memoryPrefix = 'memory/'
export const schemaPrefix = 'schema/'
export const rolePrefix = 'role/'
export const apiKeyPrefix = 'api_key/'
export const provisioningKeyPrefix = 'provisioning_key/'
export const groupPrefix = 'group/'
export const alarmPrefix = 'alarm/'
export const judgedPrefix = 'judged/'
export const functionPrefix = 'function/'
export const templatePrefix = 'template/'

export function memoryRecord(device: string): string {
  return `${memoryPrefix}${device}`
}

export function schemaRecord(serviceIdentifier: string): string {
  return `${schemaPrefix}${serviceIdentifier}`
}

export function roleRecord(role: string): string {
  return `${rolePrefix}${role}`
}

export function keyRecord(kind: KeyKind, id: string): string {
  return `${kind}/${id}`
}

export function groupRecord(id: string): string {
  return `${groupPrefix}${id}`
}

export function alarmRecord(id: string): string {
  return `${alarmPrefix}${id}`
}

export function judgedRecord(alarm: string): string {
  return `${judgedPrefix}${alarm}`
}

export function functionRecord(id: string): string {
  return `${functionPrefix}${id}`
}

export function templateRecord(name: string): string {
  return `${templatePrefix}${name}`
}

/** Null: it is no more. */
export function putIn<Value>(map: Map<string, Value>, id: string, value: unknown): void {
  if (value === null) map.delete(id)
  else map.set(id, value as Value)
}

export function putMemory({ memory }: TenantState, device: string, bytes: number | null): void {
  memory.bytes += (bytes ?? 0) - (memory.byDevice.get(device) ?? 0)
  putIn(memory.byDevice, device, bytes)
}

export function keysOf(state: TenantState, kind: KeyKind): ReadonlyMap<string, StoredApiKey | StoredProvisioningKey> {
  return kind === 'api_key' ? state.apiKeys : state.provisioningKeys
}

/** From the moment named on it is no good. */
export function isExpired({ expiresAt }: StoredKey, now: number): boolean {
  return expiresAt !== null && now >= expiresAt
}
