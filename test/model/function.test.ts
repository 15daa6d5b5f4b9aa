import { expect, test } from 'vitest'
import {
  alarmsIn,
  FunctionBody,
  FunctionEntry,
  FunctionPatch,
  functionEntryOf,
  nodeFault,
  type StoredFunction,
} from '#model/function'
import type { Graph } from '#model/graph'

const graph: Graph = {
  nodes: [
    { id: 'offline', type: 'trigger', on: 'status', to: 'offline' },
    { id: 'hot', type: 'trigger', on: 'alarm', alarmId: '7Lf2wZs6Dy' },
    { id: 'tell', type: 'email', template: 'too-hot' },
    { id: 'tell.too', type: 'email', template: 'too-hot' },
  ],
  edges: [
    ['offline', 'tell'],
    ['hot', 'tell'],
    ['hot', 'tell.too'],
  ],
}
const body = { name: 'Hot', binding: {}, graph }

test('a new function is enabled by default; a patch has no defaults', () => {
  expect(FunctionBody.parse(body)).toEqual({ ...body, enabled: true })
  expect(FunctionBody.parse({ ...body, enabled: false })).toEqual({ ...body, enabled: false })
  expect(FunctionPatch.parse({})).toEqual({})
  expect(FunctionPatch.parse({ name: 'Cold' })).toEqual({ name: 'Cold' })
})

test('the lists of a binding are sorted and without duplicates, and groups may be given by id or resource name', () => {
  const binding = { devices: ['b', 'A', 'B'], groups: ['crn#group:5Kd9tVw3Cx', '5Kd9tVw3Cx'] }
  expect(FunctionBody.parse({ ...body, binding }).binding).toEqual({ devices: ['A', 'B'], groups: ['5Kd9tVw3Cx'] })
  for (const bad of [null, { device: [] }, { devices: 'A' }]) {
    expect(FunctionBody.safeParse({ ...body, binding: bad }).success).toBe(false)
  }
})

test.each([
  [null, null, {}],
  [[], null, { devices: [] }],
  [['A'], ['5Kd9tVw3Cx'], { devices: ['A'], groups: ['5Kd9tVw3Cx'] }],
])('devices %j and groups %j are returned as the binding %j', (devices, groups, binding) => {
  const authorship = { createdBy: 'crn#user:2Vb7qYx9Kd', createdAt: 1, updatedBy: 'crn#key:4Qm8sUx2Bw', updatedAt: 2 }
  const stored: StoredFunction = { name: 'Hot', enabled: true, graph, devices, groups, ...authorship, edit: 9 }
  const shown = functionEntryOf('6Hn3wRt5Mz', stored)
  const resourceIdentifier = 'crn#function:6Hn3wRt5Mz'
  expect(shown).toEqual({ name: 'Hot', enabled: true, binding, graph, resourceIdentifier, ...authorship })
  expect(FunctionEntry.parse(shown)).toEqual(shown)
})

test('alarmsIn returns each named alarm with its node', () => {
  expect(alarmsIn(graph)).toEqual([{ node: 'hot', place: 1, alarm: '7Lf2wZs6Dy' }])
})

test('the error of a node begins with its name', () => {
  const fault = { path: 'graph.nodes.1', message: 'node "hot": must name an alarm' }
  expect(nodeFault(graph, 1, 'must name an alarm')).toEqual(fault)
})
