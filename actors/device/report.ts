import { isDeepStrictEqual } from 'node:util'
import type { AlarmsEvaluated } from '#actors/device/alarms'
import type { DeclaredService, Post, PostedUpdate, Report } from '#actors/device/commands'
import { declare } from '#actors/device/declaration'
import {
  type Evaluation,
  EvaluationBuilder,
  evaluateAgainMs,
  evaluateAllAlarms,
  nextAlarmState,
  rulesKnownChange,
  withKnownRules,
} from '#actors/device/evaluation'
import { type MemoryLimits, memoryProblem } from '#actors/device/memory'
import type { ServiceState } from '#actors/device/service-state'
import { absentDevice, type DeviceState, neverActive, serviceOf } from '#actors/device/state'
import { type DeviceChange, stateAfter } from '#actors/device/state-changes'
import { markOnline } from '#actors/device/status'
import type { Entry, Items, PropertyState, Reported } from '#model/entry'
import { Problem } from '#model/problem'
import type { Shape, ShapeProperty } from '#model/shape'
import type { ShapedRule, ValueSource } from '#rules/alarm-rule'
import { ruleBudget, turnUnitsMax } from '#rules/rule-budget'
import { noRules, type RuleList } from '#rules/rule-list'
import type { TenantRules } from '#rules/tenant-rules'
import { answer, type Decision, type Recorded, record, refuse, type Turn } from '#runtime/actor'

/** Device times are accepted up to this far in the future. Contract 4.6. */
export const aheadMsMax = 24 * 60 * 60_000

/**
 * Handles reported values. Hot path: the link has validated the values against `shape`, so this function only checks
 * that the device still declares the shape and that the report is not a repetition. Contract 7, numbering.
 */
export function decideReport(state: DeviceState, report: Report, turn: Turn, rules: DeviceRules): Decision<Entry> {
  if (!state.exists) return refuse(new Problem('device_unknown'))
  const { shape, session } = report
  const isSameSession = session === state.session
  const seq = report.seq || (isSameSession ? state.seq + 1 : 1)
  if (isSameSession && seq <= state.seq) return answer(state.seq)
  const service = serviceOf(state, shape.serviceIdentifier)
  if (service?.shape.id !== shape.id) return refuse(new Problem('service_unknown'))
  const plain = reportedEntry(state, shape, turn.now, report.timestamp, seq, report.items)
  const entry = isSameSession ? plain : { ...plain, session }
  const evaluation = evaluateReport(state, service, entry, rules, turn)
  if (evaluation === undefined) return { type: 'record', events: [entry], answer: seq }
  const { waiting } = evaluation
  const withWaits = waiting.length === 0 ? entry : { ...entry, alarms: waiting }
  const where = { tenant: turn.tenant, device: state.device }
  return withEvaluation(record([withWaits], { answer: seq }), { ...evaluation, waiting: [] }, where, rules)
}

/** Contract 7, POST /link: answered when everything is stored; one invalid update refuses all. */
export function decidePost(state: DeviceState, post: Post, turn: Turn, startedAt: number): Decision<Entry> {
  if (!state.exists) return refuse(new Problem('device_unknown'))
  const { now } = turn
  const online = markOnline(state, now, startedAt, false)
  // A repeated POST may only change the status of the device, its times and its count of connects.
  if (isRepeated(state, post)) return record(online.entries, online)
  const declaration = declare(state, post.services ?? declaredNow(state), now)
  const reports = reportsOf(state, post, now)
  if (reports instanceof Problem) return refuse(reports)
  return record([...declaration.entries, ...reports, ...online.entries], {
    changes: [...declaration.changes, ...online.changes],
    shared: declaration.shared,
    isCheckpointed: declaration.changes.length > 0,
    indexes: [...declaration.indexes, ...online.indexes],
  })
}

export function isRepeated(state: DeviceState, { session, seq }: Post): boolean {
  return session !== undefined && session === state.session && seq !== undefined && seq <= state.seq
}

function declaredNow(state: DeviceState): DeclaredService[] {
  return state.services.map(({ shape }) => ({ shape, items: [] }))
}

/** The error of a POST by a device that is not registered. If there is one, the device is not created. */
export function faultOfFirstPost(
  device: string,
  post: Post,
  tenant: string,
  limits: MemoryLimits,
): Problem | undefined {
  const state = absentDevice(device)
  const services = post.services ?? []
  const reports = reportsOf(state, { ...post, services }, 0)
  return reports instanceof Problem ? reports : memoryProblem(state, services, reports, tenant, limits)
}

/** One entry for consecutive updates of the same service and time. */
function reportsOf(state: DeviceState, post: Post, now: number): Reported[] | Problem {
  const reports: Reported[] = []
  // A seq without a session is ignored: 0 leaves the numbering of the device's current session unchanged.
  const seq = post.session === undefined ? 0 : (post.seq ?? 0)
  let run: { shape: Shape; timestamp: number | undefined; items: (number | PropertyState)[] } | undefined
  for (const [place, update] of post.updates.entries()) {
    const shape = shapeFor(state, post.services, update.serviceIdentifier)
    const index = shape?.indexOf.get(update.propId)
    if (!shape || index === undefined) return unknownUpdate(place, update, shape)
    const property = shape.properties[index] as ShapeProperty
    const value = update.error === undefined ? property.type.accept(update.value) : { error: update.error }
    if (value === undefined) return badUpdate(place, property)
    if (!run || run.shape !== shape || run.timestamp !== update.timestamp) {
      run = { shape, timestamp: update.timestamp, items: [] }
      reports.push(reportedEntry(state, shape, now, update.timestamp, seq, run.items))
    }
    run.items.push(index, value)
  }
  const [first, ...others] = reports
  if (!first || post.session === undefined || post.session === state.session) return reports
  return [{ ...first, session: post.session }, ...others]
}

function reportedEntry(
  { device, flakeAddress }: DeviceState,
  shape: Shape,
  now: number,
  timestamp: number | undefined,
  seq: number,
  items: Reported['items'],
): Reported {
  const isAccepted = timestamp !== undefined && timestamp <= now + aheadMsMax
  return { kind: 'reported', device, flakeAddress, shape, at: now, timestamp: isAccepted ? timestamp : now, seq, items }
}

function shapeFor(
  state: DeviceState,
  declared: readonly DeclaredService[] | undefined,
  serviceIdentifier: string,
): Shape | undefined {
  const { shape } = declared
    ? (declared.find((service) => service.shape.serviceIdentifier === serviceIdentifier) ?? {})
    : (serviceOf(state, serviceIdentifier) ?? {})
  return shape
}

function unknownUpdate(place: number, update: PostedUpdate, shape: Shape | undefined): Problem {
  const detail = shape
    ? { path: `updates.${place}.propId`, message: `${update.propId} is not a declared property of the service` }
    : { path: `updates.${place}.serviceIdentifier`, message: 'is not a declared service of the device' }
  return new Problem('invalid', undefined, { details: [detail] })
}

function badUpdate(place: number, property: ShapeProperty): Problem {
  const detail = { path: `updates.${place}.value`, message: `must be ${property.type.text}` }
  return new Problem('invalid', undefined, { details: [detail] })
}

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
function evaluateReport(
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
  const serviceRules = list === noRules ? undefined : list.of(service.shape)
  if (!serviceRules) return undefined
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
        ruleBudget.begin(turnUnitsMax, list.authorCount)
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
