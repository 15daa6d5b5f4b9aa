import { describe, expect, test } from 'vitest'
import { schemaCharactersMax, schemasMax } from '#actors/tenant/schemas'
import { uint32Max } from '#model/identifier'
import type { ServiceSchema } from '#model/service-schema'
import { now, turnAt } from '#test/actors/acting-actor'
import { ActingTenant } from '#test/actors/acting-tenant'

const admit = (tenant: ActingTenant, device: string) => tenant.act({ type: 'admit_device', device, meta: {} })

const schema: ServiceSchema = { name: 'Boiler', properties: { '0x2000': { name: 'temperature' } } }

describe('flake addresses', () => {
  test('are assigned and sent to the devices one after the other, and never assigned twice', () => {
    const tenant = new ActingTenant()
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
    const tenant = new ActingTenant()
    tenant.state.counters = { lastFlakeAddress: uint32Max - 1, devices: 5 }
    expect(admit(tenant, 'A')).toMatchObject({ tells: [{ command: { flakeAddress: uint32Max } }] })
    expect(admit(tenant, 'B')).toMatchObject({ type: 'refuse', problem: { code: 'conflict' } })
  })
})

describe('schemas', () => {
  test('are added and changed, with one notice for each change', () => {
    const tenant = new ActingTenant()
    const put = (given: ServiceSchema) => tenant.act({ type: 'put_schema', service: 'svc', schema: given })
    const added = { kind: 'schema_set', service: 'svc', isNew: true, schema, at: now }
    expect(put(schema)).toMatchObject({ events: [added] })
    expect(put(structuredClone(schema))).toEqual({ type: 'record', events: [] })
    expect(put({ ...schema, name: 'Other' })).toMatchObject({ events: [{ kind: 'schema_set', isNew: false }] })
    expect(tenant.state.schemas.get('svc')?.name).toBe('Other')
    expect(tenant.rules.received).toEqual(['schema t/svc Boiler', 'schema t/svc Other'])
  })

  test('are deleted with a notice, and are new when they are added again', () => {
    const tenant = new ActingTenant()
    tenant.act({ type: 'put_schema', service: 'svc', schema })
    const remove = () => tenant.act({ type: 'delete_schema', service: 'svc' })
    expect(remove()).toMatchObject({ events: [{ kind: 'schema_deleted', service: 'svc', at: now }] })
    expect(remove()).toMatchObject({ problem: { code: 'not_found' } })
    expect(tenant.rules.received).toEqual(['schema t/svc Boiler', 'schema t/svc gone'])
    expect(tenant.act({ type: 'put_schema', service: 'svc', schema })).toMatchObject({ events: [{ isNew: true }] })
  })

  test('are refused above the maximum count, but existing ones may change', () => {
    const { definition, state } = new ActingTenant()
    for (let index = 0; index < schemasMax; index++) state.schemas.set(`s${index}`, schema)
    const more = definition.decide(state, { type: 'put_schema', service: 'more', schema }, turnAt())
    expect(more).toMatchObject({ type: 'refuse', problem: { code: 'conflict' } })
    const other = { ...schema, name: 'x' }
    const changed = definition.decide(state, { type: 'put_schema', service: 's5', schema: other }, turnAt())
    expect(changed.type).toBe('record')
  })

  test('are refused above the maximum size of all present schemas', () => {
    const tenant = new ActingTenant()
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
    const refused = tenant.definition.decide(tenant.state, put, turnAt())
    expect(refused).toMatchObject({ type: 'refuse', problem: { code: 'conflict' } })
    tenant.state.schemaCharacters--
    expect(tenant.definition.decide(tenant.state, put, turnAt()).type).toBe('record')
  })
})
