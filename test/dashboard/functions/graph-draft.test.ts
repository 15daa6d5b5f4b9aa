import { describe, expect, test } from 'vitest'
import {
  type Draft,
  type DraftNode,
  draftOf,
  emptyDraft,
  faultsIn,
  faultsOfDetails,
  graphInWords,
  graphOf,
  hasFaults,
  mayLead,
  withChangedNode,
  withEdge,
  withNode,
  withoutNode,
} from '#dashboard/pages/functions/graph-draft'
import { Graph } from '#model/graph'

const graph: Graph = {
  nodes: [
    { id: 'heat', type: 'trigger', on: 'property', serviceIdentifier: 'climate', propId: 0x2000, to: 31 },
    { id: 'siren', type: 'trigger', on: 'alarm', alarmId: '8Hj4wRt6Zp', to: 'active' },
    { id: 'gone', type: 'trigger', on: 'status' },
    { id: 'hot', type: 'condition', logic: { '>': [{ var: 'value' }, 30] } },
    { id: 'hourly', type: 'throttle', seconds: 3_600 },
    { id: 'notify', type: 'email', template: 'too-hot' },
  ],
  edges: [
    ['heat', 'hot'],
    ['siren', 'hourly'],
    ['gone', 'hourly'],
    ['hot', 'hourly'],
    ['hourly', 'notify'],
  ],
}

const node = (draft: Draft, id: string) => draft.nodes.find((each) => each.id === id) as DraftNode
const names = { schemas: new Map(), alarms: new Map([['8Hj4wRt6Zp', 'Too warm']]) }

test('a draft of a graph gives the same graph', () => {
  expect(Graph.parse(graphOf(draftOf(graph)))).toEqual(graph)
  expect(faultsIn(draftOf(graph))).toEqual({ byNode: new Map(), others: [] })
})

test('a graph is built from an empty draft', () => {
  let draft = withNode(emptyDraft, 'status')
  draft = withNode(draft, 'throttle', 1)
  draft = withNode(draft, 'email', 2)
  expect(faultsIn(draft)).toEqual({ byNode: new Map([[3, ['needs a template']]]), others: [] })
  draft = withChangedNode(draft, { ...(node(draft, 'mail') as DraftNode & { kind: 'email' }), template: 'gone' })
  expect(hasFaults(faultsIn(draft))).toBe(false)
  expect(Graph.parse(graphOf(draft))).toEqual({
    nodes: [
      { id: 'status', type: 'trigger', on: 'status', to: 'offline' },
      { id: 'limit', type: 'throttle', seconds: 3_600 },
      { id: 'mail', type: 'email', template: 'gone' },
    ],
    edges: [
      ['status', 'limit'],
      ['limit', 'mail'],
    ],
  })
})

test('new nodes get unused ids', () => {
  const draft = withNode(withNode(withNode(emptyDraft, 'email'), 'email'), 'email')
  expect(draft.nodes.map(({ id }) => id)).toEqual(['mail', 'mail-2', 'mail-3'])
})

test('the neighbours of a removed node are joined', () => {
  const draft = draftOf(graph)
  const { edges } = graphOf(withoutNode(draft, node(draft, 'hourly').key))
  expect(edges).toEqual([
    ['heat', 'hot'],
    ['siren', 'notify'],
    ['gone', 'notify'],
    ['hot', 'notify'],
  ])
})

test('edges follow a renamed node, even if its id is that of another node meanwhile', () => {
  let draft = draftOf(graph)
  for (const id of ['notify', 'hot', 'mail']) draft = withChangedNode(draft, { ...node(draft, 'hourly'), key: 5, id })
  expect(graphOf(draft).edges).toEqual(graph.edges.map((ends) => ends.map((id) => (id === 'hourly' ? 'mail' : id))))
})

test('edges are removed and added', () => {
  const draft = draftOf(graph)
  const without = withEdge(draft, 5, 6, false)
  expect(graphOf(without).edges).toEqual(graph.edges.slice(0, -1))
  expect(graphOf(withEdge(without, 5, 6, true)).edges).toEqual(graph.edges)
})

test.each([
  ['heat', 'notify', true],
  ['hot', 'heat', false],
  ['notify', 'hot', false],
  ['hourly', 'hot', false],
  ['hot', 'hot', false],
])('an edge from %s to %s is possible: %s', (from, to, may) => {
  const draft = draftOf(graph)
  expect(mayLead(draft, node(draft, from), node(draft, to))).toBe(may)
})

describe('each node has the faults that are', () => {
  test('found by the dashboard', () => {
    const draft = withoutNode(draftOf(graph), 6)
    const apart = withNode(withNode(draft, 'email'), 'condition')
    expect(faultsIn(apart).byNode.get(7)).toEqual(['needs a template', 'cannot be reached from a trigger'])
    expect(faultsIn(apart).byNode.get(8)).toEqual(['needs a condition', 'cannot be reached from a trigger'])
    expect(faultsIn(emptyDraft).others).toHaveLength(1)
  })

  test('found by the dashboard for two nodes with the same id', () => {
    const draft = withChangedNode(draftOf(graph), { ...node(draftOf(graph), 'hot'), id: 'notify' })
    expect(faultsIn(draft).byNode.get(6)).toEqual(['has the id of another node'])
  })

  test('reported by the server', () => {
    const draft = draftOf(graph)
    const details = [
      { path: 'graph.nodes.3.logic.>.0', message: 'node "hot": must be value or meta.<key>' },
      { path: 'graph.nodes.1', message: 'node "siren": must be an alarm that is there' },
      { path: 'graph.edges.4', message: 'node "notify": is a mail: no edge may lead from it' },
      { path: 'graph', message: 'must be at most 65536 bytes as JSON' },
      { path: 'name', message: 'must not be empty' },
    ]
    expect(faultsOfDetails(draft, details)).toEqual({
      byNode: new Map([
        [4, ['must be value or meta.<key> (at logic.>.0)']],
        [2, ['must be an alarm that is there']],
        [6, ['is a mail: no edge may lead from it']],
      ]),
      others: ['must be at most 65536 bytes as JSON'],
    })
  })

  test('reported by the model', () => {
    const draft = withChangedNode(draftOf(graph), {
      key: 4,
      id: 'hot',
      kind: 'condition',
      logic: { '>': [{ var: 'x' }, 1] },
    })
    const { error } = Graph.safeParse(graphOf(draft))
    const details = (error?.issues ?? []).map(({ path, message }) => ({ path: ['graph', ...path].join('.'), message }))
    expect([...faultsOfDetails(draft, details).byNode.keys()]).toEqual([4])
  })
})

test('a graph has a text with its triggers and its ends', () => {
  expect(graphInWords(draftOf(graph), names)).toBe(
    '0x2000 becomes 31 or Too warm becomes active or device changes status → mail too-hot',
  )
  expect(graphInWords(withNode(emptyDraft, 'status'), names)).toBe('device becomes offline → nothing')
})
