import { isDeepStrictEqual } from 'node:util'
import type { AlarmsEvaluated } from '#actors/device/alarms'
import {
  type Evaluation,
  EvaluationBuilder,
  evaluateAgainMs,
  evaluateAllAlarms,
  nextAlarmState,
  rulesKnownChange,
  withKnownRules,
} from '#actors/device/evaluation'
import type { ServiceState } from '#actors/device/service-state'
import { type DeviceState, neverActive } from '#actors/device/state'
import { type DeviceChange, stateAfter } from '#actors/device/state-changes'
import type { Entry, Items, PropertyState, Reported } from '#model/entry'
import type { ShapedRule, ValueSource } from '#rules/alarm-rule'
import { ruleBudget, turnUnitsMax } from '#rules/rule-budget'
import { noRules, type RuleList, type ServiceRules } from '#rules/rule-list'
import type { TenantRules } from '#rules/tenant-rules'
import { answer, type Decision, type Recorded, record, type Turn } from '#runtime/actor'

/** The committed alarms of all tenants, as device turns read them. */
export interface DeviceRules {
  /** The alarms of a tenant. Undefined: it has none. */
  of(tenant: string): TenantRules | undefined
  /** False until the rules are loaded; nothing is evaluated before. */
  readonly isLoaded: boolean
  /** Counted since the start of the process. */
  readonly counts: { transitions: number }
  /**
   * Some alarms were not evaluated on a device because the work of a turn is limited. `ids` lists some of these alarms.
   */
  skipped(tenant: string, device: string, alarms: { readonly count: number; readonly ids: readonly string[] }): void
}

/**
 * Evaluates a device after a report of one service. Hot path: if the rules are unchanged, only rules that read a
 * changed property are evaluated, because all others keep their result.
 */
export function evaluateReport(
  state: DeviceState,
  service: ServiceState,
  entry: Reported,
  rules: DeviceRules,
  turn: Turn,
): Evaluation | undefined {
  const view = rules.of(turn.tenant)
  if (view === undefined) {
    if (state.alarms.size === 0 || !rules.isLoaded) return undefined
    return evaluateAllAlarms(state, undefined, turn.now, turn.reminder())
  }
  if (state.rules?.version === view.version)
    return evaluateChangedProperties(state.rules.list, state, service, entry, turn)
  const list = view.listOf(state.device)
  const isOther = list !== state.rules?.list && (list !== noRules || state.alarms.size > 0)
  const evaluation = isOther
    ? evaluateAllAlarms(stateAfter(state, [entry]), view, turn.now, turn.reminder())
    : evaluateChangedProperties(list, state, service, entry, turn)
  return withKnownRules(evaluation, rulesKnownChange(state, view, list))
}

/**
 * Evaluates the alarms that read a property that the report changes. The device must have been evaluated by all of
 * `list` before.
 */
function evaluateChangedProperties(
  list: RuleList,
  state: DeviceState,
  service: ServiceState,
  { items }: Reported,
  turn: Turn,
): Evaluation | undefined {
  if (list === noRules) return undefined
  const serviceRules = list.of(service.shape)
  return serviceRules && evaluateChanged(state, service, items, serviceRules, list.authorCount, turn)
}

function evaluateChanged(
  state: DeviceState,
  service: ServiceState,
  items: Items,
  serviceRules: ServiceRules,
  authorCount: number,
  turn: Turn,
): Evaluation | undefined {
  const { alarms } = state
  let isBegun = false
  try {
    let builder: EvaluationBuilder | undefined
    for (let at = 0; at < items.length; at += 2) {
      const place = items[at] as number
      const reading = serviceRules.readers[place]
      if (reading === undefined || isSame(items[at + 1] as PropertyState, service.stateOf(place))) continue
      if (!isBegun) {
        after.begin(service, items, serviceRules.rules.length)
        ruleBudget.begin(turnUnitsMax, authorCount)
      }
      isBegun = true
      for (let index = 0; index < reading.length; index++) {
        const which = reading[index] as number
        if (!after.isFirst(which)) continue
        const shaped = serviceRules.rules[which] as ShapedRule
        const verdict = shaped.evaluate(after)
        if (verdict === 'skipped') {
          builder ??= new EvaluationBuilder(state.device, turn.now)
          builder.skipRule(shaped.rule)
          continue
        }
        if (!verdict && alarms.unsettled === 0) continue
        const { rule } = shaped
        const current = alarms.get(rule.id) ?? neverActive
        const next = nextAlarmState(verdict, current, turn.now, rule)
        // The state stays. If the alarm waits, its reminder is set already.
        if (next === current) continue
        builder ??= new EvaluationBuilder(state.device, turn.now)
        builder.changeAlarm(shaped, current, next, after)
      }
    }
    return builder?.outcome(() => turn.reminder())
  } finally {
    if (isBegun) {
      after.end()
      ruleBudget.end()
    }
  }
}

