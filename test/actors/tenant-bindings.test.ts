import fc from 'fast-check'
import { expect, test } from 'vitest'
import { noticeBus } from '#actors/notice-bus'
import type { TenantCommand } from '#actors/tenant/commands'
import { tenantActor } from '#actors/tenant/tenant'
import { bindingLists } from '#model/device-binding'
import type { FunctionBody } from '#model/function'
import { ActingActor } from '#test/actors/acting-actor'
import { words } from '#test/actors/acting-tenant'

const few = <const Value>(...values: Value[]) => fc.constantFrom(...values)
const devices = fc.subarray(['A', 'B', 'C'])
const alarm = few('A1', 'A2')
const group = few('G1', 'G2')
const others = { locales: { en: { subject: 'Other', text: 'Longer than that.' } } }
const author = few('crn#user:2Vb7qYx9Kd', 'crn#user:3Nc7xJr4Vq')

const command: fc.Arbitrary<TenantCommand> = fc.oneof(
  fc.record({
    type: fc.constant('put_group' as const),
    id: group,
    isNew: fc.boolean(),
    body: fc.record({ name: few('Hall', 'Yard'), devices }),
    author,
  }),
  fc.record({ type: fc.constant('delete_group' as const), id: group }),
  fc.record({
    type: fc.constant('put_alarm' as const),
    id: alarm,
    isNew: fc.boolean(),
    body: fc.record(
      {
        name: few('Hot'),
        severity: few('info' as const),
        serviceIdentifier: few('s', 'u'),
        condition: few({ var: 'a' }, { var: '0x01' }),
        forSeconds: few(0, 60),
        devices,
        groups: fc.subarray(['G1', 'G2']),
      },
      { requiredKeys: ['name', 'severity', 'serviceIdentifier', 'condition'] },
    ),
    author,
  }),
  fc.record({ type: fc.constant('delete_alarm' as const), id: alarm }),
  fc.record({
    type: fc.constant('put_function' as const),
    id: few('F1', 'F2'),
    isNew: fc.boolean(),
    body: fc.record({
      name: few('Told'),
      enabled: fc.boolean(),
      binding: fc.record({ devices, groups: fc.subarray(['G1', 'G2']) }, { requiredKeys: [] }),
      graph: alarm.map((alarmId): FunctionBody['graph'] => ({
        nodes: [{ id: 'when', type: 'trigger', on: 'alarm', alarmId }],
        edges: [],
      })),
    }),
    author,
  }),
  fc.record({ type: fc.constant('delete_function' as const), id: few('F1', 'F2') }),
  fc.record({ type: fc.constant('put_template' as const), name: few('T1', 'T2'), body: few(words, others), author }),
  fc.record({ type: fc.constant('delete_template' as const), name: few('T1', 'T2') }),
  fc.record({ type: fc.constant('sweep_progress' as const), alarm, digest: few('', 'd'), cursor: few('', 'B') }),
  fc.record({ type: fc.constant('sweep_done' as const), alarm, digest: few('', 'd') }),
  fc.record({
    type: fc.constant('put_schema' as const),
    service: few('s'),
    schema: few({ name: 'a', properties: {} }, { name: 'b', properties: { '0x0001': { name: 'a' } } }),
  }),
)

test('counts and records equal the state for any sequence of puts and removals, and no binding names a removed alarm', () => {
  fc.assert(
    fc.property(fc.array(command, { minLength: 1, maxLength: 40 }), (commands) => {
      const definition = tenantActor(noticeBus())
      const acting = new ActingActor(definition, { tenant: 't', id: 't' })
      for (const each of commands) {
        acting.act(each)
        const { alarms, functions, groups, bindings, evaluated } = acting.state
        const named = [...alarms.values(), ...functions.values()].map((stored) =>
          bindingLists({ devices: stored.devices ?? [], groups: stored.groups }, (of) => groups.get(of)?.devices),
        )
        expect(named).not.toContain('*')
        expect(bindings.total).toBe(named.flat(2).length)
        const templates = [...acting.state.templates.values()].map(({ locales }) => JSON.stringify(locales).length)
        expect(acting.state.templateCharacters).toBe(templates.reduce((sum, count) => sum + count, 0))
        // Each alarm has an evaluation record.
        for (const id of alarms.keys()) expect(evaluated.has(id)).toBe(true)
      }
    }),
    { numRuns: 100 },
  )
})
