import type { ProblemDetail } from '#client/problem'
import { type Draft, graphOf } from '#dashboard/pages/functions/graph-draft'
import { edgeFaults } from '#model/graph-edges'
import { isShortName } from '#model/name-forms'

/** The faults of a graph, by node. */

export interface GraphFaults {
  readonly byNode: ReadonlyMap<number, readonly string[]>
  readonly others: readonly string[]
}

export const noFaults: GraphFaults = { byNode: new Map(), others: [] }

const nodeMessage = /^node "([^"]*)": (.*)$/s
const atNode = /^nodes\.(\d+)(?:\.(.+))?$/

/** Faults that can be found without the server: incomplete nodes first, then wrong edges. */
export function faultsIn(draft: Draft): GraphFaults {
  if (draft.nodes.length === 0) return { byNode: new Map(), others: ['Add a trigger first'] }
  const incomplete = draft.nodes.flatMap((node, place) => {
    const message = faultOfNode(node)
    return message === undefined ? [] : [{ path: `graph.nodes.${place}`, message }]
  })
  const wrongEdges = edgeFaults(graphOf(draft))
  return faultsOfDetails(draft, [
    ...incomplete,
    ...wrongEdges.map(({ path, message }) => ({ path: ['graph', ...path].join('.'), message })),
  ])
}

/** Assigns the server's faults, such as at `graph.nodes.1.logic.>.0`, to the nodes of the sent draft. */
export function faultsOfDetails(draft: Draft, details: readonly ProblemDetail[]): GraphFaults {
  const byNode = new Map<number, string[]>()
  const others: string[] = []
  for (const { path, message } of details) {
    const inGraph = path === 'graph' ? '' : path.startsWith('graph.') ? path.slice('graph.'.length) : undefined
    if (inGraph === undefined) continue
    const [, named, fault = message] = nodeMessage.exec(message) ?? []
    const [, place, inside] = atNode.exec(inGraph) ?? []
    const node = place === undefined ? draft.nodes.find(({ id }) => id === named) : draft.nodes[Number(place)]
    const text = inside === undefined || inside === 'id' ? fault : `${fault} (at ${inside})`
    if (!node) others.push(text)
    else byNode.set(node.key, [...(byNode.get(node.key) ?? []), text])
  }
  return { byNode, others }
}

export function hasFaults({ byNode, others }: GraphFaults): boolean {
  return byNode.size > 0 || others.length > 0
}

function faultOfNode(node: Draft['nodes'][number]): string | undefined {
  if (!isShortName(node.id)) return 'needs a name of letters, digits and . _ -'
  switch (node.kind) {
    case 'property':
      if (node.serviceIdentifier === '') return 'needs a service'
      return node.propId === '' ? 'needs a property' : undefined
    case 'alarm':
      return node.alarmId === '' ? 'needs an alarm' : undefined
    case 'condition':
      return node.logic === undefined ? 'needs a condition' : undefined
    case 'throttle':
      return node.seconds === undefined ? 'needs a time' : undefined
    case 'email':
      return node.template === '' ? 'needs a template' : undefined
    case 'webhook':
      return node.url === '' ? 'needs a URL' : undefined
    case 'status':
      return undefined
  }
}
