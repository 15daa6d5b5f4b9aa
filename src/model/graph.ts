import { z } from 'zod'
import { Condition, variablesIn } from '#model/condition'
import { referenceTo } from '#model/crn'
import { edgeFaults, nodeMessage } from '#model/graph-edges'
import { PropertyId, parsePropertyKey, ServiceReference, ShortName } from '#model/identifier'
import type { JsonFault } from '#model/json-value'
import { DeviceStatus } from '#model/meta'
import { utf8BytesOf } from '#model/text'
import { WebhookSecret, WebhookUrl } from '#model/webhook'

/** The graph of a function: triggers, and the nodes after them. Contract 5.4. */

/** Maximum number of nodes. Contract 5.4. */
export const graphNodesMax = 64

/** Maximum number of edges: enough for four predecessors of each node. */
export const graphEdgesMax = 256

/** Maximum size as JSON: graphs drawn by users take some KB. A function is one record, read and written whole. */
export const graphBytesMax = 65_536

/** Maximum of `seconds` of a throttle: a week. */
export const throttleSecondsMax = 604_800

/** The value of a property changed, or changed to the value `to`. */
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
  /** The id, without the prefix of a resource name. */
  readonly alarmId: string
  readonly to?: 'active' | 'inactive'
}

/** The status of a device changed, or changed to `to`. */
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

/** Sends a mail with this template to all subscribers of the function. */
export interface EmailNode {
  readonly id: string
  readonly type: 'email'
  readonly template: string
}

/** Sends a POST. Contract 12. */
export interface WebhookNode {
  readonly id: string
  readonly type: 'webhook'
  readonly url: string
  /** Only in requests, and in the answer to the request that created the secret. */
  readonly secret?: string
  /** False: nothing is sent. The receiver answered 410, or a user set it. */
  readonly enabled?: boolean
}

export type GraphNode = TriggerNode | ConditionNode | ThrottleNode | EmailNode | WebhookNode

/** Each edge leads from one node to another, by their ids. */
export interface Graph {
  readonly nodes: readonly GraphNode[]
  readonly edges: readonly (readonly [from: string, to: string])[]
}

const NodeId = ShortName

const AlarmReference = referenceTo('alarm', 'must be the id of an alarm or its resource name')

/** The id of a property, as a number, or as in paths: `"0x2000"`; the result is the number. */
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
      serviceIdentifier: ServiceReference,
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

/** The text after `meta.` is one key, or keys joined by dots. It is first looked up as one key. */
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
    z.strictObject({
      id: NodeId,
      type: z.literal('webhook'),
      url: WebhookUrl,
      secret: WebhookSecret.exactOptional(),
      enabled: z.boolean().exactOptional(),
    }),
  ],
  {
    error: ({ code }) =>
      code === 'invalid_union' ? 'must be trigger, condition, throttle, email or webhook' : undefined,
  },
)

/** Counts the elements before they are validated: a body of one megabyte may have a hundred thousand. */
const nodesFew = z
  .array(z.unknown())
  .min(1, { abort: true })
  .max(graphNodesMax, { abort: true, error: `must be at most ${graphNodesMax} nodes` })
const edgesFew = z
  .array(z.unknown())
  .max(graphEdgesMax, { abort: true, error: `must be at most ${graphEdgesMax} edges` })

/** Validates every node and edge by itself. */
const GraphParts = z.strictObject({
  nodes: nodesFew.pipe(z.array(GraphNode)),
  edges: edgesFew.pipe(z.array(z.tuple([NodeId, NodeId]))),
})

/**
 * 1–64 nodes, each reached from a trigger; no edge leads to a trigger or from a mail or webhook; no cycle; all
 * connected. The error text for a node begins with its id: `node "hot": must be …`. Contract 5.4.
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

/** The id of a node in a value that is possibly no graph. */
function idAt(value: unknown, place: number): string | undefined {
  const id = (value as { readonly nodes: readonly ({ readonly id?: unknown } | null | undefined)[] }).nodes[place]?.id
  return NodeId.safeParse(id).data
}
