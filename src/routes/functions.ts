import { isDeepStrictEqual } from 'node:util'
import { type SealedBody, withMadeSecrets } from '#access/webhook-secrets'
import { deliveryAddress } from '#actors/delivery/delivery'
import { type TenantCommand, tenantAddress } from '#actors/tenant/commands'
import { alarmFault } from '#actors/tenant/functions'
import * as api from '#api/functions'
import { type Binding, bind, type Reply } from '#http/call'
import type { Caller } from '#model/caller'
import {
  alarmsIn,
  type FunctionBody,
  type FunctionEntry,
  type FunctionPatch,
  functionEntryOf,
  nodeFault,
  type StoredFunction,
} from '#model/function'
import type { Graph } from '#model/graph'
import { randomId, seededRandom } from '#model/identifier'
import { Problem } from '#model/problem'
import type { Action } from '#model/scope'
import { deliveriesOf } from '#model/webhook'
import { authorOf, checkBindings, isVisible, membersIn } from '#routes/bound-visibility'
import type { RouteContext } from '#routes/context'
import { tryFunction } from '#routes/function-test'
import { textReply } from '#routes/replies'
import { tenantResources } from '#routes/tenant-resources'

/** Routes for functions. Contract 5.1, 5.4. */
export function functionRoutes(context: RouteContext): Binding[] {
  const { system } = context
  const functions = tenantResources<StoredFunction>(context, {
    path: '/functions',
    all: (tenant) => tenant.functions,
    isVisible: ({ scope }, action, stored, tenant) => isVisible(scope, resource, action, stored, membersIn(tenant)),
    entryOf: functionEntryOf,
  })
  return [
    bind(api.listFunctions, functions.list),

    bind(api.createFunction, async (call) => {
      const { caller, body, bodyBytes, seed } = call
      const id = randomId(seededRandom(seed))
      let made: SealedBody['made'] = new Map()
      const stored = await system.askAtOnce(() => {
        checkMayBind(context, caller, 'create', body)
        mustSeeAlarms(context, caller, body.graph)
        checkReceivers(context, body.graph)
        const put = putOf(context, caller, id, body)
        made = put.made
        return { to: tenantAddress(caller.tenant), command: put.command, bytes: bodyBytes.byteLength }
      })
      return withSecrets(functions.created(call, id, stored), made)
    }),

    bind(api.readFunction, (call) => functions.read(call, call.parameters.functionId)),

    bind(api.updateFunction, async (call) => {
      const { caller, body: change, bodyBytes } = call
      const { functionId: id } = call.parameters
      let made: SealedBody['made'] = new Map()
      const stored = await system.askAtOnce(() => {
        const before = functions.existing(caller, 'update', id)
        const body = bodyAfter(before, change)
        checkMayBind(context, caller, 'update', body)
        // Checked only for a changed graph: the existing one may name deleted alarms, and receivers that are no longer
        // allowed.
        if (!isDeepStrictEqual(body.graph, before.graph)) {
          mustSeeAlarms(context, caller, body.graph)
          checkReceivers(context, body.graph)
        }
        functions.mustMatchTag(call, id, before)
        const put = putOf(context, caller, id, body, before)
        made = put.made
        return { to: tenantAddress(caller.tenant), command: put.command, bytes: bodyBytes.byteLength }
      })
      return withSecrets(functions.changed(call, id, stored), made)
    }),

    bind(api.deleteFunction, (call) => {
      const { functionId: id } = call.parameters
      return functions.remove(call, id, { type: 'delete_function', id })
    }),

    bind(api.listDeliveries, ({ caller, parameters: { functionId: id } }) => {
      functions.existing(caller, 'read', id)
      const { webhooks, results } = system.peek(deliveryAddress(caller.tenant, id))
      return textReply(context, JSON.stringify(deliveriesOf(webhooks.values(), results.values())))
    }),

    bind(api.testFunction, ({ caller, parameters: { functionId: id }, body: { sample } }) =>
      tryFunction(context, caller, { id, stored: functions.existing(caller, 'read', id) }, sample),
    ),
  ]
}

const resource = 'functions'

/**
 * Checks that the caller may bind a function to these devices, and may read the services whose values it sends.
 * @throws Problem `not_found`
 */
function checkMayBind(context: RouteContext, { tenant, scope }: Caller, action: Action, body: FunctionBody): void {
  const { devices = null, groups = null } = body.binding
  const membersOf = membersIn(context.system.wake(tenantAddress(tenant)))
  checkBindings(scope, resource, action, { devices, groups }, membersOf, servicesNamed(body.graph))
}

/** @throws Problem `invalid` that names the webhooks whose receivers are not allowed. Contract 12 */
function checkReceivers({ notifications: { webhookSender } }: RouteContext, graph: Graph): void {
  const details = graph.nodes.flatMap((node, place) => {
    const fault = node.type === 'webhook' ? webhookSender.faultOf(node.url) : undefined
    return fault === undefined ? [] : [nodeFault(graph, place, fault)]
  })
  if (details.length > 0) throw new Problem('invalid', undefined, { details })
}

/**
 * The command, without secrets in clear, and the secrets that were made for it. A repeated request keeps the secrets of
 * the first one.
 */
function putOf(
  context: RouteContext,
  caller: Caller,
  id: string,
  given: FunctionBody,
  before?: StoredFunction,
): { readonly command: TenantCommand; readonly made: SealedBody['made'] } {
  const { tenant } = caller
  const stored = before ?? context.system.wake(tenantAddress(tenant)).functions.get(id)
  const { body, secrets, made } = context.notifications.webhookSecrets.seal({ tenant, function: id }, given, stored)
  const author = authorOf(caller, resource)
  return { command: { type: 'put_function', id, isNew: !before, body, ...(secrets && { secrets }), ...author }, made }
}

/**
 * The only answer with the new secrets. A repeated request gets no secrets, because none is stored in clear.
 */
function withSecrets(reply: Reply, made: SealedBody['made']): Reply {
  const entry = reply.json as Partial<FunctionEntry>
  // Without a graph, the caller may not read the function.
  if (made.size === 0 || !entry.graph) return reply
  const json = { ...entry, graph: withMadeSecrets(entry.graph, made) }
  return { ...reply, headers: { ...reply.headers, 'Cache-Control': 'no-store' }, json, repeatedJson: entry }
}

function servicesNamed({ nodes }: Graph): readonly string[] {
  const named = nodes.flatMap((node) =>
    node.type === 'trigger' && node.on === 'property' ? [node.serviceIdentifier] : [],
  )
  return [...new Set(named)]
}

/** @throws Problem `invalid` that names the nodes whose alarms the caller cannot see */
function mustSeeAlarms(context: RouteContext, caller: Caller, graph: Graph): void {
  const tenant = context.system.wake(tenantAddress(caller.tenant))
  const membersOf = membersIn(tenant)
  const details = alarmsIn(graph)
    .filter(({ alarm: id }) => {
      const alarm = tenant.alarms.get(id)
      return !alarm || !isVisible(caller.scope, 'alarms', 'read', alarm, membersOf)
    })
    .map(({ place }) => alarmFault(graph, place))
  if (details.length > 0) throw new Problem('invalid', undefined, { details })
}

function bodyAfter(before: StoredFunction, change: FunctionPatch): FunctionBody {
  const { devices, groups } = before
  return {
    name: change.name ?? before.name,
    enabled: change.enabled ?? before.enabled,
    binding: change.binding ?? { ...(devices && { devices: [...devices] }), ...(groups && { groups: [...groups] }) },
    graph: change.graph ?? before.graph,
  }
}
