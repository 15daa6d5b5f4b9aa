import { wokenBy } from '#actors/kept'
import type { IdentityNotices } from '#actors/notices'
import type { TenantCommand } from '#actors/tenant/commands'
import { decideAdmit, decideGone } from '#actors/tenant/devices'
import { decideAddApiKey, decideAddProvisioningKey, decideDeleteKey, decideKeysDue } from '#actors/tenant/keys'
import { decideDeleteRole, decidePutRole, decideRoleSettled } from '#actors/tenant/roles'
import { charactersOf, decideDeleteSchema, decidePutSchema } from '#actors/tenant/schemas'
import {
  apiKeyPrefix,
  countersRecord,
  provisioningKeyPrefix,
  rolePrefix,
  schemaPrefix,
  type TenantCounters,
  type TenantState,
} from '#actors/tenant/state'
import type { Entry } from '#model/entry'
import type { ServiceSchema } from '#model/service-schema'
import type { ActorDefinition, RecordChange, RecordFormat } from '#runtime/actor'

const format = (name: string): RecordFormat => ({ name, version: 1, upgrades: {} })

/**
 * One tenant: its schemas, roles and keys are records of their own, beside the counters. It is kept awake, because every
 * device's turn and every request may need it. Of schemas people hear; of the rest nobody does.
 */
export function tenantActor(notices: IdentityNotices): ActorDefinition<TenantState, TenantCommand, Entry> {
  return {
    kind: 'tenant',
    rest: 'written_through',
    formats: {
      [countersRecord]: format('counters of a tenant'),
      [`${schemaPrefix}*`]: format('schema'),
      [`${rolePrefix}*`]: format('role'),
      [`${apiKeyPrefix}*`]: format('API key'),
      [`${provisioningKeyPrefix}*`]: format('provisioning key'),
    },
    isForgettable: () => false,
    wake: ({ tenant }, records) => wokenBy(emptyTenant(tenant), records, put),
    change: (state, change) => put(state, change as RecordChange),
    apply(state, entry) {
      if (entry.kind === 'schema_set') putSchema(state, entry.service, entry.schema)
      else if (entry.kind === 'schema_deleted') putSchema(state, entry.service, null)
      else throw new Error(`a tenant is not changed by ${entry.kind}`)
    },
    decide(state, command, turn) {
      switch (command.type) {
        case 'admit_device':
          return decideAdmit(state, command, turn)
        case 'device_gone':
          return decideGone(state, command)
        case 'put_schema':
          return decidePutSchema(state, command, turn)
        case 'delete_schema':
          return decideDeleteSchema(state, command, turn)
        case 'put_role':
          return decidePutRole(state, command, turn, notices)
        case 'delete_role':
          return decideDeleteRole(state, command, notices)
        case 'role_settled':
          return decideRoleSettled(state, command)
        case 'add_api_key':
          return decideAddApiKey(state, command, turn)
        case 'add_provisioning_key':
          return decideAddProvisioningKey(state, command, turn)
        case 'delete_key':
          return decideDeleteKey(state, command, notices)
        case 'reminder_due':
          return decideKeysDue(state, turn, notices)
      }
    },
  }
}

const noCounters: TenantCounters = { lastFlakeAddress: 0, devices: 0 }

function emptyTenant(tenant: string): TenantState {
  return {
    tenant,
    schemas: new Map(),
    schemaCharacters: 0,
    counters: noCounters,
    roles: new Map(),
    apiKeys: new Map(),
    provisioningKeys: new Map(),
  }
}

function put(state: TenantState, { name, value }: RecordChange): void {
  if (name === countersRecord) {
    state.counters = value as TenantCounters
    return
  }
  const prefix = name.slice(0, name.indexOf('/') + 1)
  const id = name.slice(prefix.length)
  if (prefix === schemaPrefix) putSchema(state, id, value as ServiceSchema | null)
  else if (prefix === rolePrefix) putIn(state.roles, id, value)
  else if (prefix === apiKeyPrefix) putIn(state.apiKeys, id, value)
  else putIn(state.provisioningKeys, id, value)
}

function putSchema(state: TenantState, service: string, schema: ServiceSchema | null): void {
  const before = state.schemas.get(service)
  if (before) state.schemaCharacters -= charactersOf(before)
  putIn(state.schemas, service, schema)
  if (schema) state.schemaCharacters += charactersOf(schema)
}

function putIn<Value>(map: Map<string, Value>, id: string, value: unknown): void {
  if (value === null) map.delete(id)
  else map.set(id, value as Value)
}
