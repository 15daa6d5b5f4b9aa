import type { StoredFunction } from '#model/function'
import type { Graph, GraphNode } from '#model/graph'
import { author } from '#test/rules/stored-rules'

/** A trigger on a property of Climate, a condition and a mail. */
export const heatGraph: Graph = graphOf(
  [
    { id: 'heat', type: 'trigger', on: 'property', serviceIdentifier: 'Climate', propId: 0x2000 },
    { id: 'hot', type: 'condition', logic: { '>': [{ var: 'value' }, 30] } },
    { id: 'mail', type: 'email', template: 'too-hot' },
  ],
  'heat hot, hot mail',
)

export function storedFunction(more: Partial<StoredFunction> = {}): StoredFunction {
  return {
    name: 'Too hot',
    enabled: true,
    devices: null,
    groups: null,
    graph: heatGraph,
    createdBy: author,
    createdAt: 1,
    updatedBy: author,
    updatedAt: 1,
    edit: 1,
    ...more,
  }
}

/** `edges` as text: `a b, b c`. */
export function graphOf(nodes: readonly GraphNode[], edges = ''): Graph {
  return {
    nodes,
    edges: edges === '' ? [] : edges.split(', ').map((edge) => edge.split(' ') as [string, string]),
  }
}
