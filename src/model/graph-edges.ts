import type { JsonFault } from '#model/json-value'

/** Rules for the edges of a graph. Contract 5.4. */

/** The part of `Graph` (`#model/graph`) that the rules need. */
interface Graph {
  readonly nodes: readonly GraphNode[]
  readonly edges: readonly (readonly [from: string, to: string])[]
}

interface GraphNode {
  readonly id: string
  readonly type: string
}

/** The error text for a fault of a node. */
export function nodeMessage(id: string, message: string): string {
  return `node "${id}": ${message}`
}

/**
 * All faults of the edges, each with its node; each node and edge must already be valid by itself. A check that another
 * fault makes impossible is left out.
 */
export function edgeFaults(graph: Graph): readonly JsonFault[] {
  const named = namingFaults(graph)
  if (named.length > 0) return named
  const places = new Map(graph.nodes.map(({ id }, place) => [id, place]))
  const edges = graph.edges.map((ends) => ends.map((id) => places.get(id) as number) as [from: number, to: number])
  const misplaced = roleFaults(graph.nodes, edges)
  if (misplaced.length > 0) return misplaced
  const successors: number[][] = graph.nodes.map(() => [])
  for (const [from, to] of edges) successors[from]?.push(to)
  return cycleFaults(graph.nodes, successors) ?? reachFaults(graph.nodes, successors) ?? pieceFaults(graph.nodes, edges)
}

type Edges = readonly (readonly [from: number, to: number])[]

/** For each node index, the indexes of its successors. */
type Successors = readonly (readonly number[])[]

/** Ids are unique, edges are unique, and each edge joins two existing nodes. */
function namingFaults({ nodes, edges }: Graph): readonly JsonFault[] {
  const faults: JsonFault[] = []
  const ids = new Set<string>()
  for (const [place, { id }] of nodes.entries()) {
    if (ids.has(id))
      faults.push({ path: ['nodes', place, 'id'], message: nodeMessage(id, 'has the id of another node') })
    ids.add(id)
  }
  const known = new Set<string>()
  for (const [place, ends] of edges.entries()) {
    for (const [end, id] of ends.entries()) {
      if (!ids.has(id)) faults.push({ path: ['edges', place, end], message: nodeMessage(id, 'does not exist') })
    }
    const edge = ends.join(' ')
    if (known.has(edge))
      faults.push({ path: ['edges', place], message: nodeMessage(ends[0], `leads to ${ends[1]} twice`) })
    known.add(edge)
  }
  return faults
}

/** Triggers have no predecessors; mails and webhooks have no successors. */
function roleFaults(nodes: readonly GraphNode[], edges: Edges): readonly JsonFault[] {
  const faults: JsonFault[] = []
  for (const [place, [from, to]] of edges.entries()) {
    const [before, after] = [nodes[from], nodes[to]]
    const path = ['edges', place]
    if (after?.type === 'trigger')
      faults.push({ path, message: nodeMessage(after.id, 'is a trigger: no edge may lead to it') })
    if (before?.type === 'email' || before?.type === 'webhook') {
      const what = before.type === 'email' ? 'mail' : 'webhook'
      faults.push({ path, message: nodeMessage(before.id, `is a ${what}: no edge may lead from it`) })
    }
  }
  if (!nodes.some(({ type }) => type === 'trigger')) faults.push({ path: ['nodes'], message: 'must have a trigger' })
  return faults
}

/** A fault for the first cycle, at the node by which the search entered the cycle. */
function cycleFaults(nodes: readonly GraphNode[], successors: Successors): readonly JsonFault[] | undefined {
  const seen: ('open' | 'closed' | undefined)[] = nodes.map(() => undefined)
  // The recursion is no deeper than the number of nodes.
  const entryOf = (place: number): number | undefined => {
    if (seen[place] === 'closed') return undefined
    if (seen[place] === 'open') return place
    seen[place] = 'open'
    for (const next of successors[place] ?? []) {
      const entry = entryOf(next)
      if (entry !== undefined) return entry
    }
    seen[place] = 'closed'
    return undefined
  }
  for (const start of nodes.keys()) {
    const entry = entryOf(start)
    if (entry !== undefined) return [faultAt(nodes, entry, 'is part of a cycle')]
  }
  return undefined
}

/** A node that no trigger reaches would never run. */
function reachFaults(nodes: readonly GraphNode[], successors: Successors): readonly JsonFault[] | undefined {
  const triggers = [...nodes.keys()].filter((place) => nodes[place]?.type === 'trigger')
  const reached = reachedFrom(triggers, successors)
  const unreached = [...nodes.keys()].filter((place) => !reached.has(place))
  return unreached.length > 0
    ? unreached.map((place) => faultAt(nodes, place, 'cannot be reached from a trigger'))
    : undefined
}

/** Two separate parts would be two functions. The fault names the first node that is not connected with node 0. */
function pieceFaults(nodes: readonly GraphNode[], edges: Edges): readonly JsonFault[] {
  const joined: number[][] = nodes.map(() => [])
  for (const [from, to] of edges) {
    joined[from]?.push(to)
    joined[to]?.push(from)
  }
  const piece = reachedFrom([0], joined)
  const apart = [...nodes.keys()].find((place) => !piece.has(place))
  return apart === undefined ? [] : [faultAt(nodes, apart, `is not connected with ${nodes[0]?.id}`)]
}

function reachedFrom(starts: readonly number[], successors: Successors): ReadonlySet<number> {
  const reached = new Set(starts)
  // The loop also visits elements that are added during it.
  for (const place of reached) for (const next of successors[place] ?? []) reached.add(next)
  return reached
}

function faultAt(nodes: readonly GraphNode[], place: number, message: string): JsonFault {
  return { path: ['nodes', place], message: nodeMessage((nodes[place] as GraphNode).id, message) }
}
