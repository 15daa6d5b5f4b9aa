import { putIn } from '#actors/record-actor'
import type { StoredAlarm } from '#model/alarm'
import type { Principal } from '#model/caller'
import type { StoredFunction } from '#model/function'
import type { StoredGroup } from '#model/group'
import { formatPropertyIdHex } from '#model/identifier'
import type { Grant } from '#model/scope'
import type { ServiceSchema } from '#model/service-schema'
import type { StoredTemplate } from '#model/template'

/** The shared data of a tenant: schemas, flake addresses, roles, keys, groups, alarms, functions and templates. */
export interface TenantState {
  readonly tenant: string
  /** By serviceIdentifier. */
  readonly schemas: Map<string, ServiceSchema>
  /** The length of all schemas as JSON text. */
  schemaCharacters: number
  /** By serviceIdentifier. */
  readonly jsonNames: Map<string, JsonNames>
  counters: TenantCounters
  readonly memory: TenantMemory
  /** By name; without the built-in roles. */
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
  /** The length of all templates as JSON text. */
  templateCharacters: number
  readonly bindings: BindingCounts
  /** By alarm, also for a while after its deletion. */
  readonly evaluated: Map<string, StoredEvaluated>
}

/**
 * Progress of evaluating devices by an alarm. The digest covers all inputs of an evaluation: if it differs from the
 * current digest, devices still have to be evaluated.
 */
export interface StoredEvaluated {
  /** The digest by which all devices were last evaluated; '' before the end of the first sweep. */
  readonly digest: string
  /** The digest of the running sweep; '' if the alarm was deleted; null: no sweep is running. */
  readonly sweeping: string | null
  /** The last device that the running sweep has evaluated; '' at its start. */
  readonly cursor: string
}

/** Names in the JSON of devices. Contract 10. */
export interface JsonNames {
  /** The id of each name, in the order of the ids. */
  readonly ids: Map<string, number>
  /** How many of the names, counted from the first, were added to the schema or did not fit into it. */
  published: number
}

export interface TenantCounters {
  /** The last assigned flake address; addresses are never reused. */
  readonly lastFlakeAddress: number
  readonly devices: number
}

/** Memory of the larger devices of a tenant when they are awake (`actors/device/memory.ts`). */
export interface TenantMemory {
  /** Bytes of all these devices together. */
  bytes: number
  readonly byDevice: Map<string, number>
}

export interface StoredRole {
  readonly grants: readonly Grant[]
  /**
   * The offset in the tenant's stream from which the role's current meaning is effective; -1: always. Null: the role
   * has changed, and the offset is only known after the commit. After a restart, null means the last offset of the
   * stream.
   */
  readonly since: number | null
  /** The edit to which `since` belongs. */
  readonly edit: number
  /** Resource name. Absent in roles stored by older versions. */
  readonly createdBy?: string
}

export type KeyKind = 'api_key' | 'provisioning_key'

/** A key whose text is its only credential. Times are Unix ms. */
export interface StoredKey {
  readonly name: string
  /** SHA-256 of the key's text. */
  readonly hash: Uint8Array
  readonly createdAt: number
  /** Null: the key never expires. */
  readonly expiresAt: number | null
}

/** An API key, which acts as a user with these roles. */
export interface StoredApiKey extends StoredKey {
  readonly roles: readonly string[]
  /**
   * The key is suspended while its creator is not allowed to give its roles. Absent in keys stored by older versions.
   */
  readonly createdBy?: Principal
}

/** A provisioning key, with which devices register. */
export interface StoredProvisioningKey extends StoredKey {
  /** The limit for `devices`; null: no limit. */
  readonly maxDevices: number | null
  /** Registered devices that still exist. */
  readonly devices: number
}

// Record names: `counters`, and for every other record a prefix and its name or id.
export const countersRecord = 'counters'
export const memoryPrefix = 'memory/'
export const schemaPrefix = 'schema/'
export const jsonNamePrefix = 'json_name/'
export const jsonPublishedPrefix = 'json_published/'
export const rolePrefix = 'role/'
export const apiKeyPrefix = 'api_key/'
export const provisioningKeyPrefix = 'provisioning_key/'
export const groupPrefix = 'group/'
export const alarmPrefix = 'alarm/'
export const evaluatedPrefix = 'judged/'
export const functionPrefix = 'function/'
export const templatePrefix = 'template/'

