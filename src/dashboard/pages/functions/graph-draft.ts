import type { ProblemDetail } from '#client/problem'
import type { Names } from '#dashboard/binding/binding'
import { conditionInWords, runOperands } from '#dashboard/conditions/rows'
import { exactDuration, hexOf } from '#dashboard/values/format-value'
import type { Condition } from '#model/condition'
import type { Graph, GraphNode } from '#model/graph'
import { edgeFaults } from '#model/graph-edges'
import { isShortName } from '#model/name-forms'

/**
 * A graph in the editor: its nodes may be incomplete, and have their own keys, because ids can change. A node has the
 * fields of the API, but one kind in place of `type` and `on`. Immutable. Contract 5.4.
 */

export type NodeKind = 'property' | 'alarm' | 'status' | 'condition' | 'throttle' | 'email' | 'webhook'
/** The value to which a change must lead, so that it triggers. */
export type To = string | number | boolean | null

interface Common {
  /** Stays the same while the node is edited. */
  readonly key: number
  readonly id: string
}

export type DraftNode = Common &
  (
    | { readonly kind: 'property'; readonly serviceIdentifier: string; readonly propId: string; readonly to?: To }
    | { readonly kind: 'alarm'; readonly alarmId: string; readonly to?: To }
    | { readonly kind: 'status'; readonly to?: To }
    | { readonly kind: 'condition'; readonly logic: Condition | undefined }
    | { readonly kind: 'throttle'; readonly seconds: number | undefined }
    | { readonly kind: 'email'; readonly template: string }
    | { readonly kind: 'webhook'; readonly url: string; readonly enabled?: boolean }
  )

export interface Draft {
  readonly nodes: readonly DraftNode[]
  /** Each edge has the keys of two nodes. */
  readonly edges: readonly (readonly [from: number, to: number])[]
  /** The key of the next node. */
  readonly nextKey: number
}

interface KindWords {
  readonly title: string
  /** One line. */
  readonly effect: string
  /** The prefix of the ids of nodes of this kind. */
  readonly id: string
}

export const kindWords: Readonly<Record<NodeKind, KindWords>> = {
  property: {
    title: 'When a value changes',
    effect: 'Triggers when a property of a device changes',
    id: 'changed',
  },
  alarm: {
    title: 'When an alarm changes state',
    effect: 'Triggers when an alarm becomes active or inactive',
    id: 'alarm',
  },
  status: {
    title: 'When a device changes status',
    effect: 'Triggers when it becomes online, idle or offline',
    id: 'status',
  },
  condition: { title: 'Only if', effect: 'Continues if a condition is true', id: 'if' },
  throttle: { title: 'Throttle', effect: 'Continues at most once every period, for each device', id: 'limit' },
  email: { title: 'Send mail', effect: 'Sends a mail from a template to all subscribers', id: 'mail' },
  webhook: { title: 'Call webhook', effect: 'Sends a signed POST to a URL', id: 'webhook' },
}

export const triggerKinds: readonly NodeKind[] = ['property', 'alarm', 'status']
export const stepKinds: readonly NodeKind[] = ['condition', 'throttle', 'email', 'webhook']

export function isTrigger({ kind }: { readonly kind: NodeKind }): boolean {
  return triggerKinds.includes(kind)
}

/** Whether no node can follow this node. */
export function isEnd({ kind }: { readonly kind: NodeKind }): boolean {
  return kind === 'email' || kind === 'webhook'
}

export const emptyDraft: Draft = { nodes: [], edges: [], nextKey: 1 }

export function draftOf({ nodes, edges }: Graph): Draft {
  const keys = new Map(nodes.map(({ id }, place) => [id, place + 1]))
  return {
    nodes: nodes.map((node, place) => draftNodeOf(node, place + 1)),
    edges: edges.map(([from, to]) => [keys.get(from) ?? 0, keys.get(to) ?? 0]),
    nextKey: nodes.length + 1,
  }
}

/** The graph of a request. */
export function graphOf({ nodes, edges }: Draft): Graph {
  const ids = new Map(nodes.map(({ key, id }) => [key, id]))
  return {
    nodes: nodes.map(graphNodeOf),
    edges: edges.map(([from, to]) => [ids.get(from) ?? '', ids.get(to) ?? '']),
  }
}

/** Adds a node, optionally behind another node. */
export function withNode(draft: Draft, kind: NodeKind, behind?: number): Draft {
  const key = draft.nextKey
  const node = { key, id: freeId(draft, kindWords[kind].id), ...blank[kind] } as DraftNode
  return {
    nodes: [...draft.nodes, node],
    edges: behind === undefined ? draft.edges : [...draft.edges, [behind, key]],
    nextKey: key + 1,
  }
}

