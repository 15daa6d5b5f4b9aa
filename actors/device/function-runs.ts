import { isSame } from '#actors/device/report'
import type { ServiceState } from '#actors/device/service-state'
import { type DeviceState, type KnownFunctions, serviceOf } from '#actors/device/state'
import {
  applyEntry,
  type DeviceChange,
  type FunctionsRun,
  staleThrottles,
  stateAfter,
  type Throttled,
} from '#actors/device/state-changes'
import { type DeviceFunctions, noRequests, type RunsOutcome, TurnRuns } from '#actors/device/turn-runs'
import {
  type Declared,
  type Entry,
  type Items,
  isPropertyError,
  type PropertyState,
  type Reported,
  type Stamps,
} from '#model/entry'
import type { Shape, ShapeProperty } from '#model/shape'
import { type FunctionList, noFunctions } from '#rules/function-list'
import type { Decision, Recorded, Turn } from '#runtime/actor'

const none: readonly string[] = Object.freeze([])

/** Shared: turns are synchronous, so two never run at the same time. */
const runs = new TurnRuns()

/**
 * Runs the functions that are bound to the device on each entry of a decision, in order. Alarm changes follow the
 * report that caused them. The results are part of the same commit. New throttle times are stored in the entry of the
 * report. New throttle times without a report, and removed throttles, are stored with the snapshot. Contract 5.4.
 */
export function withRuns(
  state: DeviceState,
  decision: Decision<Entry>,
  turn: Turn,
  functions: DeviceFunctions,
): Decision<Entry> {
  if (decision.type !== 'record') return decision
  const view = functions.of(turn.tenant)
  if (view === undefined) return decision
  const { version } = view
  const isKnown = state.functions?.version === version
  const list = isKnown ? (state.functions as KnownFunctions).list : view.listOf(state.device)
  const outcome = list === noFunctions ? undefined : outcomeOf(state, decision, list, turn, functions)
  if (!outcome && isKnown) return decision
  const { requested } = outcome ?? noOutcome
  const run: FunctionsRun | undefined =
    isKnown && requested === noRequests
      ? undefined
      : { type: 'functions_run', functions: isKnown ? undefined : { version, list }, requests: requested, at: turn.now }
  return withOutcome(state, decision, outcome ?? noOutcome, run, turn.tenant, functions)
}

const noOutcome: RunsOutcome = { stamps: [], requests: [], requested: noRequests, effects: [] }

function outcomeOf(
  state: DeviceState,
  decision: Recorded<Entry>,
  list: FunctionList,
  turn: Turn,
  functions: DeviceFunctions,
): RunsOutcome | undefined {
  try {
    runs.begin(state, list, turn, functions)
    runBy(state, decision, list)
    return runs.outcome()
  } finally {
    runs.end()
  }
}

function runBy(state: DeviceState, { events, changes }: Recorded<Entry>, list: FunctionList): void {
  const isOne = events.length < 2 || !mayRepeatProperty(events)
  const before = isOne
    ? state
    : stateAfter(state, [], (changes as readonly DeviceChange[] | undefined)?.filter(declares))
  for (let at = 0; at < events.length; at++) {
    const entry = events[at] as Entry
    switch (entry.kind) {
      case 'reported':
      case 'declared':
        runByItems(entry, before, list)
        break
      case 'status_changed':
        runs.run(list.ofStatus, entry.status, state.status, entry)
        break
      case 'alarm_changed':
        // An alarm that ended because it no longer applies to the device triggers nothing.
        if (!entry.isEnded) runs.run(list.ofAlarm(entry.alarm), entry.isActive, !entry.isActive, entry)
    }
    // Alarm changes are not applied: the copied state shares its alarms with the original.
    if (!isOne && entry.kind !== 'alarm_changed') applyEntry(before, entry, 0)
  }
}

/**
 * Whether a report follows another entry about properties, so that both may contain the same property. Only the
 * decision for a POST has such entries.
 */
function mayRepeatProperty(events: readonly Entry[]): boolean {
  const first = events.findIndex(({ kind }) => kind === 'reported' || kind === 'declared')
  return first >= 0 && events.some(({ kind }, at) => at > first && kind === 'reported')
}

function declares({ type }: DeviceChange): boolean {
  return type === 'service_declared'
}

