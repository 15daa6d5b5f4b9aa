import fc from 'fast-check'
import { expect, test } from 'vitest'
import { noticeBus } from '#actors/notice-bus'
import type { TenantCommand } from '#actors/tenant/commands'
import { tenantActor } from '#actors/tenant/tenant'
import type { FunctionBody } from '#model/function'
import { bindingLists } from '#model/group'
import { ActingActor } from '#test/actors/acting-actor'
import { mailTemplate } from '#test/actors/acting-tenant'
import { commandOf } from '#test/kit/command-arbitrary'
import { forAll } from '#test/kit/for-all'

const few = <const Value>(...values: Value[]) => fc.constantFrom(...values)
const devices = fc.subarray(['A', 'B', 'C'])
const alarm = few('A1', 'A2')
const group = few('G1', 'G2')
const others = { locales: { en: { subject: 'Other', text: 'Longer than that.' } } }
const author = few('crn#user:2Vb7qYx9Kd', 'crn#user:3Nc7xJr4Vq')

const groups = fc.subarray(['G1', 'G2'])
const isNew = fc.boolean()
const groupBody = fc.record({ name: few('Hall', 'Yard'), devices })
const alarmBody = fc.record(
  {
    name: few('Hot'),
    severity: few('info'),
    serviceIdentifier: few('s', 'u'),
    condition: few({ var: 'a' }, { var: '0x01' }),
    forSeconds: few(0, 60),
    devices,
    groups,
  },
  { requiredKeys: ['name', 'severity', 'serviceIdentifier', 'condition'] },
)
const functionBody = fc.record({
  name: few('Told'),
  enabled: fc.boolean(),
  binding: fc.record({ devices, groups }, { requiredKeys: [] }),
  graph: alarm.map((alarmId): FunctionBody['graph'] => ({
    nodes: [{ id: 'when', type: 'trigger', on: 'alarm', alarmId }],
    edges: [],
  })),
})
const digest = few('', 'd')
const command: fc.Arbitrary<TenantCommand> = fc.oneof(
  commandOf('put_group', { id: group, isNew, body: groupBody, author }),
  commandOf('delete_group', { id: group }),
  commandOf('put_alarm', { id: alarm, isNew, body: alarmBody, author }),
  commandOf('delete_alarm', { id: alarm }),
  commandOf('put_function', { id: few('F1', 'F2'), isNew, body: functionBody, author }),
  commandOf('delete_function', { id: few('F1', 'F2') }),
  commandOf('put_template', { name: few('T1', 'T2'), body: few(mailTemplate, others), author }),
  commandOf('delete_template', { name: few('T1', 'T2') }),
  commandOf('sweep_progress', { alarm, digest, cursor: few('', 'B') }),
  commandOf('sweep_done', { alarm, digest }),
  commandOf('put_schema', {
    service: few('s'),
    schema: few({ name: 'a', properties: {} }, { name: 'b', properties: { '0x0001': { name: 'a' } } }),
  }),
)

test('after any sequence of commands, counts and records equal the state, and each alarm has an evaluation record', () => {
  forAll([fc.array(command, { minLength: 1, maxLength: 40 })], 100, (commands) => {
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
      for (const id of alarms.keys()) expect(evaluated.has(id)).toBe(true)
    }
  })
})
