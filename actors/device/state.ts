import type { Firmware, PropertyState } from '#model/entry'
import type { JsonObject } from '#model/json-value'
import type { DeviceStatus } from '#model/meta'
import type { Shape } from '#model/shape'

/** A device as its actor knows it. One that does not exist has an actor too: it says so. */
export interface DeviceState {
  readonly device: string
  isThere: boolean
  flakeAddress: number
  services: ServiceState[]
  status: DeviceStatus
  /** Unix ms, 0 for never. */
  lastMessage: number
  lastConnect: number
  /** Counted since the server started; what an earlier process counted does not show. */
  numConnects: number
  /** The session whose reports were applied last, and the last number applied of it. */
  session: string
  seq: number
  project: string | null
  firmwares: readonly Firmware[]
  isAutoUpdated: boolean
  meta: JsonObject
}

/** A service as declared, with three values a property: what it stands at, since when, and by which entry. */
export interface ServiceState {
  shape: Shape
  states: PropertyState[]
  /** Unix ms; 0 for never reported. */
  times: number[]
  /** The entry that said so last: an earlier one need not be told to who was away. */
  offsets: number[]
}

export function absentDevice(device: string): DeviceState {
  return {
    device,
    isThere: false,
    flakeAddress: 0,
    services: [],
    status: 'offline',
    lastMessage: 0,
    lastConnect: 0,
    numConnects: 0,
    session: '',
    seq: 0,
    project: null,
    firmwares: [],
    isAutoUpdated: true,
    meta: {},
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
