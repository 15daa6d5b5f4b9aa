import { type DeviceAlarms, noAlarms } from '#actors/device/alarms'
import type { ServiceState } from '#actors/device/service-state'
import { type DeviceThrottles, noThrottles } from '#actors/device/throttles'
import type { Firmware } from '#model/entry'
import type { JsonObject } from '#model/json-value'
import type { DeviceStatus } from '#model/meta'
import type { FunctionList } from '#rules/function-list'
import type { RuleList } from '#rules/rule-list'

/** The state of a device. A device that does not exist has an actor too. */
export interface DeviceState {
  readonly device: string
  isThere: boolean
  flakeAddress: number
  services: readonly ServiceState[]
  status: DeviceStatus
  /** Unix ms, 0 for never. */
  lastMessage: number
  lastConnect: number
  /** Counted since the server started; counts of earlier processes are not shown. */
  numConnects: number
  /** The session of the last applied report, and its sequence number. */
  session: string
  seq: number
  project: string | null
  firmwares: readonly Firmware[]
  isAutoUpdated: boolean
  meta: JsonObject
  alarms: DeviceAlarms
  throttles: DeviceThrottles
  /**
   * The rules by which the device was last judged completely. Recomputed if missing; not stored, not visible, and not
   * read by `apply`.
   */
  rules: KnownRules | undefined
  /** The functions that are bound to the device. Not stored either. */
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

/** Shared by most devices. Never modified, only replaced. */
export const noFirmwares: readonly Firmware[] = Object.freeze([])
export const noMeta: JsonObject = Object.freeze({})
const noServices: readonly ServiceState[] = Object.freeze([])

export function absentDevice(device: string): DeviceState {
  return {
    device,
    isThere: false,
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
