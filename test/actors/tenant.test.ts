import { describe, expect, test } from 'vitest'
import { noticeBus } from '#actors/notice-bus'
import type { TenantCommand } from '#actors/tenant/commands'
import { schemaCharactersMax, schemasMax } from '#actors/tenant/schemas'
import type { TenantState } from '#actors/tenant/state'
import { tenantActor } from '#actors/tenant/tenant'
import { uint32Max } from '#model/identifier'
import type { ServiceSchema } from '#model/service-schema'
import { ActingActor, now, turnAt } from '#test/actors/acting-actor'

const definition = tenantActor(noticeBus())

function actingTenant(): ActingActor<TenantState, TenantCommand> {
  return new ActingActor(definition, { tenant: 't', id: 't' })
}

const admit = (tenant: ReturnType<typeof actingTenant>, device: string) =>
  tenant.act({ type: 'admit_device', device, meta: {} })

const schema: ServiceSchema = { name: 'Boiler', properties: { '0x2000': { name: 'temperature' } } }

describe('flake addresses', () => {
  test('are assigned and sent to the devices one after the other, and never assigned twice', () => {
    const tenant = actingTenant()
    const given = ['A', 'B', 'C'].map((device) => tenant.act({ type: 'admit_device', device, meta: { place: device } }))
    const to = { kind: 'device', tenant: 't', id: 'A' }
    expect(given).toMatchObject([
      { tells: [{ to, command: { type: 'add', flakeAddress: 1, meta: { place: 'A' } } }] },
      { tells: [{ to: { id: 'B' }, command: { flakeAddress: 2 } }] },
      { tells: [{ to: { id: 'C' }, command: { flakeAddress: 3 } }] },
    ])
    tenant.act({ type: 'device_gone' })
    expect(tenant.state.counters).toEqual({ lastFlakeAddress: 3, devices: 2 })
    expect(admit(tenant, 'C')).toMatchObject({ tells: [{ command: { flakeAddress: 4 } }] })
  })

  test('are refused when all are used', () => {
    const tenant = actingTenant()
    tenant.state.counters = { lastFlakeAddress: uint32Max - 1, devices: 5 }
    expect(admit(tenant, 'A')).toMatchObject({ tells: [{ command: { flakeAddress: uint32Max } }] })
    expect(admit(tenant, 'B')).toMatchObject({ type: 'refuse', problem: { code: 'conflict' } })
  })
})

describe('schemas', () => {
  test('are added and changed, with one notice for each change', () => {
    const tenant = actingTenant()
    const put = (given: ServiceSchema) => tenant.act({ type: 'put_schema', service: 'svc', schema: given })
    const added = { kind: 'schema_set', service: 'svc', isNew: true, schema, at: now }
    expect(put(schema)).toMatchObject({ events: [added] })
    expect(put(structuredClone(schema))).toEqual({ type: 'record', events: [] })
    expect(put({ ...schema, name: 'Other' })).toMatchObject({ events: [{ kind: 'schema_set', isNew: false }] })
    expect(tenant.state.schemas.get('svc')?.name).toBe('Other')
  })

  test('are deleted, and are new when they are added again', () => {
    const tenant = actingTenant()
    tenant.act({ type: 'put_schema', service: 'svc', schema })
    const remove = () => tenant.act({ type: 'delete_schema', service: 'svc' })
    expect(remove()).toMatchObject({ events: [{ kind: 'schema_deleted', service: 'svc', at: now }] })
    expect(remove()).toMatchObject({ problem: { code: 'not_found' } })
    expect(tenant.act({ type: 'put_schema', service: 'svc', schema })).toMatchObject({ events: [{ isNew: true }] })
  })

  test('are refused above the maximum count, but existing ones may change', () => {
    const tenant = actingTenant()
    for (let index = 0; index < schemasMax; index++) tenant.state.schemas.set(`s${index}`, schema)
    const more = definition.decide(tenant.state, { type: 'put_schema', service: 'more', schema }, turnAt())
    expect(more).toMatchObject({ type: 'refuse', problem: { code: 'conflict' } })
    const other = { ...schema, name: 'x' }
    const changed = definition.decide(tenant.state, { type: 'put_schema', service: 's5', schema: other }, turnAt())
    expect(changed.type).toBe('record')
  })

  test('are refused above the maximum size of all present schemas', () => {
    const tenant = actingTenant()
    tenant.act({ type: 'put_schema', service: 'a', schema })
    const one = tenant.state.schemaCharacters
    expect(one).toBe(JSON.stringify(schema).length)
    tenant.act({ type: 'put_schema', service: 'b', schema })
    tenant.act({ type: 'put_schema', service: 'b', schema: { ...schema, name: `${schema.name}!!` } })
    expect(tenant.state.schemaCharacters).toBe(2 * one + 2)
    tenant.act({ type: 'delete_schema', service: 'b' })
    expect(tenant.state.schemaCharacters).toBe(one)
    const put = { type: 'put_schema' as const, service: 'c', schema }
    tenant.state.schemaCharacters = schemaCharactersMax - one + 1
    const refused = definition.decide(tenant.state, put, turnAt())
    expect(refused).toMatchObject({ type: 'refuse', problem: { code: 'conflict' } })
    tenant.state.schemaCharacters--
    expect(definition.decide(tenant.state, put, turnAt()).type).toBe('record')
  })
})