/** Removes a node; its predecessors then lead to its successors. */
export function withoutNode(draft: Draft, key: number): Draft {
  const before = draft.edges.filter(([, to]) => to === key).map(([from]) => from)
  const after = draft.edges.filter(([from]) => from === key).map(([, to]) => to)
  const rest: Draft = {
    ...draft,
    nodes: draft.nodes.filter((node) => node.key !== key),
    edges: draft.edges.filter((edge) => !edge.includes(key)),
  }
  const bridges = before.flatMap((from) => after.map((to) => [from, to] as const))
  return bridges.reduce((bridged, [from, to]) => withEdge(bridged, from, to, true), rest)
}

export function withChangedNode(draft: Draft, node: DraftNode): Draft {
  return { ...draft, nodes: draft.nodes.map((each) => (each.key === node.key ? node : each)) }
}

export function withEdge(draft: Draft, from: number, to: number, isConnected: boolean): Draft {
  const others = draft.edges.filter((edge) => edge[0] !== from || edge[1] !== to)
  return { ...draft, edges: isConnected ? [...others, [from, to]] : others }
}

/** Whether an edge is permitted: no edge to triggers, none behind mails and webhooks, and no cycle. */
export function mayLead(draft: Draft, from: DraftNode, to: DraftNode): boolean {
  if (isTrigger(to) || isEnd(from) || from === to) return false
  const reached = new Set([to.key])
  // The iteration of a set includes entries that are added meanwhile.
  for (const key of reached) for (const [start, end] of draft.edges) if (start === key) reached.add(end)
  return !reached.has(from.key)
}

const blank: Readonly<Record<NodeKind, object>> = {
  property: { kind: 'property', serviceIdentifier: '', propId: '' },
  alarm: { kind: 'alarm', alarmId: '', to: 'active' },
  status: { kind: 'status', to: 'offline' },
  condition: { kind: 'condition', logic: undefined },
  throttle: { kind: 'throttle', seconds: 3_600 },
  email: { kind: 'email', template: '' },
  webhook: { kind: 'webhook', url: '' },
}

function freeId({ nodes }: Draft, stem: string): string {
  const ids = new Set(nodes.map(({ id }) => id))
  for (let count = 1; ; count++) {
    const id = count === 1 ? stem : `${stem}-${count}`
    if (!ids.has(id)) return id
  }
}

function draftNodeOf(node: GraphNode, key: number): DraftNode {
  const kind = node.type === 'trigger' ? node.on : node.type
  return { ...node, ...('propId' in node && { propId: hexOf(node.propId) }), kind, key } as DraftNode
}

function graphNodeOf({ key: _, kind, ...fields }: DraftNode): GraphNode {
  const type = triggerKinds.includes(kind) ? { type: 'trigger', on: kind } : { type: kind }
  // Property ids may be sent in the form of schemas.
  return { ...fields, ...type } as unknown as GraphNode
}

/** A short description of a node: for the picture and for lists. */
export function nodeInWords(node: DraftNode, names: Names): string {
  switch (node.kind) {
    case 'property':
      return `${propertyName(node.serviceIdentifier, node.propId, names) || 'a value'} ${becomesText(node.to, 'changes')}`
    case 'alarm':
      return `${names.alarms.get(node.alarmId) ?? 'an alarm'} ${becomesText(node.to, 'changes state')}`
    case 'status':
      return `device ${becomesText(node.to, 'changes status')}`
    case 'condition':
      return node.logic === undefined ? 'if …' : `if ${conditionInWords(node.logic, runOperands)}`
    case 'throttle':
      return `at most every ${node.seconds === undefined ? '…' : exactDuration(node.seconds * 1_000)}`
    case 'email':
      return `mail ${node.template || '…'}`
    case 'webhook':
      return `call ${/^https?:\/\/([^/?]+)/.exec(node.url)?.[1] ?? '…'}`
  }
}

/** `temperature changes → mail too-hot`: the triggers, mails and webhooks of a graph. */
export function graphInWords({ nodes }: Draft, names: Names): string {
  const triggers = nodes.filter(isTrigger).map((node) => nodeInWords(node, names))
  const ends = nodes.filter(isEnd).map((node) => nodeInWords(node, names))
  return `${triggers.join(' or ')} → ${ends.join(', ') || 'nothing'}`
}

/** The name in the schema, or the id. `property`: `0x2000`. */
function propertyName(service: string, property: string, { schemas }: Names): string {
  return schemas.get(service)?.properties[property]?.name ?? property
}

function becomesText(to: To | undefined, otherwise: string): string {
  return to === undefined ? otherwise : `becomes ${to === null ? 'nothing' : String(to)}`
}

export interface GraphFaults {
  /** By the key of the node. */
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
