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

/** The value of a property changed, or changed to the value `to`. */
const propertyTrigger = z.strictObject({
  ...trigger,
  on: z.literal('property'),
  serviceIdentifier: ServiceReference,
  propId: PropertyReference,
  to: Scalar.exactOptional(),
})
export type PropertyTrigger = Readonly<z.infer<typeof propertyTrigger>>

/** An alarm became active or inactive. The result has its id, without the prefix of a resource name. */
const alarmTrigger = z.strictObject({
  ...trigger,
  on: z.literal('alarm'),
  alarmId: AlarmReference,
  to: z.enum(['active', 'inactive']).exactOptional(),
})
export type AlarmTrigger = Readonly<z.infer<typeof alarmTrigger>>

/** The status of a device changed, or changed to `to`. */
const statusTrigger = z.strictObject({ ...trigger, on: z.literal('status'), to: DeviceStatus.exactOptional() })
export type StatusTrigger = Readonly<z.infer<typeof statusTrigger>>

const Trigger = z.discriminatedUnion('on', [propertyTrigger, alarmTrigger, statusTrigger], {
  error: 'must be property, alarm or status',
})
export type TriggerNode = PropertyTrigger | AlarmTrigger | StatusTrigger

/** The text after `meta.` is one key, or keys joined by dots. It is first looked up as one key. */
const GraphCondition = Condition.superRefine((condition, context) => {
  for (const { name, path } of variablesIn(condition)) {
    if (!isGraphName(name)) context.addIssue({ code: 'custom', path: [...path], message: mustName })
  }
})

/** Passes events for which the condition is true. */
const conditionNode = z.strictObject({ id: NodeId, type: z.literal('condition'), logic: GraphCondition })
export type ConditionNode = Readonly<z.infer<typeof conditionNode>>

/** Passes an event at most once in this time, for each device. */
const throttleNode = z.strictObject({
  id: NodeId,
  type: z.literal('throttle'),
  seconds: z.int().min(1).max(throttleSecondsMax),
})
export type ThrottleNode = Readonly<z.infer<typeof throttleNode>>

/** Sends a mail with this template to all subscribers of the function. */
const emailNode = z.strictObject({ id: NodeId, type: z.literal('email'), template: ShortName })
export type EmailNode = Readonly<z.infer<typeof emailNode>>

/** Sends a POST. Contract 12. */
const webhookNode = z.strictObject({
  id: NodeId,
  type: z.literal('webhook'),
  url: WebhookUrl,
  /** Only in requests, and in the answer to the request that created the secret. */
  secret: WebhookSecret.exactOptional(),
  /** False: nothing is sent. The receiver answered 410, or a user set it. */
  enabled: z.boolean().exactOptional(),
})
export type WebhookNode = Readonly<z.infer<typeof webhookNode>>

export const GraphNode = z.discriminatedUnion('type', [Trigger, conditionNode, throttleNode, emailNode, webhookNode], {
  error: ({ code }) =>
    code === 'invalid_union' ? 'must be trigger, condition, throttle, email or webhook' : undefined,
})
export type GraphNode = TriggerNode | ConditionNode | ThrottleNode | EmailNode | WebhookNode

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
