import { z } from 'zod'
import { type Authored, authorshipFields, authorshipOf } from '#model/authorship'
import { formatCrn, ResourceIdentifier } from '#model/crn'
import { Graph } from '#model/graph'
import { nodeMessage } from '#model/graph-edges'
import { BoundDevices, BoundGroups, BoundName, type DeviceBinding } from '#model/group'
import type { ProblemDetail } from '#model/problem'

/** Functions: graphs that run on events of a device. §2.6, contract 5.4. */

/** Maximum number of functions of a tenant. */
export const functionsMax = 1_000

/**
 * Maximum number of nodes in the graphs of a tenant's functions: all functions may apply to one device, and listing
 * their triggers must take at most 20 ms.
 */
export const functionNodesMax = 16_000

/**
 * The function applies to the devices in `devices` and `groups` together; if both are absent, to all devices, and if
 * they are empty, to none.
 */
const Binding = z.strictObject({ devices: BoundDevices.optional(), groups: BoundGroups.optional() })

const fields = { name: BoundName, binding: Binding, graph: Graph }

/** A function in a request that creates it. */
export const FunctionBody = z.strictObject({ ...fields, enabled: z.boolean().default(true) })
export type FunctionBody = Readonly<z.infer<typeof FunctionBody>>

/** The fields to change; `binding` and `graph` are replaced whole. */
export const FunctionPatch = z.strictObject({ ...fields, enabled: z.boolean() }).partial()
export type FunctionPatch = Readonly<z.infer<typeof FunctionPatch>>

/**
 * A stored function. `updatedBy` is its author, whose permissions count when it runs. `edit` is a random number that
 * differs after every change.
 */
export interface StoredFunction extends Authored, DeviceBinding {
  readonly name: string
  readonly enabled: boolean
  /** Without the secrets of webhooks. */
  readonly graph: Graph
  /** The sealed secrets of its webhooks. Absent: it has no webhooks. */
  readonly secrets?: readonly StoredWebhookSecret[]
  readonly edit: number
}

export interface StoredWebhookSecret {
  readonly node: string
  readonly sealed: Uint8Array
}

/** A function as the API returns it. */
export const FunctionEntry = z.object({
  ...fields,
  enabled: z.boolean(),
  resourceIdentifier: ResourceIdentifier,
  ...authorshipFields,
})
export type FunctionEntry = Readonly<z.infer<typeof FunctionEntry>>

export function functionEntryOf(id: string, stored: StoredFunction): FunctionEntry {
  const { name, enabled, devices, groups, graph } = stored
  return {
    name,
    enabled,
    binding: { ...(devices && { devices: [...devices] }), ...(groups && { groups: [...groups] }) },
    graph,
    resourceIdentifier: formatCrn({ type: 'function', id }),
    ...authorshipOf(stored),
  }
}

/** An alarm that a graph names: the node, and its index among the nodes. */
export interface NamedAlarm {
  readonly node: string
  readonly place: number
  readonly alarm: string
}

/** The alarms that a graph names, in the order of the nodes. The tenant checks whether the alarms exist. */
export function alarmsIn({ nodes }: Graph): readonly NamedAlarm[] {
  return nodes.flatMap((node, place) =>
    node.type === 'trigger' && node.on === 'alarm' ? [{ node: node.id, place, alarm: node.alarmId }] : [],
  )
}

/** A fault of the node at this index. `message`: "must …". Contract 5.4. */
export function nodeFault({ nodes }: Graph, place: number, message: string): ProblemDetail {
  return { path: `graph.nodes.${place}`, message: nodeMessage(nodes[place]?.id ?? '', message) }
}
