import { beforeEach, describe, expect, test } from 'vitest'
import type { TenantCommand } from '#actors/tenant/commands'
import { type AlarmBody, alarmBindingsMax, alarmEntryOf, alarmNodesMax, type StoredAlarm } from '#model/alarm'
import { namesIn } from '#model/condition'
import { now, outcomeOf, turnAt } from '#test/actors/acting-actor'
import { ActingTenant, ann, ben, hotAlarm } from '#test/actors/acting-tenant'

const schema = { name: 'Boiler', properties: { '0x2000': { name: 'temperature' } } }

let tenant: ActingTenant
beforeEach(() => {
  tenant = new ActingTenant()
})

describe('an alarm', () => {
  test('has the time at which its condition was set, which is shown to no client', () => {
    const conditionAt = () => tenant.state.alarms.get('I1')?.conditionAt
    tenant.makeAlarm('I1')
    expect(conditionAt()).toBeUndefined()
    tenant.at += 5
    tenant.putAlarm('I1', { name: 'Hotter', forSeconds: 9, devices: ['A'] })
    expect(conditionAt()).toBeUndefined()
    tenant.putAlarm('I1', { condition: { '>': [{ var: 'temperature' }, 31] } })
    expect(conditionAt()).toBe(now + 5)
    tenant.at += 5
    tenant.putAlarm('I1', { condition: { '>': [{ var: 'temperature' }, 31] }, name: 'Hottest' })
    expect(conditionAt()).toBe(now + 5)
    tenant.putAlarm('I1', { condition: { '>': [{ var: 'temperature' }, 31] }, serviceIdentifier: 'other' })
    expect(conditionAt()).toBe(now + 10)
    expect(alarmEntryOf('I1', tenant.state.alarms.get('I1') as StoredAlarm)).not.toHaveProperty('conditionAt')
  })

  test('is published when it is created, changed and removed', () => {
    const stored = { ...hotAlarm, forSeconds: 0, devices: null, groups: null, createdBy: ann, createdAt: now }
    expect(tenant.makeAlarm('A1')).toMatchObject({ events: [{ kind: 'alarm_set', alarm: 'A1', at: now, stored }] })
    tenant.at += 5
    const more = { forSeconds: 60, devices: ['A'] }
    expect(tenant.putAlarm('A1', more, ben)).toMatchObject({
      events: [{ stored: { ...stored, ...more, updatedBy: ben } }],
    })
    expect(tenant.act({ type: 'delete_alarm', id: 'A1' })).toMatchObject({
      events: [{ kind: 'alarm_deleted', alarm: 'A1', at: now + 5, devices: ['A'], groups: null }],
    })
  })

  test.each<[string, Partial<AlarmBody>, problem?: string]>([
    ['of an unknown group', { groups: ['G1', 'G9'] }, 'not_found: Not Found'],
    ['on a name that is not in the schema', { condition: { var: 'humidity' } }],
    ['with `missing` of a name that is not in the schema', { condition: { missing: ['humidity'] } }],
    ['on an id with an unknown type', { condition: { var: '0x2000.floating' } }],
    ['on digits, which are a name and not an id', { condition: { var: '8192' } }],
  ])('%s is refused', (_, more, problem = 'invalid: Validation Error') => {
    tenant.makeGroup('G1', [])
    tenant.act({ type: 'put_schema', service: 'svc', schema })
    expect(outcomeOf(tenant.makeAlarm('A1', more))).toBe(problem)
    tenant.makeAlarm('A1')
    expect(outcomeOf(tenant.putAlarm('A1', more))).toBe(problem)
  })

  test('that is bound to an empty list of devices is not bound to all devices', () => {
    tenant.makeAlarm('A1')
    expect(tenant.putAlarm('A1', { devices: [] })).toMatchObject({ events: [{ kind: 'alarm_set' }] })
  })

  test.each<[string, Partial<AlarmBody>]>([
    ['a property by its id', { condition: { '>': [{ var: '0x9999' }, 1] } }],
    ['a property by its id and type', { condition: { '>': [{ var: '0X9999.float-array' }, 1] } }],
    ['the service', { serviceIdentifier: 'other', condition: { var: 'anything' } }],
  ])('is accepted although no schema has %s', (_, more) => {
    tenant.act({ type: 'put_schema', service: 'svc', schema })
    expect(tenant.makeAlarm('A1', more)).toMatchObject({ events: [{ kind: 'alarm_set' }] })
  })

  test('is refused above the maximum of nodes, or a tenth of it for authors who do not reach all devices', () => {
    tenant.makeAlarm('A1')
    const one = tenant.state.alarms.get('A1') as StoredAlarm
    const wide = { ...one, condition: { or: Array.from({ length: 199 }, () => ({ '!': { var: '0x1' } })) } }
    const put = (isNarrow: boolean): TenantCommand => {
      return { type: 'put_alarm', id: 'A2', isNew: true, body: hotAlarm, author: ann, isNarrow }
    }
    const decided = (isNarrow: boolean) => outcomeOf(tenant.definition.decide(tenant.state, put(isNarrow), turnAt()))
    const { nodes } = namesIn(wide.condition)
    for (let count = 0; count < alarmNodesMax / 10 / nodes; count++) tenant.state.alarms.set(`X${count}`, wide)
    expect(decided(true)).toContain(`have at most ${alarmNodesMax / 10} of the ${alarmNodesMax} nodes of a tenant`)
    expect(decided(false)).not.toContain('conflict')
    for (let count = 0; count < alarmNodesMax / nodes; count++) tenant.state.alarms.set(`X${count}`, wide)
    expect(decided(false)).toBe(
      `conflict: the alarms of a tenant have at most ${alarmNodesMax} nodes: delete some, or make them smaller`,
    )
  })
})

