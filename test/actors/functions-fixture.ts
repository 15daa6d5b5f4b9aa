import type { DeliveryCommands } from '#actors/delivery/delivery'
import type { Condition } from '#model/condition'
import type { Entry, Stamps } from '#model/entry'
import type { StoredFunction } from '#model/function'
import type { Graph, GraphNode } from '#model/graph'
import { everything, type Scope } from '#model/scope'
import { FunctionViews } from '#rules/function-views'
import type { Decision } from '#runtime/actor'
import { DeviceWithAlarms } from '#test/actors/alarms-fixture'
import { edits } from '#test/rules/stored-rules'
import { atOnce } from '#test/rules/synchronous-slices'

export function storedFunction(graph: Graph, more: Partial<StoredFunction> = {}): StoredFunction {
  return { name: 'Mail me', enabled: true, devices: null, groups: null, graph, ...edits, ...more }
}

export function chain(...nodes: readonly GraphNode[]): Graph {
  return { nodes, edges: nodes.slice(1).map((node, place) => [nodes[place]?.id ?? '', node.id] as const) }
}

type To = boolean | number | string | null

export function onProperty(propId: number, to?: To, serviceIdentifier = 'svc'): GraphNode {
  return { id: 'when', type: 'trigger', on: 'property', serviceIdentifier, propId, ...(to !== undefined && { to }) }
}

export const mail: GraphNode = { id: 'mail', type: 'email', template: 'words' }

export const hook: GraphNode = { id: 'hook', type: 'webhook', url: 'https://a.example' }

export function throttle(seconds: number, id = 'throttle'): GraphNode {
  return { id, type: 'throttle', seconds }
}

export function condition(logic: Condition): GraphNode {
  return { id: 'if', type: 'condition', logic }
}

/** Functions of tenants. Every author has the scope that `scopeOf` returns. */
export function functionViews(scopeOf: () => Scope = () => everything, mailsPerHourMax = 60): FunctionViews {
  return new FunctionViews({ mailsPerHourMax, scopeOf, runInSlices: atOnce, log: { info: () => {} } })
}

/** A device without a runtime, in a tenant with functions and alarms. */
export class DeviceWithFunctions extends DeviceWithAlarms {
  readonly functions: FunctionViews

  constructor() {
    const functions = functionViews(() => this.scope)
    super(functions)
    this.functions = functions
    this.functions.load([])
  }

  put(id: string, stored: StoredFunction | undefined): void {
    this.functions.functionChanged('default', id, stored)
  }

  /** The times at which the throttles of the device last passed an event. */
  get stamps(): Record<string, number> {
    return Object.fromEntries(this.state.throttles)
  }
}

/** The mail requests of a turn, as `F1/mail 5, was null`. */
export function requestsOf(decision: Decision<Entry>): string[] {
  return askedOf(decision).map(
    ({ fn, request: { node, value, previous } }) =>
      `${fn}/${node} ${JSON.stringify(value)}, was ${JSON.stringify(previous)}`,
  )
}

export function askedOf(decision: Decision<Entry>) {
  if (decision.type !== 'record') return []
  return (decision.tells ?? []).flatMap(({ to, command }) =>
    to.kind === 'delivery'
      ? [{ fn: to.id, tenant: to.tenant, request: (command as DeliveryCommands['request']).request }]
      : [],
  )
}

/** The throttle times in the reports of a turn. */
export function stampsIn(decision: Decision<Entry>): Stamps[] {
  if (decision.type !== 'record') return []
  return decision.events.flatMap((entry) =>
    entry.kind === 'reported' && entry.throttles !== undefined ? [entry.throttles] : [],
  )
}
