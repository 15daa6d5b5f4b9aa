import type { StoredFunction } from '#model/function'
import type { Graph, GraphNode } from '#model/graph'
import { edits } from '#test/rules/stored-rules'

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
  const content = { name: 'Too hot', enabled: true, devices: null, groups: null, graph: heatGraph }
  return { ...content, ...edits, ...more }
}

/** `edges` as text: `a b, b c`. */
export function graphOf(nodes: readonly GraphNode[], edges = ''): Graph {
  return { nodes, edges: edges === '' ? [] : edges.split(', ').map((edge) => edge.split(' ') as [string, string]) }
}
