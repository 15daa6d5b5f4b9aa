import type { IdentityNotices, RuleNotices, TopicNotices } from '#actors/notice-bus'
import { recordActor } from '#actors/record-actor'
import { decideDeleteAlarm, decidePutAlarm, decideSweepDone, decideSweepProgress } from '#actors/tenant/alarms'
import { putAlarm, putFunction, putGroup } from '#actors/tenant/bindings'
import type { TenantCommand } from '#actors/tenant/commands'
import { decideAdmitDevice, decideDeviceGone, decideDeviceSized } from '#actors/tenant/devices'
import {
  decideDeleteFunction,
  decideDisableWebhook,
  decidePutFunction,
  decideTopicSwept,
} from '#actors/tenant/functions'
import { decideDeleteGroup, decidePutGroup } from '#actors/tenant/groups'
import { decideAddJsonNames, decidePublishJsonNames } from '#actors/tenant/json-names'
import { decideAddApiKey, decideAddProvisioningKey, decideDeleteKey, decideKeysDue } from '#actors/tenant/keys'
import { decideDeleteRole, decidePutRole, decideRoleSettled } from '#actors/tenant/roles'
import { charactersOf, decideDeleteSchema, decidePutSchema } from '#actors/tenant/schemas'
import {
  alarmPrefix,
  apiKeyPrefix,
  countersRecord,
  evaluatedPrefix,
  functionPrefix,
  groupPrefix,
  jsonNamePrefix,
  jsonPublishedPrefix,
  memoryPrefix,
  provisioningKeyPrefix,
  putIn,
  putJsonName,
  putJsonPublished,
  putMemory,
  rolePrefix,
  type StoredRole,
  schemaPrefix,
  type TenantCounters,
  type TenantState,
  templatePrefix,
} from '#actors/tenant/state'
import { decideDeleteTemplate, decidePutTemplate, putTemplate } from '#actors/tenant/templates'
import type { StoredAlarm } from '#model/alarm'
import type { Entry } from '#model/entry'
import type { StoredFunction } from '#model/function'
import type { StoredGroup } from '#model/group'
import type { ServiceSchema } from '#model/service-schema'
import type { StoredTemplate } from '#model/template'
import { type ActorDefinition, type RecordChange, record } from '#runtime/actor'

/**
 * One tenant: its schemas, roles, keys, groups, alarms, functions and templates, one record each, and its counters.
 * Kept awake, because every device turn and every request may need it. Only changes of schemas and alarms cause events.
 */
export function tenantActor(
  notices: IdentityNotices & RuleNotices & TopicNotices,
): ActorDefinition<TenantState, TenantCommand, Entry> {
  return recordActor({
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
    apply(state, entry) {
      switch (entry.kind) {
        case 'schema_set':
          putSchema(state, entry.service, entry.schema)
          break
        case 'schema_deleted':
          putSchema(state, entry.service, null)
          break
        case 'alarm_set':
          putAlarm(state, entry.alarm, entry.stored)
          break
        case 'alarm_deleted':
          putAlarm(state, entry.alarm, null)
          break
        default:
          throw new Error(`a tenant is not changed by ${entry.kind}`)
      }
    },
    decisions: {
      admit_device: decideAdmitDevice,
      device_gone: decideDeviceGone,
      device_sized: (_, command) => decideDeviceSized(command),
      add_json_names: decideAddJsonNames,
      publish_json_names: decidePublishJsonNames,
      put_schema: decidePutSchema,
      delete_schema: decideDeleteSchema,
      put_role: decidePutRole,
      delete_role: decideDeleteRole,
      role_settled: decideRoleSettled,
      add_api_key: decideAddApiKey,
      add_provisioning_key: decideAddProvisioningKey,
      delete_key: decideDeleteKey,
      put_group: decidePutGroup,
      delete_group: decideDeleteGroup,
      put_alarm: decidePutAlarm,
      delete_alarm: decideDeleteAlarm,
      put_function: decidePutFunction,
      delete_function: (state, command) => decideDeleteFunction(state, command, notices),
      disable_webhook: decideDisableWebhook,
      topic_swept: (_, command) => decideTopicSwept(command),
      put_template: decidePutTemplate,
      delete_template: decideDeleteTemplate,
      change_log: (_, { index, entries, isPresent }) =>
        record([], { indexes: entries.map((entry) => ({ index, entry, isPresent })) }),
      sweep_progress: decideSweepProgress,
      sweep_done: decideSweepDone,
      reminder_due: (state, _, turn) => decideKeysDue(state, turn),
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

/** Views of roles, keys and rules are made from the stored records alone, so that every node has the same views. */
function notify(notices: IdentityNotices & RuleNotices, tenant: string, { name, value }: RecordChange): void {
  const prefix = name.slice(0, name.indexOf('/') + 1)
  const id = name.slice(prefix.length)
  switch (prefix) {
    case rolePrefix:
      notices.roleChanged(tenant, id, (value ?? undefined) as StoredRole | undefined)
      break
    case apiKeyPrefix:
      if (value === null) notices.keyEnded(tenant, id, 'api_key')
      break
    case provisioningKeyPrefix:
      if (value === null) notices.keyEnded(tenant, id, 'provisioning_key')
      break
    case schemaPrefix:
      notices.schemaChanged(tenant, id, (value ?? undefined) as ServiceSchema | undefined)
      break
    case groupPrefix:
      notices.groupChanged(tenant, id, (value ?? undefined) as StoredGroup | undefined)
      break
    case alarmPrefix:
      notices.alarmChanged(tenant, id, (value ?? undefined) as StoredAlarm | undefined)
      break
    case functionPrefix:
      notices.functionChanged(tenant, id, (value ?? undefined) as StoredFunction | undefined)
      break
    case templatePrefix:
      notices.templateChanged(tenant, id, (value ?? undefined) as StoredTemplate | undefined)
      break
  }
}

function put(state: TenantState, { name, value }: RecordChange): void {
  if (name === countersRecord) {
    state.counters = value as TenantCounters
    return
  }
  const prefix = name.slice(0, name.indexOf('/') + 1)
  const id = name.slice(prefix.length)
  switch (prefix) {
    case memoryPrefix:
      putMemory(state, id, value as number | null)
      break
    case schemaPrefix:
      putSchema(state, id, value as ServiceSchema | null)
      break
    case jsonNamePrefix:
      putJsonName(state, id, value as string)
      break
    case jsonPublishedPrefix:
      putJsonPublished(state, id, value as number)
      break
    case rolePrefix:
      putIn(state.roles, id, value)
      break
    case apiKeyPrefix:
      putIn(state.apiKeys, id, value)
      break
    case provisioningKeyPrefix:
      putIn(state.provisioningKeys, id, value)
      break
    case groupPrefix:
      putGroup(state, id, value as StoredGroup | null)
      break
    case alarmPrefix:
      putAlarm(state, id, value as StoredAlarm | null)
      break
    case evaluatedPrefix:
      putIn(state.evaluated, id, value)
      break
    case functionPrefix:
      putFunction(state, id, value as StoredFunction | null)
      break
    case templatePrefix:
      putTemplate(state, id, value as StoredTemplate | null)
      break
    default:
      throw new Error(`a tenant has no record ${name}`)
  }
}

function putSchema(state: TenantState, service: string, schema: ServiceSchema | null): void {
  const before = state.schemas.get(service)
  if (before) state.schemaCharacters -= charactersOf(before)
  putIn(state.schemas, service, schema)
  if (schema) state.schemaCharacters += charactersOf(schema)
}