/** Whether two values have the same effect on conditions. */
export function isSame(one: PropertyState, other: PropertyState): boolean {
  return Object.is(one, other) || (typeof one === 'object' && isDeepStrictEqual(one, other))
}

/** The values of a service after a report, and which rules were evaluated already. */
class ValuesAfter implements ValueSource {
  #service: ServiceState | undefined
  #items: Items = []
  /** By position in the shape: the index in `#items` of the last value of this property; 0: not reported. */
  #lastAt = new Uint32Array(64)
  /** By position among the rules: the number of the last report for which the rule was evaluated. */
  #evaluatedBy = new Float64Array(64)
  #report = 0

  begin(service: ServiceState, items: Items, ruleCount: number): void {
    const { length } = service.shape.properties
    if (this.#lastAt.length < length) this.#lastAt = new Uint32Array(2 * length)
    if (this.#evaluatedBy.length < ruleCount) this.#evaluatedBy = new Float64Array(2 * ruleCount)
    this.#service = service
    this.#items = items
    this.#report++
    for (let at = 0; at < items.length; at += 2) this.#lastAt[items[at] as number] = at + 1
  }

  at(place: number): PropertyState {
    const at = this.#lastAt[place] as number
    return at === 0 ? (this.#service as ServiceState).stateOf(place) : (this.#items[at] as PropertyState)
  }

  isFirst(rule: number): boolean {
    if (this.#evaluatedBy[rule] === this.#report) return false
    this.#evaluatedBy[rule] = this.#report
    return true
  }

  end(): void {
    for (let at = 0; at < this.#items.length; at += 2) this.#lastAt[this.#items[at] as number] = 0
    this.#service = undefined
    this.#items = []
  }
}

/** Shared: evaluations are synchronous, so two never run at the same time. */
const after = new ValuesAfter()

/**
 * Adds the results of an evaluation to a decision, in the same commit. Results without an event are stored with the
 * snapshot at once, because no entry contains them.
 */
export function withEvaluation(
  recorded: Recorded<Entry>,
  { entries, waiting, forgotten, indexes, reminder, known, skipped }: Evaluation,
  { tenant, device }: { readonly tenant: string; readonly device: string },
  rules: DeviceRules,
): Recorded<Entry> {
  const evaluated: AlarmsEvaluated = { type: 'alarms_evaluated', waiting, forgotten }
  const isWithoutReport = waiting.length > 0 || forgotten.length > 0
  const count = () => {
    rules.counts.transitions += entries.length
    if (skipped) rules.skipped(tenant, device, skipped)
  }
  return {
    ...recorded,
    events: [...recorded.events, ...entries],
    indexes: [...(recorded.indexes ?? []), ...indexes],
    ...((isWithoutReport || known) && {
      changes: [...(recorded.changes ?? []), ...(isWithoutReport ? [evaluated] : []), ...(known ? [known] : [])],
    }),
    ...(isWithoutReport && { isCheckpointed: true }),
    ...(reminder !== undefined && { reminder }),
    ...((entries.length > 0 || skipped) && { effects: [...(recorded.effects ?? []), count] }),
  }
}

/** Evaluates a device once after all entries of a turn. Of several reports only the final values count. */
export function evaluatedAfter(
  state: DeviceState,
  decision: Decision<Entry>,
  turn: Turn,
  rules: DeviceRules,
): Decision<Entry> {
  if (decision.type !== 'record' || !rules.isLoaded) return decision
  const view = rules.of(turn.tenant)
  const list = view?.listOf(state.device) ?? noRules
  const known = rulesKnownChange(state, view, list)
  if (state.alarms.size === 0 && list === noRules && !known) return decision
  const after = stateAfter(state, decision.events, decision.changes as readonly DeviceChange[] | undefined)
  const evaluation = evaluateAllAlarms(after, view, turn.now, turn.reminder())
  if (!evaluation && !known) return decision
  return withEvaluation(
    decision,
    withKnownRules(evaluation, known),
    { tenant: turn.tenant, device: state.device },
    rules,
  )
}

/** A reminder is due: an alarm may have waited long enough, or an evaluation is unfinished. */
export function decideDueAlarms(state: DeviceState, turn: Turn, rules: DeviceRules): Decision<Entry> {
  if (state.exists && !rules.isLoaded) return record([], { reminder: turn.now + evaluateAgainMs })
  return decideEvaluate(state, turn, rules)
}

/** The alarms of the device may have changed. */
export function decideEvaluate(state: DeviceState, turn: Turn, rules: DeviceRules): Decision<Entry> {
  if (!rules.isLoaded) return answer(undefined)
  const view = rules.of(turn.tenant)
  const evaluation = evaluateAllAlarms(state, view, turn.now, turn.reminder())
  if (!evaluation) return answer(undefined)
  const { device } = state
  const known = rulesKnownChange(state, view, view?.listOf(device) ?? noRules)
  return withEvaluation(record([]), withKnownRules(evaluation, known), { tenant: turn.tenant, device }, rules)
}
