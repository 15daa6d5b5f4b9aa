import { ServiceState } from '#actors/device/service-state'
import { absentDevice, type DeviceState, noFirmwares, noMeta } from '#actors/device/state'
import type { Firmware, PropertyState } from '#model/entry'
import type { JsonObject } from '#model/json-value'
import type { DeviceStatus } from '#model/meta'
import type { Shape } from '#model/shape'
import type { RecordFormat } from '#runtime/actor'
import type { ValueWriter } from '#runtime/value-writer'

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

/** The same to the byte (a property test compares the two), without a list being made of anything. */
export function writeSnapshot(state: DeviceState, writer: ValueWriter): boolean {
  if (!state.isThere) return false
  writer.array(12)
  writer.number(state.flakeAddress)
  writer.text(state.status)
  writer.number(state.lastMessage)
  writer.number(state.lastConnect)
  writer.number(state.numConnects)
  writer.text(state.session)
  writer.number(state.seq)
  writer.any(state.project)
  writer.any(state.firmwares)
  writer.any(state.isAutoUpdated)
  writer.any(state.meta)
  writer.array(state.services.length)
  for (const service of state.services) writeService(service, writer)
  return true
}

function writeService(service: ServiceState, writer: ValueWriter): void {
  const { id, properties } = service.shape
  const { length } = properties
  writer.array(4)
  writer.text(id)
  writer.array(length)
  for (let index = 0; index < length; index++) {
    const state = service.stateOf(index)
    if (typeof state === 'number') writer.number(state)
    else if (state === null) writer.null()
    else writer.any(state)
  }
  writer.array(length)
  for (let index = 0; index < length; index++) writer.number(service.timeOf(index))
  writer.array(length)
  for (let index = 0; index < length; index++) writer.number(service.offsetOf(index))
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
