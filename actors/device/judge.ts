import { type AlarmState, alarmRow, neverActive } from '#actors/device/alarms'
import type { RulesKnown } from '#actors/device/known-rules'
import { type DeviceState, serviceOf } from '#actors/device/state'
import type { AlarmChanged, Waits } from '#model/entry'
import type { AlarmRule } from '#rules/alarm-rule'
import { noRules, type RuleList } from '#rules/rule-list'
import { transitionUnits, turnUnitsMax, work } from '#rules/rule-work'
import type { TenantRules } from '#rules/tenant-rules'
import type { IndexChange } from '#runtime/actor'

/** What comes of judging a device by its alarms. Contract 5.2, 5.3. */
export interface Judgement {
  readonly entries: readonly AlarmChanged[]
  /** Alarms that begin or cease to wait, where no entry says more of them. */
  readonly waiting: Waits
  /** Ids of inactive alarms that mean the device no more. */
  readonly forgotten: readonly string[]
  readonly indexes: readonly IndexChange[]
  /** When to judge again because something waits, Unix ms; undefined: the reminder that is set is early enough. */
  readonly reminder: number | undefined
  /** By which rules the device is known to be judged now; undefined: by those as before. */
  readonly known: RulesKnown | undefined
  /** Rules that were not judged because the shares of their authors were used up. Counted; some ids, to be logged. */
  readonly skipped: { readonly count: number; readonly ids: readonly string[] } | undefined
}

/** Nothing comes of it. */
const noJudgement: Judgement = {
  ...{ entries: [], waiting: [], forgotten: [], indexes: [] },
  ...{ reminder: undefined, known: undefined, skipped: undefined },
}

/** A judgement by all rules of now: they are known from then on, unless some were skipped. */
export function knowing(judgement = noJudgement, known: RulesKnown | undefined): Judgement {
  return judgement.known || !known ? judgement : { ...judgement, known }
}

/** Until the rest is judged, or the alarms were read. */
export const againMs = 1_000

/** Alarms that end in one turn: as many as may begin in one. */
export const endingsMax = turnUnitsMax / transitionUnits

/** As many as help to find them. */
const skippedIdsMax = 10

const notKnown: RulesKnown = { type: 'rules_known', rules: undefined }

/** The change by which a device is known to be judged by its rules of now; undefined: it is known already. */
export function rulesKnown(
  { rules }: DeviceState,
  view: TenantRules | undefined,
  list: RuleList,
): RulesKnown | undefined {
  if (view?.version === rules?.version) return undefined
  return view ? { type: 'rules_known', rules: { version: view.version, list } } : notKnown
}

/**
 * What becomes of an alarm by a verdict: the same object where nothing changes.
 * @param verdict undefined: it cannot be said whether the condition holds, so things stay as they are
 * @param rule how long its condition has to hold, and since when it has it
 */
export function nextOf(
  verdict: boolean | undefined,
  stands: AlarmState,
  now: number,
  { forMs, conditionAt }: Pick<AlarmRule, 'forMs' | 'conditionAt'>,
): AlarmState {
  const { isActive, since, waitingSince } = stands
  if (verdict === undefined || (verdict && isActive)) return stands
  if (!verdict) {
    if (isActive) return { isActive: false, since: now, waitingSince: 0 }
    return waitingSince === 0 ? stands : { isActive, since, waitingSince: 0 }
  }
  // Long ago, when the server was down at that moment.
  const holdsSince = waitingSince === 0 ? now : Math.max(waitingSince, conditionAt)
  if (now >= holdsSince + forMs) return { isActive: true, since: holdsSince + forMs, waitingSince: 0 }
  return holdsSince === waitingSince ? stands : { isActive, since, waitingSince: holdsSince }
}

/** A judgement that is being made. */
export class Judging {
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

