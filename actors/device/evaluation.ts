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
 * The result of evaluating a device by its alarms. It is unfinished if rules were skipped, or if more alarms have to
 * end. Contract 5.2, 5.3.
 */
export interface Evaluation {
  readonly entries: readonly AlarmChanged[]
  /** Alarms that start or stop waiting without an entry. */
  readonly waiting: AlarmWaits
  /** Ids of inactive alarms that no longer apply to the device. */
  readonly forgotten: readonly string[]
  readonly indexes: readonly IndexChange[]
  /**
   * When to evaluate again, because an alarm waits or the evaluation is unfinished, Unix ms; undefined: none is needed,
   * or the current reminder is early enough.
   */
  readonly reminder: number | undefined
  /** The rules by which the device counts as evaluated; undefined: unchanged. */
  readonly known: RulesKnown | undefined
  /** Rules that were not evaluated, because the work of the turn is limited: the number, and some ids for the log. */
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
 * Delay after which an unfinished evaluation continues, or a reminder that came before the alarms were loaded is
 * repeated.
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

/** The change that marks a device as evaluated by its current rules; undefined if it is marked already. */
export function rulesKnownChange(
  { rules }: DeviceState,
  view: TenantRules | undefined,
  list: RuleList,
): RulesKnown | undefined {
  if (view?.version === rules?.version) return undefined
  return view ? { type: 'rules_known', rules: { version: view.version, list } } : unknownRules
}

/**
 * The next state of an alarm after a verdict; the same object if nothing changes.
 * @param verdict undefined: the condition has no result, so the state stays
 * @param rule how long its condition has to hold, and since when the rule has had this condition
 */
export function nextOf(
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
  // The new `since` is in the past if the server was down when the time was over.
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

  /** Records the new state of an alarm, if it differs. */
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

  /** Some alarms still have to end; a later turn ends them. */
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
   * Undefined if nothing changes. If rules were skipped, the next report evaluates all rules. So does a reminder, if
   * this turn made progress.
   * @param remindedAt only called if a reminder is needed
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
 * Evaluates a device by all of its alarms, using the values in `after`. An alarm ends if it no longer applies to the
 * device or if the device no longer declares its service.
 *
 * @param endings how many alarms may end; the others end a second later
 * @param rules undefined: the tenant has no alarms, so all active alarms end
 * @param remindedAt the next reminder of the device's actor, Unix ms
 * @returns undefined if nothing changes
 */
export function evaluateWhole(
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
      else builder.changeAlarm(shaped, current, nextOf(verdict, current, now, rule), source)
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
