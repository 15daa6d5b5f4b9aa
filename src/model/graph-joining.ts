import type { Graph, GraphNode } from '#model/graph'
import type { JsonFault } from '#model/json-value'

/** How the nodes of a graph may hang together. Contract 5.4. */

/** How what is wrong with a node is told. */
export function ofNode(id: string, message: string): string {
  return `node "${id}": ${message}`
}

/**
 * What is wrong with how they do, each with the node it was found at; of nodes and edges that are good by themselves. What
 * cannot be told because of another fault is left for when that is mended.
 */
export function joiningFaults(graph: Graph): readonly JsonFault[] {
  const named = namingFaults(graph)
  if (named.length > 0) return named
  const places = new Map(graph.nodes.map(({ id }, place) => [id, place]))
  const edges = graph.edges.map((ends) => ends.map((id) => places.get(id) as number) as [from: number, to: number])
  const misplaced = roleFaults(graph.nodes, edges)
  if (misplaced.length > 0) return misplaced
  const behind: number[][] = graph.nodes.map(() => [])
  for (const [from, to] of edges) behind[from]?.push(to)
  return cycleFaults(graph.nodes, behind) ?? reachFaults(graph.nodes, behind) ?? pieceFaults(graph.nodes, edges)
}

type Edges = readonly (readonly [from: number, to: number])[]

/** By place: the places behind it. */
type Behind = readonly (readonly number[])[]

/** Every id once, every edge once and between nodes that there are. */
function namingFaults({ nodes, edges }: Graph): readonly JsonFault[] {
  const faults: JsonFault[] = []
  const ids = new Set<string>()
  for (const [place, { id }] of nodes.entries()) {
    if (ids.has(id)) faults.push({ path: ['nodes', place, 'id'], message: ofNode(id, 'has the id of another one') })
    ids.add(id)
  }
  const known = new Set<string>()
  for (const [place, ends] of edges.entries()) {
    for (const [end, id] of ends.entries()) {
      if (!ids.has(id)) faults.push({ path: ['edges', place, end], message: ofNode(id, 'is not among the nodes') })
    }
    const edge = ends.join(' ')
    if (known.has(edge)) faults.push({ path: ['edges', place], message: ofNode(ends[0], `leads to ${ends[1]} twice`) })
    known.add(edge)
  }
  return faults
}

/** Triggers are where it begins, mails where it ends. */
function roleFaults(nodes: readonly GraphNode[], edges: Edges): readonly JsonFault[] {
  const faults: JsonFault[] = []
  for (const [place, [from, to]] of edges.entries()) {
    const [before, after] = [nodes[from], nodes[to]]
    const path = ['edges', place]
    if (after?.type === 'trigger')
      faults.push({ path, message: ofNode(after.id, 'is a trigger: nothing leads to one') })
    if (before?.type === 'email') faults.push({ path, message: ofNode(before.id, 'is a mail: nothing is behind one') })
  }
  if (!nodes.some(({ type }) => type === 'trigger')) faults.push({ path: ['nodes'], message: 'must have a trigger' })
  return faults
}

/** The first cycle that is met, at the node where it was entered. */
function cycleFaults(nodes: readonly GraphNode[], behind: Behind): readonly JsonFault[] | undefined {
  const seen: ('open' | 'closed' | undefined)[] = nodes.map(() => undefined)
  // No deeper than there are nodes.
  const entryOf = (place: number): number | undefined => {
    if (seen[place] === 'closed') return undefined
    if (seen[place] === 'open') return place
    seen[place] = 'open'
    for (const next of behind[place] ?? []) {
      const entry = entryOf(next)
      if (entry !== undefined) return entry
    }
    seen[place] = 'closed'
    return undefined
  }
  for (const start of nodes.keys()) {
    const entry = entryOf(start)
    if (entry !== undefined) return [faultAt(nodes, entry, 'leads back to itself')]
  }
  return undefined
}

/** What no trigger leads to would never do anything. */
function reachFaults(nodes: readonly GraphNode[], behind: Behind): readonly JsonFault[] | undefined {
  const triggers = [...nodes.keys()].filter((place) => nodes[place]?.type === 'trigger')
  const reached = reachedFrom(triggers, behind)
  const unreached = [...nodes.keys()].filter((place) => !reached.has(place))
  return unreached.length > 0
    ? unreached.map((place) => faultAt(nodes, place, 'is reached from no trigger'))
    : undefined
}

/** Two pieces would be two functions; told is the first node that does not hang together with the first of all. */
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

function reachedFrom(starts: readonly number[], behind: Behind): ReadonlySet<number> {
  const reached = new Set(starts)
  // A set is gone through with what is added meanwhile.
  for (const place of reached) for (const next of behind[place] ?? []) reached.add(next)
  return reached
}

function faultAt(nodes: readonly GraphNode[], place: number, message: string): JsonFault {
  return { path: ['nodes', place], message: ofNode((nodes[place] as GraphNode).id, message) }
}