export function jsonNameRecord(service: string, propId: number): string {
  return `${jsonNamePrefix}${service}/${formatPropertyIdHex(propId)}`
}

/** `id`: the part of the record's name after its prefix. */
export function putJsonName(state: TenantState, id: string, name: string): void {
  const slash = id.lastIndexOf('/')
  jsonNamesOf(state, id.slice(0, slash)).ids.set(name, Number(id.slice(slash + 1)))
}

export function putJsonPublished(state: TenantState, service: string, count: number): void {
  jsonNamesOf(state, service).published = count
}

function jsonNamesOf({ jsonNames }: TenantState, service: string): JsonNames {
  let names = jsonNames.get(service)
  if (!names) {
    names = { ids: new Map(), published: 0 }
    jsonNames.set(service, names)
  }
  return names
}

export function keyRecord(kind: KeyKind, id: string): string {
  return `${kind}/${id}`
}

export function putMemory({ memory }: TenantState, device: string, bytes: number | null): void {
  memory.bytes += (bytes ?? 0) - (memory.byDevice.get(device) ?? 0)
  putIn(memory.byDevice, device, bytes)
}

export function keysOf(state: TenantState, kind: KeyKind): ReadonlyMap<string, StoredApiKey | StoredProvisioningKey> {
  return kind === 'api_key' ? state.apiKeys : state.provisioningKeys
}

/** Whether the key has expired; true from the moment of expiry on. */
export function isExpired({ expiresAt }: StoredKey, now: number): boolean {
  return expiresAt !== null && now >= expiresAt
}

/** The tenant that always exists. Contract 2. */
export const defaultTenant = 'default'

/** Deleted functions that may still have subscriptions: entries `<functionId>`. */
export const endingIndex = 'ending'

/**
 * Counts the devices that alarms and functions name. Computed from the alarms, functions and groups, independent of the
 * order of their records.
 */
interface BindingCounts {
  /** Number of devices; a group counts with all members. */
  total: number
  /** Number of alarms and functions that name each group; a group that none names has no row. */
  readonly uses: Map<string, number>
}

/**
 * Logs of a tenant: entries of an index, newest first. An entry is `<time><number>/<text>`. The time and the number are
 * subtracted from the maximum, so that later entries sort first. The index has no values, so the text is in the entry.
 */

/** Contract 12. Entries older than `logDays`, and entries beyond `logEntriesMax`, are removed regularly. */
export const logDays = 90
export const logEntriesMax = 1_000_000

/** `at`: Unix ms. `number`: higher for later entries of the same time. */
export function logEntry(at: number, number: number, text: string): string {
  return `${backwards(at)}${backwards(number)}/${text}`
}

/** The time of an entry, Unix ms. */
export function timeOfEntry(entry: string): number {
  return Number.MAX_SAFE_INTEGER - Number.parseInt(entry.slice(0, digits), 16)
}

export function textOfEntry(entry: string): string {
  return entry.slice(2 * digits + 1)
}

/** A place in the index after all entries of this time and of later times, and before all older entries. */
export function placeOfTime(at: number): string {
  return `${backwards(at)}g`
}

/** The beginning of an entry, which no other entry has. */
export function placeOfEntry(entry: string): string {
  return entry.slice(0, 2 * digits)
}

/** A place after the entry with this beginning, and before all entries that follow it. */
export function placeAfter(place: string): string {
  return `${place}0`
}

const digits = 14

function backwards(number: number): string {
  return (Number.MAX_SAFE_INTEGER - number).toString(16).padStart(digits, '0')
}

/** The log of changes that users and API keys made or tried. Rows are stored as JSON text. Contract 12, Audit. */
export const auditIndex = 'audit'

/** A row of the log, as the API returns it. */
export interface AuditRow {
  /** Unix ms. */
  readonly at: number
  /** CRN of the user or key. */
  readonly user: string
  readonly name: string
  readonly address: string
  readonly method: string
  /** The path of the request, without its query. */
  readonly path: string
  readonly resourceIdentifier?: string
  readonly status: number
}