/** Of several items of one property the last one counts. Errors and unchanged values trigger nothing. */
function runByItems(entry: Reported | Declared, before: DeviceState, list: FunctionList): void {
  const { shape, items } = entry
  const byPlace = list.of(shape)
  if (byPlace === undefined) return
  const serviceBefore = serviceOf(before, shape.serviceIdentifier)
  let isNumbered = items.length === 2
  for (let at = 0; at < items.length; at += 2) {
    const place = items[at] as number
    const triggers = byPlace[place]
    if (triggers === undefined) continue
    if (!isNumbered) numberLast(items, shape)
    isNumbered = true
    if (items.length > 2 && lastAt[place] !== at) continue
    const value = items[at + 1] as PropertyState
    if (value === null || isPropertyError(value)) continue
    const stateBefore = serviceBefore === undefined ? null : stateOf(serviceBefore, shape, place)
    if (isSame(value, stateBefore)) continue
    const previous = stateBefore !== null && isPropertyError(stateBefore) ? null : stateBefore
    runs.run(triggers, value, previous, entry, place)
  }
}

/** By position in the shape: the index of the property's last item. */
let lastAt = new Uint32Array(64)

function numberLast(items: Items, { properties }: Shape): void {
  if (lastAt.length < properties.length) lastAt = new Uint32Array(2 * properties.length)
  for (let at = 0; at < items.length; at += 2) lastAt[items[at] as number] = at
}

/** Finds the property by its id, because the service may have another shape. */
function stateOf(service: ServiceState, shape: Shape, place: number): PropertyState {
  if (service.shape === shape) return service.stateOf(place)
  const index = service.shape.indexOf.get((shape.properties[place] as ShapeProperty).propId)
  return index === undefined ? null : service.stateOf(index)
}

function withOutcome(
  state: DeviceState,
  decision: Recorded<Entry>,
  { stamps, requests, effects }: RunsOutcome,
  run: FunctionsRun | undefined,
  tenant: string,
  functions: DeviceFunctions,
): Recorded<Entry> {
  const isThrottle = (fn: string, node: string) =>
    functions.storedOf(tenant, fn)?.graph.nodes.some(({ id, type }) => id === node && type === 'throttle') ?? false
  const dropped = stamps.length === 0 ? none : staleThrottles(state.throttles, stamps, isThrottle)
  const reportAt = stamps.length === 0 ? -1 : decision.events.findIndex(({ kind }) => kind === 'reported')
  const events = reportAt < 0 ? decision.events : withStamps(decision.events, reportAt, stamps)
  const isWithoutReport = (stamps.length > 0 && reportAt < 0) || dropped.length > 0
  if (!isWithoutReport && isBare(decision)) {
    const { answer } = decision
    if (run === undefined) return { type: 'record', events, answer, tells: requests, effects }
    return { type: 'record', events, changes: [run], answer, tells: requests, effects }
  }
  const throttled: Throttled = { type: 'throttled', stamps: reportAt < 0 ? stamps : [], dropped }
  return {
    ...decision,
    events,
    tells: [...(decision.tells ?? []), ...requests],
    effects: [...(decision.effects ?? []), ...effects],
    changes: [...(decision.changes ?? []), ...(isWithoutReport ? [throttled] : []), ...(run ? [run] : [])],
    ...(isWithoutReport && { isCheckpointed: true }),
  }
}

/**
 * Whether a decision is a plain report, which is the most frequent decision. The results for plain reports are built in
 * one object form: objects made by spreading get many forms, which cost more than the rest of the turn (measured: 5 µs
 * instead of 1.7 µs).
 */
function isBare({ changes, records, indexes, shared, isCheckpointed, tells, effects, reminder }: Recorded<Entry>) {
  const isChanging = changes ?? records ?? indexes ?? shared ?? isCheckpointed
  return isChanging === undefined && tells === undefined && effects === undefined && reminder === undefined
}

function withStamps(events: readonly Entry[], place: number, throttles: Stamps): readonly Entry[] {
  return events.map((entry, at) => (at === place && entry.kind === 'reported' ? stamped(entry, throttles) : entry))
}

/** Most results get the same object form: objects made by spreading would get many forms, which are slow. */
function stamped(entry: Reported, throttles: Stamps): Reported {
  if (entry.session !== undefined || entry.alarms !== undefined) return { ...entry, throttles }
  const { kind, device, flakeAddress, shape, at, timestamp, seq, items } = entry
  return { kind, device, flakeAddress, shape, at, timestamp, seq, items, throttles }
}
