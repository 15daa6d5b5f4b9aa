import { isDeepStrictEqual } from 'node:util'
import { type Decisions, newEditId, recordsWithoutEntry } from '#actors/record-actor'
import { answerUnchanged, authorshipAfter, refusePut, ruleQuotaFault } from '#actors/tenant/authorship'
import type { TenantCommands } from '#actors/tenant/commands'
import { bindingsFault } from '#actors/tenant/groups'
import { alarmPrefix, evaluatedPrefix, type StoredEvaluated, type TenantState } from '#actors/tenant/state'
import { type AlarmBody, alarmNodesMax, alarmsMax, type StoredAlarm } from '#model/alarm'
import { namesIn } from '#model/condition'
import type { AlarmSet } from '#model/entry'
import { Problem } from '#model/problem'
import { unknownNamesIn } from '#rules/property-name'
import { answer, record, refuse, type Turn } from '#runtime/actor'

export const alarmDecisions = {
  /**
   * Contract 5.3. An unchanged alarm causes no event, unless the author changes: the author's permissions decide what the
   * alarm reads.
   */
  put_alarm(state, { id, isNew, body, author, isNarrow }, turn) {
    const before = state.alarms.get(id)
    const wanted = contentOf(body)
    const isSame = before !== undefined && isDeepStrictEqual(contentOf(before), wanted)
    const refusal = refusePut(before, { isNew, author }, isSame)
    if (refusal) return refusal
    if (isSame && before.updatedBy === author) return answerUnchanged(before)
    const quota = { all: state.alarms, max: alarmsMax, nodesOf, nodesMax: alarmNodesMax, what: 'alarms' }
    const problem =
      faultOf(state, wanted) ??
      ruleQuotaFault(state, quota, { author, isNarrow }, nodesOf(wanted), before) ??
      bindingsFault(state, wanted, before)
    if (problem) return refuse(problem)
    const stored: StoredAlarm = {
      ...wanted,
      ...authorshipAfter(before, author, turn),
      edit: newEditId(turn),
      ...conditionAtOf(before, wanted, turn),
    }
    const entry: AlarmSet = { kind: 'alarm_set', alarm: id, at: turn.now, stored }
    // An alarm has a record of its sweep from its creation until, after its deletion, no device has a state of it.
    const evaluated = state.evaluated.has(id) ? [] : [{ name: `${evaluatedPrefix}${id}`, value: neverEvaluated }]
    return record([entry], {
      records: [{ name: `${alarmPrefix}${id}`, value: stored }, ...evaluated],
      answer: stored,
    })
  },

  delete_alarm({ alarms }, { id }, { now }) {
    const before = alarms.get(id)
    if (!before) return refuse(new Problem('not_found'))
    const { devices, groups } = before
    return record([{ kind: 'alarm_deleted', alarm: id, at: now, devices, groups }], {
      records: [{ name: `${alarmPrefix}${id}`, value: null }],
    })
  },

  /** Ignored for an alarm without a record of its sweep: the sweep has ended. */
  sweep_progress({ evaluated }, { alarm, digest, cursor }) {
    const before = evaluated.get(alarm)
    if (!before) return answer(undefined)
    const value: StoredEvaluated = { ...before, sweeping: digest, cursor }
    return recordsWithoutEntry([{ name: `${evaluatedPrefix}${alarm}`, value }])
  },

  /** Ignored for an alarm that was created or deleted meanwhile: another sweep follows that change. */
  sweep_done({ alarms, evaluated }, { alarm, digest }) {
    const isGone = digest === ''
    if (!evaluated.has(alarm) || alarms.has(alarm) === isGone) return answer(undefined)
    const value: StoredEvaluated | null = isGone ? null : { digest, sweeping: null, cursor: '' }
    return recordsWithoutEntry([{ name: `${evaluatedPrefix}${alarm}`, value }])
  },
} satisfies Partial<Decisions<TenantState, TenantCommands>>

/** When the alarm got its current condition; empty if it has had this condition since its creation. */
function conditionAtOf(
  before: StoredAlarm | undefined,
  { condition, serviceIdentifier }: AlarmContent,
  { now }: Turn,
): Pick<StoredAlarm, 'conditionAt'> {
  if (!before) return {}
  const isSame = isDeepStrictEqual([before.condition, before.serviceIdentifier], [condition, serviceIdentifier])
  const conditionAt = isSame ? before.conditionAt : now
  return conditionAt === undefined ? {} : { conditionAt }
}

const neverEvaluated: StoredEvaluated = { digest: '', sweeping: null, cursor: '' }

/** The user-defined fields of an alarm. */
type AlarmContent = Omit<StoredAlarm, 'createdBy' | 'createdAt' | 'updatedBy' | 'updatedAt' | 'edit' | 'conditionAt'>

function contentOf(source: AlarmBody | StoredAlarm): AlarmContent {
  const { name, severity, serviceIdentifier, condition, forSeconds = 0, devices = null, groups = null } = source
  return { name, severity, serviceIdentifier, condition, forSeconds, devices, groups }
}

/** Checks for unknown groups and for names that the schema lacks. Without a schema any name is accepted. */
function faultOf({ groups, schemas }: TenantState, wanted: AlarmContent): Problem | undefined {
  if (wanted.groups?.some((group) => !groups.has(group))) return new Problem('not_found')
  const schema = schemas.get(wanted.serviceIdentifier)
  if (!schema) return undefined
  const details = unknownNamesIn(wanted.condition, schema, 'condition')
  return details.length === 0 ? undefined : new Problem('invalid', undefined, { details })
}

/**
 * Caches the number of nodes of each stored alarm: counting the nodes of ten thousand conditions at each edit would
 * take long.
 */
const nodesKnown = new WeakMap<Pick<StoredAlarm, 'condition'>, number>()

function nodesOf(alarm: Pick<StoredAlarm, 'condition'>): number {
  const known = nodesKnown.get(alarm)
  if (known !== undefined) return known
  const { nodes } = namesIn(alarm.condition)
  nodesKnown.set(alarm, nodes)
  return nodes
}
