import { z } from 'zod'
import { Condition } from '#model/condition'
import { isServerMadeId, PropertyId, ServiceIdentifier, ShortName } from '#model/identifier'
import { DeviceStatus } from '#model/meta'

/** What a function does: nodes, and which follows which. Contract 5.4. */

export const graphNodesMax = 64
export const graphEdgesMax = 256

/** As JSON. */
export const graphBytesMax = 65_536

/** A week, in seconds: what may be told more seldom is a report. */
export const throttleSecondsMax = 604_800

/** Where a run begins. `to`: only when it came to be this. */
export type TriggerNode = { readonly id: string; readonly type: 'trigger' } & (
  | PropertyTrigger
  | AlarmTrigger
  | StatusTrigger
)

/** A property has another value. */
export interface PropertyTrigger {
  readonly on: 'property'
  readonly serviceIdentifier: string
  readonly propId: number
  readonly to?: boolean | number | string | null
}

/** An alarm began or ended. `alarmId` is its bare id. */
export interface AlarmTrigger {
  readonly on: 'alarm'
  readonly alarmId: string
  readonly to?: 'active' | 'inactive'
}

/** A device has another status. */
export interface StatusTrigger {
  readonly on: 'status'
  readonly to?: DeviceStatus
}

/** Lets through when `logic` is true. */
export interface ConditionNode {
  readonly id: string
  readonly type: 'condition'
  readonly logic: Condition
}

/** Lets through once in so many seconds, for each device. */
export interface ThrottleNode {
  readonly id: string
  readonly type: 'throttle'
  readonly seconds: number
}

/** Tells whoever is subscribed. `template` is its name. */
export interface EmailNode {
  readonly id: string
  readonly type: 'email'
  readonly template: string
}

export type GraphNode = TriggerNode | ConditionNode | ThrottleNode | EmailNode

/** Edges are pairs of node ids, from and to. */
export interface Graph {
  readonly nodes: readonly GraphNode[]
  readonly edges: readonly (readonly [string, string])[]
}

const id = z.string().regex(/^[A-Za-z0-9._-]{1,64}$/, 'must consist of letters, digits and . _ -')
const trigger = { id, type: z.literal('trigger') }

const Trigger = z.discriminatedUnion('on', [
  z.strictObject({
    ...trigger,
    on: z.literal('property'),
    serviceIdentifier: ServiceIdentifier,
    propId: PropertyId,
    to: z.union([z.boolean(), z.number(), z.string(), z.null()]).optional(),
  }),
  z.strictObject({
    ...trigger,
    on: z.literal('alarm'),
    alarmId: z.string().refine(isServerMadeId),
    to: z.enum(['active', 'inactive']).optional(),
  }),
  z.strictObject({ ...trigger, on: z.literal('status'), to: DeviceStatus.optional() }),
])

const Node = z.discriminatedUnion('type', [
  Trigger,
  z.strictObject({ id, type: z.literal('condition'), logic: Condition }),
  z.strictObject({ id, type: z.literal('throttle'), seconds: z.int().min(1).max(throttleSecondsMax) }),
  z.strictObject({ id, type: z.literal('email'), template: ShortName }),
])

export const Graph = z.strictObject({
  nodes: z.array(Node).min(1).max(graphNodesMax),
  edges: z.array(z.tuple([id, id])).max(graphEdgesMax),
}) as unknown as z.ZodType<Graph>
