import { type Draft, graphOf } from '#dashboard/pages/functions/graph-draft'
import { edgeFaults } from '#model/graph-edges'

/** The faults of a graph, by node. */

/** `path` in the form of the server: `graph.nodes.1.logic.>.0`. Contract 1.3. */
export interface Detail {
  readonly path: string
  readonly message: string
}

export interface GraphFaults {
  /** By key. */
  readonly byNode: ReadonlyMap<number, readonly string[]>
  /** Faults of the whole graph. */
  readonly others: readonly string[]
}

export const noFaults: GraphFaults = { byNode: new Map(), others: [] }

const nodeMessage = /^node "([^"]*)": (.*)$/s
const atNode = /^nodes\.(\d+)(?:\.(.+))?$/

/** Faults that can be found without the server: incomplete nodes first, then wrong edges. */
export function faultsIn(draft: Draft): GraphFaults {
  if (draft.nodes.length === 0)
    return { byNode: new Map(), others: ['Begin with what sets it off: a value, an alarm or a status'] }
  const missing = draft.nodes.flatMap((node, place) => {
    const message = missingIn(node)
    return message === undefined ? [] : [{ path: `graph.nodes.${place}`, message }]
  })
  const joining = edgeFaults(graphOf(draft))
  return placed(draft, [
    ...missing,
    ...joining.map(({ path, message }) => ({ path: ['graph', ...path].join('.'), message })),
  ])
}

/** Assigns the server's faults to the nodes of the sent draft; undefined if they are not about the graph. */
export function placed(draft: Draft, details: readonly Detail[]): GraphFaults {
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

function missingIn(node: Draft['nodes'][number]): string | undefined {
  if (!/^[A-Za-z0-9._-]{1,64}$/.test(node.id)) return 'needs a name of letters, digits and . _ -'
  switch (node.kind) {
    case 'property':
      if (node.service === '') return 'needs a service'
      return node.property === '' ? 'needs a property' : undefined
    case 'alarm':
      return node.alarm === '' ? 'needs an alarm' : undefined
    case 'condition':
      return node.logic === undefined ? 'needs a condition' : undefined
    case 'throttle':
      return node.seconds === undefined ? 'needs a time' : undefined
    case 'email':
      return node.template === '' ? 'needs a template' : undefined
    case 'status':
      return undefined
  }
}
