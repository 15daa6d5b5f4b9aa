import type { DeviceCommand } from '#actors/device/commands'
import { deviceAddress } from '#actors/device/device'
import type { IdentityNotices, RuleNotices, TopicNotices } from '#actors/notice-bus'
import { type Decisions, putIn, recordActor, recordsWithoutEntry } from '#actors/record-actor'
import { alarmDecisions } from '#actors/tenant/alarms'
import type { TenantCommand, TenantCommands } from '#actors/tenant/commands'
import { decideDeleteFunction, functionDecisions } from '#actors/tenant/functions'
import { groupDecisions, putBound, putGroup } from '#actors/tenant/groups'
import { keyDecisions } from '#actors/tenant/keys'
import { roleDecisions } from '#actors/tenant/roles'
import { charactersOf, schemaDecisions } from '#actors/tenant/schemas'
import {
  alarmPrefix,
  apiKeyPrefix,
  countersRecord,
  evaluatedPrefix,
  functionPrefix,
  groupPrefix,
  isExpired,
  jsonNamePrefix,
  jsonPublishedPrefix,
  keyRecord,
  memoryPrefix,
  provisioningKeyPrefix,
  putJsonName,
  putJsonPublished,
  putMemory,
  rolePrefix,
  type StoredProvisioningKey,
  schemaPrefix,
  type TenantCounters,
  type TenantState,
  templatePrefix,
} from '#actors/tenant/state'
import { putTemplate, templateDecisions } from '#actors/tenant/templates'
import type { Entry } from '#model/entry'
import { uint32Max } from '#model/identifier'
import { Problem } from '#model/problem'
import type { ServiceSchema } from '#model/service-schema'
import { type ActorDefinition, type RecordChange, record, refuse, tell } from '#runtime/actor'

/**
 * One tenant: its schemas, roles, keys, groups, alarms, functions and templates, one record each, and its counters.
 * Kept awake, because every device turn and every request may need it. Only changes of schemas and alarms cause events.
 */
export function tenantActor(
  notices: IdentityNotices & RuleNotices & TopicNotices,
): ActorDefinition<TenantState, TenantCommand, Entry> {
  return recordActor<TenantState, TenantCommands>({
    kind: 'tenant',
    records: {
      [countersRecord]: 'counters of a tenant',
      [`${memoryPrefix}*`]: 'memory of a device',
      [`${schemaPrefix}*`]: 'schema',
      [`${jsonNamePrefix}*`]: 'name in the JSON of devices',
      [`${jsonPublishedPrefix}*`]: 'names in a generated schema',
      [`${rolePrefix}*`]: 'role',
      [`${apiKeyPrefix}*`]: 'API key',
      [`${provisioningKeyPrefix}*`]: 'provisioning key',
      [`${groupPrefix}*`]: 'group',
      [`${alarmPrefix}*`]: 'alarm',
      [`${evaluatedPrefix}*`]: 'judged alarm',
      [`${functionPrefix}*`]: 'function',
      [`${templatePrefix}*`]: 'template',
    },
    isForgettable: () => false,
    empty: ({ tenant }) => emptyTenant(tenant),
    put,
    recordStored: ({ tenant }, change) => notify(notices, tenant, change),
    decisions: {
      ...deviceDecisions,
      ...schemaDecisions,
      ...roleDecisions,
      ...keyDecisions,
      ...groupDecisions,
      ...alarmDecisions,
      ...functionDecisions,
      delete_function: (state, command) => decideDeleteFunction(state, command, notices),
      ...templateDecisions,
      change_log: (_, { index, entries, isPresent }) =>
        record([], { indexes: entries.map((entry) => ({ index, entry, isPresent })) }),
    },
  })
}

const noCounters: TenantCounters = { lastFlakeAddress: 0, devices: 0 }

function emptyTenant(tenant: string): TenantState {
  return {
    tenant,
    schemas: new Map(),
    schemaCharacters: 0,
    jsonNames: new Map(),
    counters: noCounters,
    memory: { bytes: 0, byDevice: new Map() },
    roles: new Map(),
    apiKeys: new Map(),
    provisioningKeys: new Map(),
    groups: new Map(),
    alarms: new Map(),
    functions: new Map(),
    templates: new Map(),
    templateCharacters: 0,
    bindings: { total: 0, uses: new Map() },
    evaluated: new Map(),
  }
}

/** The notice about a stored record, by the prefix of its name. */
const noticeOf: Readonly<Record<string, keyof RuleNotices | 'roleChanged'>> = {
  [rolePrefix]: 'roleChanged',
  [schemaPrefix]: 'schemaChanged',
  [groupPrefix]: 'groupChanged',
  [alarmPrefix]: 'alarmChanged',
  [functionPrefix]: 'functionChanged',
  [templatePrefix]: 'templateChanged',
}

