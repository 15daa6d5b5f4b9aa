import {
  type AlarmsEvaluated,
  applyAcknowledged,
  applyAlarmChanged,
  applyAlarmsEvaluated,
  applyAlarmWaits,
} from '#actors/device/alarms'
import type { ServiceDeclared } from '#actors/device/declaration'
import { applyDesiredSet } from '#actors/device/desired'
import { ServiceState } from '#actors/device/service-state'
import {
  absentDevice,
  type DeviceState,
  type DeviceThrottles,
  type KnownFunctions,
  type KnownRules,
  noThrottles,
  serviceOf,
} from '#actors/device/state'
import { applyConnected, type Connected } from '#actors/device/status'
import type { Declared, Entry, Items, PropertyState, Reported, Stamps } from '#model/entry'
import type { Shape } from '#model/shape'
import type { RequestedCounts } from '#rules/request-rate'

/** Changes of a device that cause no event. */
export type DeviceChange = Connected | ServiceDeclared | AlarmsEvaluated | RulesKnown | Throttled | FunctionsRun

export function applyChange(state: DeviceState, change: DeviceChange): void {
  switch (change.type) {
    case 'connected':
      applyConnected(state, change)
      break
    case 'service_declared':
      applyShape(state, change.shape)
      break
    case 'alarms_evaluated':
      applyAlarmsEvaluated(state, change)
      break
    case 'rules_known':
      applyRulesKnown(state, change)
      break
    case 'throttled':
      applyThrottled(state, change)
      break
    case 'functions_run':
      applyFunctionsRun(state, change)
  }
}

/**
 * Applies one entry to a device. Also runs at replay, so it depends only on the state, the entry and its offset.
 *
 * A replay may contain entries of a device that was removed later. The snapshot of this device is deleted already, so
 * its entries are ignored until an entry adds the device.
 */
export function applyEntry(state: DeviceState, entry: Entry, offset: number): void {
  if (!state.exists && entry.kind !== 'device_added') return
  switch (entry.kind) {
    case 'reported':
      applyReported(state, entry, offset)
      break
    case 'declared':
      applyDeclared(state, entry, offset)
      break
    case 'undeclared':
      state.services = state.services.filter((service) => service.shape.serviceIdentifier !== entry.service)
      break
    case 'device_added':
      Object.assign(state, absentDevice(state.device))
      state.exists = true
      state.flakeAddress = entry.flakeAddress
      break
    case 'device_removed':
      Object.assign(state, absentDevice(state.device))
      break
    case 'status_changed':
      state.status = entry.status
      state.lastMessage = entry.lastMessage
      state.lastConnect = entry.lastConnect
      state.numConnects = entry.numConnects
      break
    case 'discovered':
      state.project = entry.project
      state.firmwares = entry.firmwares
      state.isAutoUpdated = entry.isAutoUpdated
      break
    case 'meta_set':
      state.meta = entry.meta
      break
    case 'meta_deleted':
      state.meta = Object.fromEntries(Object.entries(state.meta).filter(([key]) => key !== entry.key))
      break
    case 'alarm_changed':
      applyAlarmChanged(state, entry)
      break
    case 'desired_set':
      applyDesiredSet(state, entry)
      break
    case 'alarm_acknowledged':
      applyAcknowledged(state, entry)
      break
    default:
      throw new Error(`a device is not changed by ${entry.kind}`)
  }
}

function applyReported(state: DeviceState, entry: Reported, offset: number): void {
  const declared = serviceOf(state, entry.shape.serviceIdentifier)
  // Replay of a device that was removed later: the service was declared without values, so no entry declares it, and
  // the device's snapshot, which contained it, is deleted.
  if (!declared) return
  // The shape differs from the current one: a repair of the store lost the entry that declared it.
  const service = declared.shape.id === entry.shape.id ? declared : applyShape(state, entry.shape)
  setItems(service, entry.items, entry.timestamp, offset)
  state.lastMessage = entry.at
  if (entry.session !== undefined) {
    state.session = entry.session
    state.seq = 0
  }
  if (entry.seq > 0) state.seq = entry.seq
  if (entry.alarms !== undefined) applyAlarmWaits(state, entry.alarms)
  if (entry.throttles !== undefined) applyStamps(state, entry.throttles)
}

function applyDeclared(state: DeviceState, entry: Declared, offset: number): void {
  setItems(applyShape(state, entry.shape), entry.items, entry.at, offset)
}

/** Gives a service a shape. Properties that keep their type keep their value; new ones have no value. */
function applyShape(state: DeviceState, shape: Shape): ServiceState {
  const before = serviceOf(state, shape.serviceIdentifier)
  const service = new ServiceState(shape)
  shape.properties.forEach(({ propId, type }, index) => {
    const old = before?.shape.indexOf.get(propId)
    if (!before || old === undefined || before.shape.properties[old]?.type !== type) return
    service.set(index, before.stateOf(old), before.timeOf(old), before.offsetOf(old))
  })
  state.services = before
    ? state.services.map((other) => (other === before ? service : other))
    : state.services.concat(service)
  return service
}

