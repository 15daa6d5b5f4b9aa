import { alarmRow } from '#actors/device/alarms'
import { type AlarmState, type DeviceState, neverActive, serviceOf } from '#actors/device/state'
import type { RulesKnown } from '#actors/device/state-changes'
import type { AlarmChanged, AlarmWaits } from '#model/entry'
import type { JsonValue } from '#model/json-value'
import type { AlarmRule, ShapedRule, ValueSource } from '#rules/alarm-rule'
import { ruleBudget, transitionUnits, turnUnitsMax } from '#rules/rule-budget'
import { noRules, type RuleList } from '#rules/rule-list'
import type { TenantRules } from '#rules/tenant-rules'
import type { IndexChange } from '#runtime/actor'

/**
 * The result of evaluating the alarms of a device. The evaluation is unfinished if rules were skipped, or if some
 * alarms still have to end. Contract 5.2, 5.3.
 */
export interface Evaluation {
  readonly entries: readonly AlarmChanged[]
  /** Inactive alarms whose `waitingSince` changes. They have no entry. */
  readonly waiting: AlarmWaits
  /** Ids of inactive alarms that were active once and no longer apply to the device. They have no entry. */
  readonly forgotten: readonly string[]
  readonly indexes: readonly IndexChange[]
  /**
   * When to evaluate again, because an alarm waits or the evaluation is unfinished, Unix ms. Undefined: no reminder is
   * needed, or the current reminder is early enough.
   */
  readonly reminder: number | undefined
  /** The rules by which the device counts as evaluated; undefined: unchanged. */
  readonly known: RulesKnown | undefined
  /** Rules that were not evaluated because the work of a turn is limited: their number, and some ids for the log. */
  readonly skipped: { readonly count: number; readonly ids: readonly string[] } | undefined
}

/** An evaluation that changes nothing. */
const noEvaluation: Evaluation = {
  ...{ entries: [], waiting: [], forgotten: [], indexes: [] },
  ...{ reminder: undefined, known: undefined, skipped: undefined },
}

/** Marks the device as evaluated by all current rules, unless the evaluation is unfinished. */
export function withKnownRules(evaluation = noEvaluation, known: RulesKnown | undefined): Evaluation {
  return evaluation.known || !known ? evaluation : { ...evaluation, known }
}

/**
 * Delay until an unfinished evaluation continues. Also the delay until a reminder is repeated that was due before the
 * alarms were loaded.
 */
export const evaluateAgainMs = 1_000

/**
 * Maximum number of alarms that one evaluation ends because they no longer apply to the device. The removal of the
 * device ends all alarms.
 */
export const endingsMax = turnUnitsMax / transitionUnits

/** Maximum number of skipped alarms that the log names. */
const skippedIdsMax = 10

const unknownRules: RulesKnown = { type: 'rules_known', rules: undefined }

/**
 * The change that sets `DeviceState.rules` to the current rules of the device, or to undefined if the tenant has no
 * alarms. Undefined if the version of the rules is the same.
 */
export function rulesKnownChange(
  { rules }: DeviceState,
  view: TenantRules | undefined,
  list: RuleList,
): RulesKnown | undefined {
  if (view?.version === rules?.version) return undefined
  return view ? { type: 'rules_known', rules: { version: view.version, list } } : unknownRules
}

/**
 * The state of an alarm after an evaluation of its condition; the same object as `current` if nothing changes.
 * @param verdict whether the condition holds; undefined: there is no result, so the state stays
 * @param rule how long its condition has to hold, and since when the rule has had this condition
 */
export function nextAlarmState(
  verdict: boolean | undefined,
  current: AlarmState,
  now: number,
  { forMs, conditionAt }: Pick<AlarmRule, 'forMs' | 'conditionAt'>,
): AlarmState {
  const { isActive, since, waitingSince } = current
  if (verdict === undefined || (verdict && isActive)) return current
  if (!verdict) {
    if (isActive) return { isActive: false, since: now, waitingSince: 0 }
    return waitingSince === 0 ? current : { isActive, since, waitingSince: 0 }
  }
  // `since` is the time at which the condition had held for long enough. It is in the past if nothing was evaluated
  // then, for example because the server was down.
  const holdsSince = waitingSince === 0 ? now : Math.max(waitingSince, conditionAt)
  if (now >= holdsSince + forMs) return { isActive: true, since: holdsSince + forMs, waitingSince: 0 }
  return holdsSince === waitingSince ? current : { isActive, since, waitingSince: holdsSince }
}

/** Collects the results of one evaluation. */
export class EvaluationBuilder {
  readonly #device: string
  readonly #now: number
  readonly #entries: AlarmChanged[] = []
  readonly #waiting: (string | number)[] = []
  readonly #forgotten: string[] = []
  readonly #indexes: IndexChange[] = []
  #deadline = Number.POSITIVE_INFINITY
  #skippedCount = 0
  readonly #skippedIds: string[] = []
  #isUnfinished = false

  constructor(device: string, now: number) {
    this.#device = device
    this.#now = now
  }

