import { isDeepStrictEqual } from 'node:util'
import { deliveryAddress } from '#actors/delivery/delivery'
import type { TopicNotices } from '#actors/notice-bus'
import { type Decisions, newEditId, recordsWithoutEntry } from '#actors/record-actor'
import { answerUnchanged, authorshipAfter, refusePut, ruleQuotaFault } from '#actors/tenant/authorship'
import type { TenantCommands } from '#actors/tenant/commands'
import { bindingsFault } from '#actors/tenant/groups'
import { endingIndex, functionPrefix, type TenantState } from '#actors/tenant/state'
import type { Entry } from '#model/entry'
import {
  alarmsIn,
  type FunctionBody,
  functionNodesMax,
  functionsMax,
  nodeFault,
  type StoredFunction,
} from '#model/function'
import type { GraphNode } from '#model/graph'
import { Problem, type ProblemDetail } from '#model/problem'
import { answer, type Decision, refuse, tell } from '#runtime/actor'

export const functionDecisions = {
  /**
   * Contract 5.4. An unchanged function is edited only if the author changes: the runs of the function use the author's
   * permissions.
   */
  put_function(state, { id, isNew, body, secrets, author, isNarrow }, turn) {
    const before = state.functions.get(id)
    const wanted = contentOf(body, secrets)
    const isSame = before !== undefined && isDeepStrictEqual(contentOfStored(before), wanted)
    const refusal = refusePut(before, { isNew, author }, isSame)
    if (refusal) return refusal
    if (isSame && before.updatedBy === author) return answerUnchanged(before)
    const quota = { all: state.functions, max: functionsMax, nodesOf, nodesMax: functionNodesMax, what: 'functions' }
    const problem =
      faultOf(state, wanted, before) ??
      ruleQuotaFault(state, quota, { author, isNarrow }, nodesOf(wanted), before) ??
      bindingsFault(state, wanted, before)
    if (problem) return refuse(problem)
    const stored: StoredFunction = { ...wanted, ...authorshipAfter(before, author, turn), edit: newEditId(turn) }
    return recordsWithoutEntry([{ name: `${functionPrefix}${id}`, value: stored }], {
      answer: stored,
    })
  },

  /** Contract 12. Changes nothing if the function was edited and has no such node with this URL any more. */
  disable_webhook({ functions }, { function: id, node, url }, turn) {
    const before = functions.get(id)
    const isMeant = (each: GraphNode) => each.type === 'webhook' && each.id === node && each.url === url
    if (!before?.graph.nodes.some(isMeant)) return answer(undefined)
    const nodes = before.graph.nodes.map((each) => (isMeant(each) ? { ...each, enabled: false } : each))
    const stored: StoredFunction = { ...before, graph: { ...before.graph, nodes }, edit: newEditId(turn) }
    return recordsWithoutEntry([{ name: `${functionPrefix}${id}`, value: stored }])
  },

  topic_swept(_, topic) {
    return recordsWithoutEntry([], { indexes: [{ index: endingIndex, entry: topic.function, isPresent: false }] })
  },
} satisfies Partial<Decisions<TenantState, TenantCommands>>

/**
 * Contract 5.4. The mail requests and webhooks of the function are deleted in the same commit. The subscriptions end
 * afterwards, one by one; until then the function is listed in the index of ending topics.
 */
export function decideDeleteFunction(
  { tenant, functions }: TenantState,
  { id }: TenantCommands['delete_function'],
  notices: TopicNotices,
): Decision<Entry> {
  if (!functions.has(id)) return refuse(new Problem('not_found'))
  return recordsWithoutEntry([{ name: `${functionPrefix}${id}`, value: null }], {
    indexes: [{ index: endingIndex, entry: id, isPresent: true }],
    tells: [tell(deliveryAddress(tenant, id), { type: 'forget' })],
    effects: [() => notices.topicEnded(tenant, id)],
  })
}

/**
 * The error of a node that names an unknown alarm. It is the same if the author may not see the alarm. Contract 5.4.
 */
export function alarmFault(graph: FunctionBody['graph'], place: number): ProblemDetail {
  return nodeFault(graph, place, 'must name an existing alarm')
}

/** The user-defined fields of a function. */
type FunctionContent = Pick<StoredFunction, 'name' | 'enabled' | 'devices' | 'groups' | 'graph' | 'secrets'>

function contentOf(
  { name, enabled, binding, graph }: FunctionBody,
  secrets: TenantCommands['put_function']['secrets'],
): FunctionContent {
  const { devices = null, groups = null } = binding
  return { name, enabled, devices, groups, graph, ...(secrets && { secrets }) }
}

function contentOfStored({ name, enabled, devices, groups, graph, secrets }: StoredFunction): FunctionContent {
  return { name, enabled, devices, groups, graph, ...(secrets && { secrets }) }
}

/**
 * Checks for unknown groups and alarms. The alarms are only checked if the graph is changed: when an alarm was deleted,
 * functions that use it can still be disabled, or bound to other devices.
 */
function faultOf(
  { groups, alarms }: TenantState,
  wanted: FunctionContent,
  before: StoredFunction | undefined,
): Problem | undefined {
  if (wanted.groups?.some((group) => !groups.has(group))) return new Problem('not_found')
  if (before && isDeepStrictEqual(before.graph, wanted.graph)) return undefined
  const details = alarmsIn(wanted.graph)
    .filter(({ alarm }) => !alarms.has(alarm))
    .map(({ place }) => alarmFault(wanted.graph, place))
  return details.length === 0 ? undefined : new Problem('invalid', undefined, { details })
}

function nodesOf({ graph }: Pick<StoredFunction, 'graph'>): number {
  return graph.nodes.length
}