/** Views of roles, keys and rules are made from the stored records alone, so that every node has the same views. */
function notify(notices: IdentityNotices & RuleNotices, tenant: string, { name, value }: RecordChange): void {
  const { prefix, id } = partsOf(name)
  if (value === null && prefix === apiKeyPrefix) notices.keyEnded(tenant, id, 'api_key')
  if (value === null && prefix === provisioningKeyPrefix) notices.keyEnded(tenant, id, 'provisioning_key')
  const notice = noticeOf[prefix]
  if (notice) notices[notice](tenant, id, (value ?? undefined) as never)
}

/** Applies a record, by the prefix of its name. `value` null: the record was deleted. */
const putOf: Readonly<Record<string, (state: TenantState, id: string, value: never) => void>> = {
  [memoryPrefix]: putMemory,
  [schemaPrefix]: putSchema,
  [jsonNamePrefix]: putJsonName,
  [jsonPublishedPrefix]: putJsonPublished,
  [rolePrefix]: ({ roles }, id, value) => putIn(roles, id, value),
  [apiKeyPrefix]: ({ apiKeys }, id, value) => putIn(apiKeys, id, value),
  [provisioningKeyPrefix]: ({ provisioningKeys }, id, value) => putIn(provisioningKeys, id, value),
  [groupPrefix]: putGroup,
  [alarmPrefix]: (state, id, value) => putBound(state, state.alarms, id, value),
  [evaluatedPrefix]: ({ evaluated }, id, value) => putIn(evaluated, id, value),
  [functionPrefix]: (state, id, value) => putBound(state, state.functions, id, value),
  [templatePrefix]: putTemplate,
}

function put(state: TenantState, { name, value }: RecordChange): void {
  if (name === countersRecord) {
    state.counters = value as TenantCounters
    return
  }
  const { prefix, id } = partsOf(name)
  const putRecord = putOf[prefix]
  if (!putRecord) throw new Error(`a tenant has no record ${name}`)
  putRecord(state, id, value as never)
}

function partsOf(name: string): { prefix: string; id: string } {
  const prefix = name.slice(0, name.indexOf('/') + 1)
  return { prefix, id: name.slice(prefix.length) }
}

function putSchema(state: TenantState, service: string, schema: ServiceSchema | null): void {
  const before = state.schemas.get(service)
  if (before) state.schemaCharacters -= charactersOf(before)
  putIn(state.schemas, service, schema)
  if (schema) state.schemaCharacters += charactersOf(schema)
}

const deviceDecisions = {
  /**
   * Assigns a flake address to a new device and creates its actor. The caller has checked that the name is free. A device
   * with a provisioning key is counted at the key in the same turn, so that concurrent requests cannot exceed its limit.
   */
  admit_device(state, command, { now }) {
    const { tenant, counters } = state
    const { device, meta, key, secretHash } = command
    const flakeAddress = counters.lastFlakeAddress + 1
    if (flakeAddress > uint32Max) return refuse(new Problem('conflict', 'no device address is left'))
    const provisioning = key === undefined ? undefined : state.provisioningKeys.get(key)
    if (key !== undefined && !(provisioning && mayAdmit(provisioning, now))) return refuse(new Problem('forbidden'))
    const add: DeviceCommand = {
      type: 'add',
      flakeAddress,
      meta,
      ...(secretHash && { secretHash }),
      ...(key !== undefined && { registrar: key }),
    }
    const counted = { lastFlakeAddress: flakeAddress, devices: counters.devices + 1 }
    return recordsWithoutEntry([{ name: countersRecord, value: counted }, ...countedBy(key, provisioning, 1)], {
      tells: [tell(deviceAddress(tenant, device), add)],
    })
  },

  device_gone(state, { key }) {
    const { counters } = state
    const counted = { ...counters, devices: Math.max(0, counters.devices - 1) }
    const provisioning = key === undefined ? undefined : state.provisioningKeys.get(key)
    return recordsWithoutEntry([{ name: countersRecord, value: counted }, ...countedBy(key, provisioning, -1)])
  },

  device_sized(_, { device, bytes }) {
    return recordsWithoutEntry([{ name: `${memoryPrefix}${device}`, value: bytes === 0 ? null : bytes }])
  },
} satisfies Partial<Decisions<TenantState, TenantCommands>>

function mayAdmit(key: StoredProvisioningKey, now: number): boolean {
  return !isExpired(key, now) && key.devices < (key.maxDevices ?? Number.POSITIVE_INFINITY)
}

/** A key may be deleted before its devices. */
function countedBy(id: string | undefined, key: StoredProvisioningKey | undefined, more: 1 | -1): RecordChange[] {
  if (id === undefined || !key) return []
  const devices = Math.max(0, key.devices + more)
  return [{ name: keyRecord('provisioning_key', id), value: { ...key, devices } }]
}
