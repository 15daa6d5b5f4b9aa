import { z } from 'zod'
import { Condition, variablesIn } from '#model/condition'
import { idOfCrn } from '#model/crn'
import { isServerMadeId, PropertyId, parsePropertyKey, ServiceIdentifier, ShortName } from '#model/identifier'
import type { JsonFault } from '#model/json-value'
import { DeviceStatus } from '#model/meta'
import { utf8BytesOf } from '#model/text'

/** The graph of a function: triggers, and the nodes after them. Contract 5.4. */

/** Contract 5.4. */
export const graphNodesMax = 64

/** A few predecessors for each node. */
export const graphEdgesMax = 256

/** As JSON: graphs drawn by users take some KB. A function is one record, read and written whole. */
export const graphBytesMax = 65_536

/** A week: anything less frequent belongs in a report. */
export const throttleSecondsMax = 604_800

/** A property of a service changed its value, or changed to this one. */
export interface PropertyTrigger {
  readonly id: string
  readonly type: 'trigger'
  readonly on: 'property'
  readonly serviceIdentifier: string
  readonly propId: number
  readonly to?: boolean | number | string | null
}

/** An alarm became active or inactive. */
export interface AlarmTrigger {
  readonly id: string
  readonly type: 'trigger'
  readonly on: 'alarm'
  /** Without a prefix. */
  readonly alarmId: string
  readonly to?: 'active' | 'inactive'
}

/** A device connected or disconnected. */
export interface StatusTrigger {
  readonly id: string
  readonly type: 'trigger'
  readonly on: 'status'
  readonly to?: DeviceStatus
}

export type TriggerNode = PropertyTrigger | AlarmTrigger | StatusTrigger

/** Passes events for which the condition is true. */
export interface ConditionNode {
  readonly id: string
  readonly type: 'condition'
  readonly logic: Condition
}

/** Passes an event at most once in this time, for each device. */
export interface ThrottleNode {
  readonly id: string
  readonly type: 'throttle'
  readonly seconds: number
}

/** Sends a mail with this template to all subscribers. */
export interface EmailNode {
  readonly id: string
  readonly type: 'email'
  readonly template: string
}

export type GraphNode = TriggerNode | ConditionNode | ThrottleNode | EmailNode

/** An edge leads from one node id to the next. */
export interface Graph {
  readonly nodes: readonly GraphNode[]
  readonly edges: readonly (readonly [from: string, to: string])[]
}

const NodeId = ShortName

/** By its id or its resource name; the result is the id. Contract 1.7. */
const AlarmReference = z
  .string()
  .refine((text) => alarmIdOf(text) !== undefined, 'must be the id of an alarm or its resource name')
  .overwrite((text) => alarmIdOf(text) ?? text)

/** As a number, or as in paths: `"0x2000"`; the result is the number. */
const PropertyReference = z.union([PropertyId, z.string().transform(parsePropertyKey).pipe(PropertyId)], {
  error: 'must be the id of a property, such as 8192 or "0x2000"',
})

/** A value to compare a property with; lists are not compared. */
const Scalar = z.union([z.boolean(), z.number(), z.string().refine((text) => text.isWellFormed()), z.null()], {
  error: 'must be a text, a number, true, false or null',
})

const trigger = { id: NodeId, type: z.literal('trigger') }

const Trigger = z.discriminatedUnion(
  'on',
  [
    z.strictObject({
      ...trigger,
      on: z.literal('property'),
      serviceIdentifier: ServiceIdentifier,
      propId: PropertyReference,
      to: Scalar.exactOptional(),
    }),
    z.strictObject({
      ...trigger,
      on: z.literal('alarm'),
      alarmId: AlarmReference,
      to: z.enum(['active', 'inactive']).exactOptional(),
    }),
    z.strictObject({ ...trigger, on: z.literal('status'), to: DeviceStatus.exactOptional() }),
  ],
  { error: 'must be property, alarm or status' },
)

/** After `meta.` comes a key, or keys joined by dots: the whole rest is tried as a key first. */
const GraphCondition = Condition.superRefine((condition, context) => {
  for (const { name, path } of variablesIn(condition)) {
    if (!isGraphName(name)) context.addIssue({ code: 'custom', path: [...path], message: mustName })
  }
})

