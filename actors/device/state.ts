import type { ServiceState } from '#actors/device/service-state'
import type { Acknowledgement } from '#model/alarm'
import type { DesiredItem } from '#model/desired'
import type { Firmware } from '#model/entry'
import type { JsonObject } from '#model/json-value'
import type { DeviceStatus } from '#model/meta'
import type { FunctionList } from '#rules/function-list'
import type { RuleList } from '#rules/rule-list'

/** The state of a device. A device that does not exist has an actor too. */
export interface DeviceState {
  readonly device: string
  exists: boolean
  flakeAddress: number
  services: readonly ServiceState[]
  status: DeviceStatus
  /** Unix ms, 0 for never, like `lastConnect`. */
  lastMessage: number
  lastConnect: number
  /** Counted by the process that ran at `lastConnect`; counts of earlier processes are not shown. */
  numConnects: number
  /** The session of the last applied report that had one, and the last sequence number in that session (0: none). */
  session: string
  seq: number
  project: string | null
  firmwares: readonly Firmware[]
  isAutoUpdated: boolean
  meta: JsonObject
  alarms: DeviceAlarms
  throttles: DeviceThrottles
  desired: DeviceDesired
  /**
   * The rules by which the device was last evaluated completely. If undefined, the next report evaluates all rules. Not
   * stored, not returned by the API, and not read by `apply`.
   */
  rules: KnownRules | undefined
  /** The functions that are bound to the device. If undefined, the next turn finds them. Not stored. */
  functions: KnownFunctions | undefined
}

/** A device's rules at a version of its tenant's rules. */
export interface KnownRules {
  readonly version: number
  readonly list: RuleList
}

/** A device's functions at a version of its tenant's functions. */
export interface KnownFunctions {
  readonly version: number
  readonly list: FunctionList
}

/**
 * The state of an alarm on one device. It exists if the alarm is or was active there, or if its condition holds but not
 * yet for long enough.
 */
export interface AlarmState {
  readonly isActive: boolean
  /** Time of the last change to active or inactive, Unix ms; 0: never active. */
  readonly since: number
  /** Since when the condition has held, if that is not long enough yet, Unix ms; 0: the alarm is not waiting. */
  readonly waitingSince: number
  /** Absent: the alarm was not acknowledged since it last became active. */
  readonly acknowledged?: Acknowledgement
}

/** By alarm id. Only `apply` and `change` modify it. */
export interface DeviceAlarms extends ReadonlyMap<string, AlarmState> {
  /** Number of alarms that are active or waiting. All others can change only when their condition holds. */
  readonly unsettled: number
}

/** The alarm states of one device. */
export class AlarmStates extends Map<string, AlarmState> implements DeviceAlarms {
  unsettled = 0

  static of(alarms: Iterable<readonly [string, AlarmState]>): AlarmStates {
    const states = new AlarmStates()
    for (const [id, current] of alarms) states.set(id, current)
    return states
  }

  override set(id: string, current: AlarmState): this {
    this.unsettled += unsettled(current) - unsettled(this.get(id))
    return super.set(id, current)
  }

  override delete(id: string): boolean {
    this.unsettled -= unsettled(this.get(id))
    return super.delete(id)
  }
}

function unsettled(current: AlarmState | undefined): number {
  return current && (current.isActive || current.waitingSince > 0) ? 1 : 0
}

/** Shared by all devices without alarm states, which are most devices. */
export const noAlarms: DeviceAlarms = new AlarmStates()

/** The state of an alarm without a stored state. */
export const neverActive: AlarmState = Object.freeze({ isActive: false, since: 0, waitingSince: 0 })

/**
 * When each throttle of a function last let an event of the device pass, Unix ms, by `<function>/<node>`, oldest first.
 * Only `apply` and `change` modify it.
 */
export type DeviceThrottles = ReadonlyMap<string, number>

/** The desired values by service. Never modified, only replaced. */
export type DeviceDesired = ReadonlyMap<string, readonly DesiredItem[]>

/** Shared by all devices without desired values. */
export const noDesired: DeviceDesired = new Map()

/** Shared by devices without throttle times, which are most devices. */
export const noThrottles: DeviceThrottles = new Map()

/** Shared by most devices. Never modified, only replaced. */
export const noFirmwares: readonly Firmware[] = Object.freeze([])
export const noMeta: JsonObject = Object.freeze({})
const noServices: readonly ServiceState[] = Object.freeze([])

export function absentDevice(device: string): DeviceState {
  return {
    device,
    exists: false,
    flakeAddress: 0,
    services: noServices,
    status: 'offline',
    lastMessage: 0,
    lastConnect: 0,
    numConnects: 0,
    session: '',
    seq: 0,
    project: null,
    firmwares: noFirmwares,
    isAutoUpdated: true,
    meta: noMeta,
    alarms: noAlarms,
    throttles: noThrottles,
    desired: noDesired,
    rules: undefined,
    functions: undefined,
  }
}

export function serviceOf(state: DeviceState, serviceIdentifier: string): ServiceState | undefined {
  const { services } = state
  for (let index = 0; index < services.length; index++) {
    const service = services[index] as ServiceState
    if (service.shape.serviceIdentifier === serviceIdentifier) return service
  }
  return undefined
}

/** A property in an entry: a value or a removal. */
export interface PropertyItem {
  readonly service: string
  readonly propId: number
  readonly isRemoval: boolean
  /** Offset of the entry. */
  readonly offset: number
}

/**
 * Whether a later entry contains the property again, so that a client that catches up can skip this item. Only
 * published entries count: others may never be stored.
 * @param lastOffset offset of the last entry that was applied to the state
 * @param published offset of the last published entry
 */
export function isOverridden(state: DeviceState, lastOffset: number, item: PropertyItem, published: number): boolean {
  const found = serviceOf(state, item.service)
  const index = found?.shape.indexOf.get(item.propId)
  // The property does not exist any more, so a later entry removed this value. The later entry is certainly published
  // if all entries are published. A removal is not skipped, because it may be the last entry about the property.
  if (!found || index === undefined) return !item.isRemoval && lastOffset > item.offset && lastOffset <= published
  const last = found.offsetOf(index)
  return last > item.offset && last <= published
}
