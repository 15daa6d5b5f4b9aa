import { deviceAddress } from '#actors/device/device'
import type { TenantCommand } from '#actors/tenant/commands'
import { charactersOf, decideDeleteSchema, decidePutSchema } from '#actors/tenant/schemas'
import { countersRecord, serviceOfRecord, type TenantCounters, type TenantState } from '#actors/tenant/state'
import type { Entry } from '#model/entry'
import { uint32Max } from '#model/identifier'
import { Problem } from '#model/problem'
import type { ServiceSchema } from '#model/service-schema'
import { type ActorDefinition, type Decision, type RecordFormat, record, refuse, type Tell } from '#runtime/actor'

const countersFormat: RecordFormat = { name: 'counters of a tenant', version: 1, upgrades: {} }
const schemaFormat: RecordFormat = { name: 'schema', version: 1, upgrades: {} }

/** Its schemas are records of their own, beside the counters; it is kept awake, because every device's turn may need it. */
export const tenantActor: ActorDefinition<TenantState, TenantCommand, Entry> = {
  kind: 'tenant',
  rest: 'written_through',
  formats: { [countersRecord]: countersFormat, '*': schemaFormat },
  isForgettable: () => false,
  wake(address, records) {
    const schemas = new Map<string, ServiceSchema>()
    for (const [name, value] of records) {
      const service = serviceOfRecord(name)
      if (service !== undefined) schemas.set(service, value as ServiceSchema)
    }
    const counters = (records.get(countersRecord) ?? { lastFlakeAddress: 0, devices: 0 }) as TenantCounters
    const schemaCharacters = [...schemas.values()].reduce((sum, schema) => sum + charactersOf(schema), 0)
    return { tenant: address.tenant, schemas, schemaCharacters, counters }
  },
  apply(state, entry) {
    if (entry.kind !== 'schema_set' && entry.kind !== 'schema_deleted') {
      throw new Error(`a tenant is not changed by ${entry.kind}`)
    }
    const before = state.schemas.get(entry.service)
    if (before) state.schemaCharacters -= charactersOf(before)
    state.schemas.delete(entry.service)
    if (entry.kind === 'schema_deleted') return
    state.schemas.set(entry.service, entry.schema)
    state.schemaCharacters += charactersOf(entry.schema)
  },
  change(state, change) {
    state.counters = change as TenantCounters
  },
  decide(state, command, turn) {
    switch (command.type) {
      case 'admit_device':
        return decideAdmit(state, command)
      case 'device_gone':
        return counted({ ...state.counters, devices: Math.max(0, state.counters.devices - 1) })
      case 'put_schema':
        return decidePutSchema(state, command, turn)
      case 'delete_schema':
        return decideDeleteSchema(state, command, turn)
    }
  },
}

/** Gives a new device its address and tells it. The asker has looked that there is none of this name. */
function decideAdmit(
  { tenant, counters }: TenantState,
  { device, meta }: Extract<TenantCommand, { type: 'admit_device' }>,
): Decision<Entry> {
  const flakeAddress = counters.lastFlakeAddress + 1
  if (flakeAddress > uint32Max) return refuse(new Problem('conflict', 'no device address is left'))
  return counted({ lastFlakeAddress: flakeAddress, devices: counters.devices + 1 }, [
    { to: deviceAddress(tenant, device), command: { type: 'add', flakeAddress, meta } },
  ])
}

function counted(counters: TenantCounters, tells: readonly Tell[] = []): Decision<Entry> {
  return record([], { changes: [counters], records: [{ name: countersRecord, value: counters }], tells })
}
