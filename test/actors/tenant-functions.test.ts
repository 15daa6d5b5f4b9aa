import { beforeEach, describe, expect, test } from 'vitest'
import type { TenantCommand } from '#actors/tenant/commands'
import { alarmBindingsMax } from '#model/alarm'
import { type FunctionBody, functionNodesMax, type StoredFunction } from '#model/function'
import { graphNodesMax } from '#model/graph'
import type { Problem } from '#model/problem'
import { outcomeOf, sentCommandsOf, turnAt } from '#test/actors/acting-actor'
import { ActingTenant, ann, mailFunction } from '#test/actors/acting-tenant'

/** A graph with a trigger for each of these alarms. */
const watching = (...alarms: string[]): FunctionBody['graph'] => ({
  nodes: [
    ...alarms.map((alarmId, place) => ({ id: `t${place}`, type: 'trigger', on: 'alarm', alarmId }) as const),
    { id: 'mail', type: 'email', template: 'words' },
  ],
  edges: alarms.map((_, place) => [`t${place}`, 'mail'] as const),
})

const put = (id: string, isNew: boolean, more: Partial<FunctionBody> = {}, author = ann): TenantCommand => ({
  type: 'put_function',
  id,
  isNew,
  body: { ...mailFunction, ...more },
  author,
})

let tenant: ActingTenant
beforeEach(() => {
  tenant = new ActingTenant()
})

describe('a function', () => {
  test('has a row of ending functions from the commit that deletes its requests until its subscriptions have ended', () => {
    tenant.makeFunction('F1')
    const decision = tenant.decide({ type: 'delete_function', id: 'F1' })
    expect(decision).toMatchObject({
      events: [],
      records: [{ name: 'function/F1', value: null }],
      indexes: [{ index: 'ending', entry: 'F1', isPresent: true }],
    })
    expect(sentCommandsOf(decision)).toEqual(['delivery/t/F1 forget'])
    expect(tenant.endedTopics).toEqual([])
    tenant.act({ type: 'delete_function', id: 'F1' })
    expect(tenant.endedTopics).toEqual(['t/F1'])
    expect(tenant.record({ type: 'topic_swept', function: 'F1' })).toMatchObject({
      events: [],
      indexes: [{ index: 'ending', entry: 'F1', isPresent: false }],
    })
  })

  test('is refused above the maximum of nodes in a tenant', () => {
    tenant.makeFunction('F1')
    const one = tenant.state.functions.get('F1') as StoredFunction
    const nodes = Array.from({ length: graphNodesMax }, (_, place) => ({
      id: `t${place}`,
      type: 'trigger',
      on: 'status',
    }))
    const wide = { ...one, graph: { nodes, edges: [] } } as unknown as StoredFunction
    for (let index = 0; index < functionNodesMax / graphNodesMax; index++) tenant.state.functions.set(`X${index}`, wide)
    const decided = (command: TenantCommand) => outcomeOf(tenant.definition.decide(tenant.state, command, turnAt()))
    const problem = `conflict: the functions of a tenant have at most ${functionNodesMax} nodes: delete some, or make them smaller`
    expect(decided(put('F2', true))).toBe(problem)
    expect(decided(put('F1', false, { name: 'Other' }))).toMatchObject({ name: 'Other' })
  })
})

test('a function of an unknown group is refused', () => {
  const refused = put('F1', true, { binding: { groups: ['G9'] } })
  expect(outcomeOf(new ActingTenant().act(refused))).toBe('not_found: Not Found')
})

describe('an alarm that a function names', () => {
  test('must exist, and the error names each node with an unknown alarm', () => {
    tenant.makeAlarm('A1')
    const decision = tenant.makeFunction('F1', { graph: watching('A2', 'A1', 'A3') })
    const problem = decision.type === 'refuse' ? decision.problem : undefined
    expect(problem satisfies Problem | undefined).toMatchObject({
      code: 'invalid',
      details: [
        { path: expect.stringMatching(/^graph\.nodes\.0/), message: 'node "t0": must name an existing alarm' },
        { path: expect.stringMatching(/^graph\.nodes\.2/), message: 'node "t2": must name an existing alarm' },
      ],
    })
    expect(outcomeOf(tenant.makeFunction('F1', { graph: watching('A1') }))).toMatchObject({ name: 'Told' })
  })

  test('may be deleted, and then the function can still be edited, but not the graph that names the alarm', () => {
    tenant.makeAlarm('A1')
    const graph = watching('A1')
    tenant.makeFunction('F1', { graph })
    expect(tenant.act({ type: 'delete_alarm', id: 'A1' }).type).toBe('record')
    expect(outcomeOf(tenant.putFunction('F1', { graph, enabled: false }))).toMatchObject({ enabled: false })
    expect(outcomeOf(tenant.putFunction('F1', { graph: watching('A1', 'A1') }))).toMatch(/^invalid/)
    expect(outcomeOf(tenant.putFunction('F1', { graph: mailFunction.graph }))).toMatchObject({
      graph: mailFunction.graph,
    })
  })
})

describe('bindings of alarms and functions', () => {
  test('prevent the removal of their groups', () => {
    tenant.makeGroup('G1', ['A', 'B'])
    const binding = { groups: ['G1'] }
    tenant.makeFunction('F1', { binding })
    tenant.makeAlarm('A1', binding)
    expect(tenant.state.bindings.total).toBe(4)
    const remove = () => outcomeOf(tenant.act({ type: 'delete_group', id: 'G1' }))
    expect(remove()).toBe('conflict: the group is in use')
    tenant.act({ type: 'delete_alarm', id: 'A1' })
    expect(remove()).toBe('conflict: the group is in use')
    tenant.putFunction('F1', { binding: { devices: ['A'] } })
    expect(remove()).toBeUndefined()
    expect(tenant.state.bindings.total).toBe(1)
  })

  test('of a function to devices by name are refused above the maximum, as those of an alarm are', () => {
    tenant.makeFunction('F1', { binding: { devices: ['A'] } })
    tenant.state.bindings.total = alarmBindingsMax - 1
    const refused = `conflict: the alarms and functions of a tenant are bound to at most ${alarmBindingsMax} devices by name`
    const decided = (id: string, ...devices: string[]) =>
      outcomeOf(tenant.definition.decide(tenant.state, put(id, id === 'F2', { binding: { devices } }), turnAt()))
    expect(decided('F2', 'A', 'B')).toBe(refused)
    expect(decided('F2', 'A')).toMatchObject({ devices: ['A'], groups: null })
    // The earlier bindings of F1 no longer count.
    expect(decided('F1', 'A', 'B')).toMatchObject({ devices: ['A', 'B'] })
  })
})