  /** What stands of the alarm became, or still is, the other. */
  became({ id, forMs }: AlarmRule, stands: AlarmState, next: AlarmState): void {
    if (next !== stands) work.charge(transitionUnits)
    if (next.isActive !== stands.isActive) this.#turned(id, next, stands.since === 0)
    else if (next !== stands) this.#waiting.push(id, next.waitingSince)
    const deadline = next.waitingSince + forMs
    // One that went by without a verdict is looked at when there is one.
    if (next.waitingSince > 0 && deadline > this.#now) this.#deadline = Math.min(this.#deadline, deadline)
  }

  /** The alarm means the device no more. */
  ended(id: string, { isActive, since }: AlarmState): void {
    if (isActive) this.#entries.push({ ...this.#changed(id, false, this.#now), isEnded: true })
    else if (since > 0) this.#forgotten.push(id)
    else this.#waiting.push(id, 0)
    if (since > 0) this.#indexes.push(alarmRow(this.#device, id, false))
  }

  /** Some alarms have still to end: a later turn ends them. */
  leftEndings(): void {
    this.#isUnfinished = true
    this.#deadline = Math.min(this.#deadline, this.#now + againMs)
  }

  /** It was not judged: what stands of it stays. */
  skipped({ id }: AlarmRule): void {
    this.#skippedCount++
    if (this.#skippedIds.length < skippedIdsMax) this.#skippedIds.push(id)
  }

  /**
   * Undefined when nothing comes of it. Where rules were skipped, the next report is judged whole; a reminder sees to it as
   * long as each turn brings the rest nearer.
   * @param remindedAt asked only when something waits
   */
  outcome(remindedAt: () => number | null): Judgement | undefined {
    const isSkipping = this.#skippedCount > 0
    const hasChanged = this.#entries.length + this.#waiting.length > 0
    if (isSkipping && (hasChanged || work.hasCompiled)) this.#deadline = Math.min(this.#deadline, this.#now + againMs)
    const deadline = this.#deadline
    const isReminded = deadline === Number.POSITIVE_INFINITY || deadline >= (remindedAt() ?? Number.POSITIVE_INFINITY)
    const count = this.#entries.length + this.#waiting.length + this.#forgotten.length
    if (count === 0 && isReminded && !isSkipping) return undefined
    return {
      entries: this.#entries,
      waiting: this.#waiting,
      forgotten: this.#forgotten,
      indexes: this.#indexes,
      reminder: isReminded ? undefined : deadline,
      known: isSkipping || this.#isUnfinished ? notKnown : undefined,
      skipped: isSkipping ? { count: this.#skippedCount, ids: this.#skippedIds } : undefined,
    }
  }

  #turned(id: string, { isActive, since }: AlarmState, isFirst: boolean): void {
    this.#entries.push(this.#changed(id, isActive, since))
    if (isFirst) this.#indexes.push(alarmRow(this.#device, id, true))
  }

  #changed(alarm: string, isActive: boolean, since: number): AlarmChanged {
    return { kind: 'alarm_changed', device: this.#device, alarm, at: this.#now, isActive, since }
  }
}

/**
 * Judges a device by all of its alarms, over what its services stand at in `after`. An alarm ends that is not among them
 * any more, or whose service the device no longer offers.
 *
 * @param endings how many alarms may end: the rest does a second later
 * @param rules undefined: the tenant has no alarms, so whatever stands ends
 * @param remindedAt when the device's actor is reminded next, Unix ms
 * @returns undefined when nothing comes of it
 */
export function judgeWhole(
  after: DeviceState,
  rules: TenantRules | undefined,
  now: number,
  remindedAt: number | null = null,
  endings = endingsMax,
): Judgement | undefined {
  const list = rules?.listOf(after.device) ?? noRules
  const judging = new Judging(after.device, now)
  work.begin(turnUnitsMax, list.authorCount)
  for (const service of after.services) {
    const source = { at: (place: number) => service.stateOf(place) }
    for (const shaped of list.of(service.shape)?.rules ?? []) {
      const { rule } = shaped
      const stands = after.alarms.get(rule.id) ?? neverActive
      const verdict = shaped.judge(source)
      if (verdict === 'skipped') judging.skipped(rule)
      else judging.became(rule, stands, nextOf(verdict, stands, now, rule))
    }
  }
  work.end()
  let endingsLeft = endings
  for (const [id, stands] of after.alarms) {
    const rule = list.rule(id)
    if (rule && serviceOf(after, rule.service)) continue
    if (endingsLeft-- === 0) {
      judging.leftEndings()
      break
    }
    judging.ended(id, stands)
  }
  return judging.outcome(() => remindedAt)
}
