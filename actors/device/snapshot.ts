import { ServiceState } from '#actors/device/service-state'
import { absentDevice, type DeviceState, noFirmwares, noMeta } from '#actors/device/state'
import type { Firmware, PropertyState } from '#model/entry'
import type { JsonObject } from '#model/json-value'
import type { DeviceStatus } from '#model/meta'
import type { Shape } from '#model/shape'
import type { RecordFormat } from '#runtime/actor'

/** A new field goes to the end; one whose meaning changes raises the version and leads the old one up. */
export const deviceFormat: RecordFormat = { name: 'device', version: 1, upgrades: {} }

/** The stored form: an array, because there may be millions of them. */
type DeviceSnapshot = readonly [
  flakeAddress: number,
  status: DeviceStatus,
  lastMessage: number,
  lastConnect: number,
  numConnects: number,
  session: string,
  seq: number,
  project: string | null,
  firmwares: readonly Firmware[],
  isAutoUpdated: boolean,
  meta: JsonObject,
  services: readonly (readonly [shape: string, states: PropertyState[], times: number[], offsets: number[]])[],
]

/** Undefined for a device that is gone. Undone by `deviceOf`. */
export function snapshotOf(state: DeviceState): DeviceSnapshot | undefined {
  if (!state.isThere) return undefined
  return [
    state.flakeAddress,
    state.status,
    state.lastMessage,
    state.lastConnect,
    state.numConnects,
    state.session,
    state.seq,
    state.project,
    state.firmwares,
    state.isAutoUpdated,
    state.meta,
    state.services.map((service) => [service.shape.id, service.states(), service.times(), service.offsets()]),
  ]
}

export function deviceOf(device: string, stored: unknown, shapeById: (id: string) => Shape): DeviceState {
  if (stored === undefined) return absentDevice(device)
  const [
    flakeAddress,
    status,
    lastMessage,
    lastConnect,
    numConnects,
    session,
    seq,
    project,
    firmwares,
    isAutoUpdated,
    meta,
    services,
  ] = stored as DeviceSnapshot
  return {
    device,
    isThere: true,
    flakeAddress,
    services: services.map(([id, ...lists]) => new ServiceState(shapeById(id), ...lists)),
    status,
    lastMessage,
    lastConnect,
    numConnects,
    session,
    seq,
    project,
    firmwares: firmwares.length === 0 ? noFirmwares : firmwares,
    isAutoUpdated,
    meta: Object.keys(meta).length === 0 ? noMeta : meta,
  }
}
