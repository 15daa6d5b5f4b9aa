import { isDeepStrictEqual } from 'node:util'
import { deliveryAddress } from '#actors/delivery/address'
import type { TopicNotices } from '#actors/delivery/notices'
import { newEdit } from '#actors/edit'
import { keep } from '#actors/kept'
import type { RuleNotices } from '#actors/rule-notices'
import { endingIndex } from '#actors/tenant/address'
import { authoredBy, decideMisput, ruleQuotaFault, unchanged } from '#actors/tenant/authored'
import { bindingsFault } from '#actors/tenant/bindings'
import type { DeleteFunction, PutFunction, TopicSwept } from '#actors/tenant/commands'
import { functionRecord, type TenantState } from '#actors/tenant/state'
import type { Entry } from '#model/entry'
import {
  alarmsNamed,
  type FunctionBody,
  functionNodesMax,
  functionsMax,
  nodeFault,
  type StoredFunction,
} from '#model/function'
import { Problem, type ProblemDetail } from '#model/problem'
import { type Decision, refuse, type Turn, tell } from '#runtime/actor'

/** Contract 5.4. One that is put again unchanged is an edit only of somebody else: it runs by what its author may read. */
export function decidePutFunction(
  state: TenantState,
  { id, isNew, body, author, isNarrow }: PutFunction,
  turn: Turn,
  notices: RuleNotices,
): Decision<Entry> {
  const before = state.functions.get(id)
  const wanted = contentOf(body)
  const isSame = before !== undefined && isDeepStrictEqual(contentOfStored(before), wanted)
  const misput = decideMisput(before, { isNew, author }, isSame)
  if (misput) return misput
  if (isSame && before.updatedBy === author) return unchanged(before)
  const quota = { all: state.functions, max: functionsMax, nodesOf, nodesMax: functionNodesMax, what: 'functions' }
  const problem =
    faultOf(state, wanted, before) ??
    ruleQuotaFault(state, quota, { author, isNarrow }, nodesOf(wanted), before) ??
    bindingsFault(state, wanted, before)
  if (problem) return refuse(problem)
  const stored: StoredFunction = { ...wanted, ...authoredBy(before, author, turn), edit: newEdit(turn) }
  return keep([{ name: functionRecord(id), value: stored }], {
    effects: [() => notices.functionChanged(state.tenant, id, stored)],
    answer: stored,
  })
}

/**
 * Contract 5.4. What was to be told of it is forgotten in the same commit; its subscriptions end behind it, one by one, and
 * until they have it stands in the index of those that end.
 */
export function decideDeleteFunction(
  { tenant, functions }: TenantState,
  { id }: DeleteFunction,
  notices: RuleNotices & TopicNotices,
): Decision<Entry> {
  if (!functions.has(id)) return refuse(new Problem('not_found'))
  return keep([{ name: functionRecord(id), value: null }], {
    indexes: [{ index: endingIndex, entry: id, isPresent: true }],
    tells: [tell(deliveryAddress(tenant, id), { type: 'forget' })],
    effects: [() => notices.functionChanged(tenant, id, undefined), () => notices.topicEnded(tenant, id)],
  })
}

/** Undoes what stands of it in the index. */
export function decideTopicSwept(topic: TopicSwept): Decision<Entry> {
  return keep([], { indexes: [{ index: endingIndex, entry: topic.function, isPresent: false }] })
}

/**
 * What is wrong with a node whose alarm nobody knows: the same for one that is not there and for one that is there and out
 * of the author's sight. Contract 5.4.
 */
export function alarmFault(graph: FunctionBody['graph'], place: number): ProblemDetail {
  return nodeFault(graph, place, 'must name an alarm that is there')
}

/** What of a function people say. */
type FunctionContent = Pick<StoredFunction, 'name' | 'enabled' | 'devices' | 'groups' | 'graph'>

function contentOf({ name, enabled, binding, graph }: FunctionBody): FunctionContent {
  const { devices = null, groups = null } = binding
  return { name, enabled, devices, groups, graph }
}

function contentOfStored({ name, enabled, devices, groups, graph }: StoredFunction): FunctionContent {
  return { name, enabled, devices, groups, graph }
}

/**
 * Groups and alarms that are not there. An alarm may be deleted from under a function, which then still has to be disabled
 * or bound otherwise: so only another graph is looked at.
 */
function faultOf(
  { groups, alarms }: TenantState,
  wanted: FunctionContent,
  before: StoredFunction | undefined,
): Problem | undefined {
  if (wanted.groups?.some((group) => !groups.has(group))) return new Problem('not_found')
  if (before && isDeepStrictEqual(before.graph, wanted.graph)) return undefined
  const details = alarmsNamed(wanted.graph)
    .filter(({ alarm }) => !alarms.has(alarm))
    .map(({ place }) => alarmFault(wanted.graph, place))
  return details.length === 0 ? undefined : new Problem('invalid', undefined, { details })
}

function nodesOf({ graph }: Pick<StoredFunction, 'graph'>): number {
  return graph.nodes.length
}