  /** Records the new state of an alarm if it differs. If the alarm waits, a reminder is set for the end of the wait. */
  changeAlarm(shaped: ShapedRule, current: AlarmState, next: AlarmState, source: ValueSource): void {
    const { id, forMs } = shaped.rule
    if (next !== current) ruleBudget.charge(transitionUnits)
    if (next.isActive !== current.isActive) this.#recordChange(id, next, current.since === 0, shaped.valueIn(source))
    else if (next !== current) this.#waiting.push(id, next.waitingSince)
    const deadline = next.waitingSince + forMs
    // A deadline that passed without a verdict has no reminder: the next verdict decides.
    if (next.waitingSince > 0 && deadline > this.#now) this.#deadline = Math.min(this.#deadline, deadline)
  }

  /** The alarm no longer applies to the device. */
  endAlarm(id: string, { isActive, since }: AlarmState): void {
    if (isActive) this.#entries.push({ ...this.#alarmChange(id, false, this.#now), isEnded: true })
    else if (since > 0) this.#forgotten.push(id)
    else this.#waiting.push(id, 0)
    if (since > 0) this.#indexes.push(alarmRow(this.#device, id, false))
  }

  /** Some alarms still have to end. A later turn ends them. */
  deferEndings(): void {
    this.#isUnfinished = true
    this.#deadline = Math.min(this.#deadline, this.#now + evaluateAgainMs)
  }

  /** The rule was not evaluated, so the alarm's state stays. */
  skipRule({ id }: AlarmRule): void {
    this.#skippedCount++
    if (this.#skippedIds.length < skippedIdsMax) this.#skippedIds.push(id)
  }

  /**
   * Undefined if there is no change, no new reminder and no skipped rule. If rules were skipped, the next report
   * evaluates all rules. If this evaluation made progress, a reminder does so too.
   * @param remindedAt returns the time of the current reminder; only called if a reminder is needed
   */
  outcome(remindedAt: () => number | null): Evaluation | undefined {
    const isSkipping = this.#skippedCount > 0
    const count = this.#entries.length + this.#waiting.length + this.#forgotten.length
    if (isSkipping && (count > 0 || ruleBudget.hasCompiled))
      this.#deadline = Math.min(this.#deadline, this.#now + evaluateAgainMs)
    const deadline = this.#deadline
    const isReminded = deadline === Number.POSITIVE_INFINITY || deadline >= (remindedAt() ?? Number.POSITIVE_INFINITY)
    if (count === 0 && isReminded && !isSkipping) return undefined
    return {
      entries: this.#entries,
      waiting: this.#waiting,
      forgotten: this.#forgotten,
      indexes: this.#indexes,
      reminder: isReminded ? undefined : deadline,
      known: isSkipping || this.#isUnfinished ? unknownRules : undefined,
      skipped: isSkipping ? { count: this.#skippedCount, ids: this.#skippedIds } : undefined,
    }
  }

  #recordChange(id: string, { isActive, since }: AlarmState, isFirst: boolean, value: JsonValue): void {
    this.#entries.push({ ...this.#alarmChange(id, isActive, since), ...(value !== null && { value }) })
    if (isFirst) this.#indexes.push(alarmRow(this.#device, id, true))
  }

  #alarmChange(alarm: string, isActive: boolean, since: number): AlarmChanged {
    return { kind: 'alarm_changed', device: this.#device, alarm, at: this.#now, isActive, since }
  }
}

/**
 * Evaluates all alarms of a device with the values in `after`. An alarm ends if it no longer applies to the device or
 * if the device no longer declares the service of the alarm.
 *
 * @param rules undefined: no alarm applies to the device, so all of its alarms end
 * @param remindedAt the next reminder of the device's actor, Unix ms
 * @param endings how many alarms may end; the others end after `evaluateAgainMs`
 * @returns see `EvaluationBuilder.outcome`
 */
export function evaluateAllAlarms(
  after: DeviceState,
  rules: TenantRules | undefined,
  now: number,
  remindedAt: number | null = null,
  endings = endingsMax,
): Evaluation | undefined {
  const list = rules?.listOf(after.device) ?? noRules
  const builder = new EvaluationBuilder(after.device, now)
  ruleBudget.begin(turnUnitsMax, list.authorCount)
  for (const service of after.services) {
    const source = { at: (place: number) => service.stateOf(place) }
    for (const shaped of list.of(service.shape)?.rules ?? []) {
      const { rule } = shaped
      const current = after.alarms.get(rule.id) ?? neverActive
      const verdict = shaped.evaluate(source)
      if (verdict === 'skipped') builder.skipRule(rule)
      else builder.changeAlarm(shaped, current, nextAlarmState(verdict, current, now, rule), source)
    }
  }
  ruleBudget.end()
  let endingsLeft = endings
  for (const [id, current] of after.alarms) {
    const rule = list.rule(id)
    if (rule && serviceOf(after, rule.service)) continue
    if (endingsLeft-- === 0) {
      builder.deferEndings()
      break
    }
    builder.endAlarm(id, current)
  }
  return builder.outcome(() => remindedAt)
}