test('an alarm, and a group that grows, are refused above the maximum of bindings to devices by name', () => {
  const many = (count: number) => Array.from({ length: count }, (_, index) => `D${index}`)
  tenant.makeGroup('G1', many(3))
  for (const id of ['A1', 'A2']) tenant.makeAlarm(id, { groups: ['G1'] })
  tenant.state.bindings.total = alarmBindingsMax - 2
  const decided = (command: TenantCommand) => outcomeOf(tenant.definition.decide(tenant.state, command, turnAt()))
  const alarm = (id: string, more: Partial<AlarmBody>) =>
    decided({ type: 'put_alarm', id, isNew: id === 'A3', body: { ...hotAlarm, ...more }, author: ann })
  const group = (count: number) =>
    decided({ type: 'put_group', id: 'G1', isNew: false, body: { name: 'Hall', devices: many(count) }, author: ann })
  const refused = `conflict: the alarms and functions of a tenant are bound to at most ${alarmBindingsMax} devices by name`
  // The earlier bindings of A1 no longer count. Two alarms name the group, so each of its devices counts twice.
  expect([alarm('A3', { devices: many(3) }), alarm('A1', { devices: many(6) }), group(5)]).toEqual(
    Array(3).fill(refused),
  )
  const some = [alarm('A3', { devices: many(2) }), alarm('A3', {})]
  for (const accepted of [...some, alarm('A1', { devices: many(5) }), group(4)])
    expect(accepted).toMatchObject({ createdBy: ann })
})

describe('the evaluation record of an alarm', () => {
  const sweep = (tenant: ActingTenant, type: 'sweep_progress' | 'sweep_done', digest: string, cursor = '') =>
    tenant.act(type === 'sweep_done' ? { type, alarm: 'A1', digest } : { type, alarm: 'A1', digest, cursor }).type

  test('exists from the creation of the alarm until no device has a state of the alarm', () => {
    tenant.makeAlarm('A1')
    const never = { digest: '', sweeping: null, cursor: '' }
    expect(tenant.evaluated('A1')).toEqual(never)
    sweep(tenant, 'sweep_progress', 'one', 'D5')
    expect(tenant.evaluated('A1')).toEqual({ digest: '', sweeping: 'one', cursor: 'D5' })
    sweep(tenant, 'sweep_done', 'one')
    expect(tenant.evaluated('A1')).toEqual({ ...never, digest: 'one' })
    // An edit does not change the record, so that its digest differs from that of the alarm.
    tenant.putAlarm('A1', { forSeconds: 5 })
    expect(tenant.evaluated('A1')).toEqual({ ...never, digest: 'one' })
    sweep(tenant, 'sweep_progress', 'two', 'D7')
    tenant.act({ type: 'delete_alarm', id: 'A1' })
    expect(tenant.evaluated('A1')).toEqual({ digest: 'one', sweeping: 'two', cursor: 'D7' })
    sweep(tenant, 'sweep_progress', '', 'D1')
    expect(tenant.evaluated('A1')).toEqual({ digest: 'one', sweeping: '', cursor: 'D1' })
    expect(sweep(tenant, 'sweep_done', '')).toBe('record')
    expect(tenant.evaluated('A1')).toBeUndefined()
    expect(sweep(tenant, 'sweep_progress', '', 'D1')).toBe('answer')
    expect(sweep(tenant, 'sweep_done', '')).toBe('answer')
  })

  test('is not deleted or replaced by a sweep of an older version', () => {
    tenant.makeAlarm('A1')
    // The alarm exists, so its states stay.
    expect(sweep(tenant, 'sweep_done', '')).toBe('answer')
    tenant.act({ type: 'delete_alarm', id: 'A1' })
    // The alarm is deleted, so some states may remain.
    expect(sweep(tenant, 'sweep_done', 'one')).toBe('answer')
    expect(tenant.evaluated('A1')).toBeDefined()
    // The alarm is created again under the same id, and the record of the earlier alarm stays.
    tenant.makeAlarm('A1')
    expect(sweep(tenant, 'sweep_done', 'three')).toBe('record')
    expect(tenant.evaluated('A1')?.digest).toBe('three')
  })
})