/** One node by itself, as in the type `GraphNode`. */
export const GraphNode = z.discriminatedUnion(
  'type',
  [
    Trigger,
    z.strictObject({ id: NodeId, type: z.literal('condition'), logic: GraphCondition }),
    z.strictObject({
      id: NodeId,
      type: z.literal('throttle'),
      seconds: z.int().min(1).max(throttleSecondsMax),
    }),
    z.strictObject({ id: NodeId, type: z.literal('email'), template: ShortName }),
  ],
  { error: ({ code }) => (code === 'invalid_union' ? 'must be trigger, condition, throttle or email' : undefined) },
)

/** Counted before the elements are validated: a megabyte holds a hundred thousand. */
const nodesFew = z
  .array(z.unknown())
  .min(1, { abort: true })
  .max(graphNodesMax, { abort: true, error: `must be at most ${graphNodesMax} nodes` })
const edgesFew = z
  .array(z.unknown())
  .max(graphEdgesMax, { abort: true, error: `must be at most ${graphEdgesMax} edges` })

/** Every node and edge by itself. */
const GraphParts = z.strictObject({
  nodes: nodesFew.pipe(z.array(GraphNode)),
  edges: edgesFew.pipe(z.array(z.tuple([NodeId, NodeId]))),
})

/**
 * 1–64 nodes, each reached from a trigger; no edge leads to a trigger or from a mail; no cycle; all connected. The
 * fault of a node has its id in front: `node "hot": must be …`. Contract 5.4.
 */
export const Graph: z.ZodType<Graph> = z.unknown().transform((value, context): Graph => {
  const result = GraphParts.safeParse(value)
  if (!result.success) {
    for (const issue of result.error.issues) {
      const place = issue.path[0] === 'nodes' ? issue.path[1] : undefined
      const id = typeof place === 'number' ? idAt(value, place) : undefined
      const message = id === undefined ? issue.message : nodeMessage(id, issue.message)
      context.issues.push({ ...issue, message, input: value } as z.core.$ZodRawIssue)
    }
    return z.NEVER
  }
  const graph: Graph = result.data
  const isLarge = utf8BytesOf(JSON.stringify(graph)) > graphBytesMax
  const faults = isLarge ? [tooLarge] : edgeFaults(graph)
  for (const { path, message } of faults) context.addIssue({ code: 'custom', path: [...path], message })
  return faults.length === 0 ? graph : z.NEVER
})

const tooLarge: JsonFault = { path: [], message: `must be at most ${graphBytesMax} bytes as JSON` }

const metaStart = 'meta.'

const graphNames: ReadonlySet<string> = new Set(['value', 'previous', 'device', 'time', 'meta'])

const mustName = `must be ${[...graphNames].join(', ')} or meta.<key>`

function isGraphName(name: string): boolean {
  return graphNames.has(name) || (name.startsWith(metaStart) && name.length > metaStart.length)
}

/** The id of a node in a value that may not be a graph. */
function idAt(value: unknown, place: number): string | undefined {
  const id = (value as { readonly nodes: readonly ({ readonly id?: unknown } | null | undefined)[] }).nodes[place]?.id
  return NodeId.safeParse(id).data
}

function alarmIdOf(text: string): string | undefined {
  return isServerMadeId(text) ? text : idOfCrn(text, 'alarm')
}

/** Rules for the edges of a graph. Contract 5.4. */

/** The error text for a fault of a node. */
export function nodeMessage(id: string, message: string): string {
  return `node "${id}": ${message}`
}

/**
 * All faults of the edges, each with its node; each node and edge must be valid by itself. A check that another fault
 * makes impossible is left out.
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

/** Triggers have no predecessors, and mails have no successors. */
function roleFaults(nodes: readonly GraphNode[], edges: Edges): readonly JsonFault[] {
  const faults: JsonFault[] = []
  for (const [place, [from, to]] of edges.entries()) {
    const [before, after] = [nodes[from], nodes[to]]
    const path = ['edges', place]
    if (after?.type === 'trigger')
      faults.push({ path, message: nodeMessage(after.id, 'is a trigger: no edge may lead to it') })
    if (before?.type === 'email')
      faults.push({ path, message: nodeMessage(before.id, 'is a mail: no edge may lead from it') })
  }
  if (!nodes.some(({ type }) => type === 'trigger')) faults.push({ path: ['nodes'], message: 'must have a trigger' })
  return faults
}

/** The first cycle found, at the node at which it was entered. */
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