function setItems(service: ServiceState, items: Items, time: number, offset: number): void {
  for (let at = 0; at < items.length; at += 2) {
    const state = items[at + 1] as PropertyState
    service.set(items[at] as number, state, state === null ? 0 : time, offset)
  }
}

/**
 * The device after a turn, for checks before the commit; the state itself does not change. The copy shares alarms and
 * throttles with the state, so entries and changes must not modify those.
 */
export function stateAfter(
  state: DeviceState,
  entries: readonly Entry[],
  changes: readonly DeviceChange[] = [],
): DeviceState {
  const after: DeviceState = { ...state, services: state.services.map((service) => service.copy()) }
  for (const change of changes) applyChange(after, change)
  // The offsets are not known yet, and no condition reads them.
  for (const entry of entries) applyEntry(after, entry, 0)
  return after
}

/**
 * The rules by which the device was evaluated. Undefined: the tenant has no alarms, or the evaluation is unfinished and
 * the next report evaluates all rules.
 */
export interface RulesKnown {
  readonly type: 'rules_known'
  readonly rules: KnownRules | undefined
}

/** Results of the functions of a turn that are in no event. */
export interface FunctionsRun {
  readonly type: 'functions_run'
  /** The functions bound to the device; undefined: unchanged. */
  readonly functions: KnownFunctions | undefined
  /** The requests count against their rates only when this change is applied, because a decision may be refused. */
  readonly requests: RequestedCounts
  /** Unix ms. */
  readonly at: number
}

/** Most devices have the same rules. Sharing one object keeps it in the processor's cache for the next device. */
let lastRules: KnownRules | undefined
let lastFunctions: KnownFunctions | undefined

function applyRulesKnown(state: DeviceState, { rules }: RulesKnown): void {
  if (rules && isOther(lastRules, rules)) lastRules = rules
  state.rules = rules && lastRules
}

function applyFunctionsRun(state: DeviceState, { functions, requests, at }: FunctionsRun): void {
  if (functions) {
    if (isOther(lastFunctions, functions)) lastFunctions = functions
    state.functions = lastFunctions
  }
  for (const [rate, count] of requests) rate.take(at, count)
}

function isOther<Known extends { readonly version: number; readonly list: unknown }>(
  last: Known | undefined,
  known: Known,
): boolean {
  return last?.version !== known.version || last.list !== known.list
}

/**
 * A throttle is a node of a function that continues at most once in a time. For each device, the times at which its
 * throttles last continued are stored, at most this many. A throttle whose time was dropped may continue too early.
 */
export const throttlesMax = 256

/** A change that is no entry: times from turns without a report that could contain them, and throttles to remove. */
export interface Throttled {
  readonly type: 'throttled'
  readonly stamps: Stamps
  /** Throttles that no longer exist in any function. */
  readonly dropped: readonly string[]
}

function applyThrottled(state: DeviceState, { stamps, dropped }: Throttled): void {
  applyStamps(state, stamps)
  const throttles = state.throttles as Map<string, number>
  for (const key of dropped) throttles.delete(key)
  if (throttles.size === 0) state.throttles = noThrottles
}

/** Changes the map in place, because a copy in every turn would be slow for fleets with throttles. */
function applyStamps(state: DeviceState, stamps: Stamps): void {
  if (stamps.length === 0) return
  if (state.throttles === noThrottles) state.throttles = new Map()
  const throttles = state.throttles as Map<string, number>
  for (let at = 0; at < stamps.length; at += 2) {
    const key = stamps[at] as string
    // Deleted first, so that the key moves to the end: the map is ordered by time.
    throttles.delete(key)
    throttles.set(key, stamps[at + 1] as number)
  }
  for (const oldest of throttles.keys()) {
    if (throttles.size <= throttlesMax) return
    throttles.delete(oldest)
  }
}

/**
 * The device's throttles that no longer exist in any function. Computed when a new throttle is added, so that stale
 * ones do not accumulate.
 */
export function staleThrottles(
  throttles: DeviceThrottles,
  stamps: Stamps,
  isThrottle: (fn: string, node: string) => boolean,
): readonly string[] {
  const hasNewThrottle = stamps.some((key, at) => at % 2 === 0 && !throttles.has(key as string))
  if (!hasNewThrottle) return []
  return [...throttles.keys()].filter((key) => {
    const [fn = '', node = ''] = key.split('/')
    return !isThrottle(fn, node)
  })
}

export function stampsOf(throttles: DeviceThrottles): Stamps {
  return [...throttles].flat()
}
