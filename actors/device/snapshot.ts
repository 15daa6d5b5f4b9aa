import {
  alarmsOf,
  type StoredAcknowledgements,
  type StoredAlarms,
  storedAcknowledgements,
  storedAlarms,
  storedPerAlarm,
} from '#actors/device/alarms'
import { desiredFrom } from '#actors/device/desired'
import { ServiceState } from '#actors/device/service-state'
import {
  AlarmStates,
  absentDevice,
  type DeviceAlarms,
  type DeviceDesired,
  type DeviceState,
  type DeviceThrottles,
  noAlarms,
  noDesired,
  noFirmwares,
  noMeta,
  noThrottles,
} from '#actors/device/state'
import { stampsOf, throttlesOf } from '#actors/device/throttles'
import { type PackedDesired, packDesired, unpackDesired } from '#model/desired'
import type { Firmware, PropertyState, Stamps } from '#model/entry'
import type { JsonObject } from '#model/json-value'
import type { DeviceStatus } from '#model/meta'
import type { Shape } from '#model/shape'
import type { RecordFormat } from '#runtime/actor'
import type { ValueReader, ValueWriter } from '#runtime/value-codec'

/** A new field is appended; a changed meaning raises the version and adds an upgrade. */
export const deviceFormat: RecordFormat = { name: 'device', version: 1, upgrades: {} }

/**
 * Stored as an array, because there may be millions of devices. Optional fields after the last one with content are
 * left out.
 */
type DeviceSnapshot = readonly [
  ...DeviceFields,
  alarms?: StoredAlarms,
  throttles?: Stamps,
  acknowledgements?: StoredAcknowledgements,
  desired?: readonly (readonly [service: string, items: PackedDesired])[],
]

type DeviceFields = readonly [
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

/** Undefined for a removed device. The reverse of `deviceOf`. */
export function snapshotOf(state: DeviceState): DeviceSnapshot | undefined {
  if (!state.exists) return undefined
  const fields: DeviceFields = [
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
  const more = [
    storedAlarms(state.alarms),
    stampsOf(state.throttles),
    storedAcknowledgements(state.alarms),
    packedDesired(state.desired),
  ]
  return [...fields, ...more.slice(0, lengthOf(state) - fields.length)] as unknown as DeviceSnapshot
}

/** The ids of the shapes that a stored device names. */
export function shapeIdsOf(stored: unknown): readonly string[] {
  const [, , , , , , , , , , , services] = stored as DeviceSnapshot
  return services.map(([id]) => id)
}

/**
 * Writes the same bytes as packing `snapshotOf` (a property test compares them), without allocating lists, except for
 * acknowledgements and desired values. Returns false for a removed device.
 */
export function writeSnapshot(state: DeviceState, writer: ValueWriter): boolean {
  if (!state.exists) return false
  const length = lengthOf(state)
  writer.array(length)
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
  if (length > 12) writeAlarms(state.alarms, writer)
  if (length > 13) writeThrottles(state.throttles, writer)
  if (length > 14) writer.any(storedAcknowledgements(state.alarms))
  if (length > 15) writer.any(packedDesired(state.desired))
  return true
}

function packedDesired(desired: DeviceDesired) {
  return [...desired].map(([service, items]) => [service, packDesired(items)] as const)
}

function lengthOf({ alarms, throttles, desired }: DeviceState): number {
  if (desired.size > 0) return 16
  for (const { acknowledged } of alarms.values()) if (acknowledged) return 15
  if (throttles.size > 0) return 14
  return alarms.size > 0 ? 13 : 12
}

function writeAlarms(alarms: DeviceAlarms, writer: ValueWriter): void {
  writer.array(alarms.size * storedPerAlarm)
  for (const [id, { isActive, since, waitingSince }] of alarms) {
    writer.text(id)
    writer.any(isActive)
    writer.number(since)
    writer.number(waitingSince)
  }
}

function writeThrottles(throttles: DeviceThrottles, writer: ValueWriter): void {
  writer.array(throttles.size * 2)
  for (const [key, at] of throttles) {
    writer.text(key)
    writer.number(at)
  }
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
    alarms = [],
    throttles = [],
    acknowledgements = [],
    desired = [],
  ] = stored as DeviceSnapshot
  return {
    device,
    exists: true,
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
    alarms: alarmsOf(alarms, acknowledgements),
    throttles: throttlesOf(throttles),
    desired: desiredFrom(desired.map(([service, items]) => [service, unpackDesired(items)])),
    rules: undefined,
    functions: undefined,
  }
}

/**
 * Reads the output of `writeSnapshot` directly into the state, with the same result as `deviceOf` after unpacking (a
 * property test compares them). Undefined for any other form, such as an extra field or another type: `deviceOf`
 * handles those.
 */
export function readSnapshot(
  device: string,
  reader: ValueReader,
  shapeById: (id: string) => Shape,
): DeviceState | undefined {
  const length = reader.array()
  // Acknowledged alarms and desired values are left to `deviceOf`: few devices have any.
  if (length < 12 || length > 14) return undefined
  const flakeAddress = reader.number()
  const status = statuses.get(reader.text())
  const lastMessage = reader.number()
  const lastConnect = reader.number()
  const numConnects = reader.number()
  const session = reader.text()
  const seq = reader.number()
  const project = reader.any()
  const firmwares = reader.any()
  const isAutoUpdated = reader.any()
  const meta = reader.any()
  const services = readServices(reader, shapeById)
  if (services === undefined) return undefined
  const alarms = length === 12 ? noAlarms : readAlarms(reader, length === 14)
  if (alarms === undefined) return undefined
  const throttles = length < 14 ? noThrottles : readThrottles(reader)
  if (status === undefined || throttles === undefined || typeof isAutoUpdated !== 'boolean') return undefined
  if (!(project === null || typeof project === 'string')) return undefined
  if (!Array.isArray(firmwares) || typeof meta !== 'object' || meta === null || Array.isArray(meta)) return undefined
  return {
    device,
    exists: true,
    flakeAddress,
    services,
    status,
    lastMessage,
    lastConnect,
    numConnects,
    session,
    seq,
    project,
    firmwares: firmwares.length === 0 ? noFirmwares : firmwares,
    isAutoUpdated,
    meta: Object.keys(meta).length === 0 ? noMeta : (meta as JsonObject),
    alarms,
    throttles,
    desired: noDesired,
    rules: undefined,
    functions: undefined,
  }
}

/** Each status is one string, which all devices share. */
const statuses: ReadonlyMap<string, DeviceStatus> = new Map(
  (['online', 'idle', 'offline'] as const).map((status) => [status, status]),
)

function readServices(reader: ValueReader, shapeById: (id: string) => Shape): ServiceState[] | undefined {
  const length = reader.array()
  // Allocated with the final length, because a growing array reserves more.
  const services = new Array<ServiceState>(length)
  for (let index = 0; index < length; index++) {
    const service = readService(reader, shapeById)
    if (!service) return undefined
    services[index] = service
  }
  return services
}

function readService(reader: ValueReader, shapeById: (id: string) => Shape): ServiceState | undefined {
  if (reader.array() !== 4) return undefined
  const service = new ServiceState(shapeById(reader.text()))
  const { length } = service.shape.properties
  if (reader.array() !== length) return undefined
  for (let index = 0; index < length; index++) service.setState(index, reader.any() as PropertyState)
  if (reader.array() !== length) return undefined
  for (let index = 0; index < length; index++) service.setTime(index, reader.number())
  if (reader.array() !== length) return undefined
  for (let index = 0; index < length; index++) service.setOffset(index, reader.number())
  return service
}

/** @param mayBeNone whether the list may be empty, because throttles follow it */
function readAlarms(reader: ValueReader, mayBeNone: boolean): DeviceAlarms | undefined {
  const length = reader.array()
  if (length === 0 && mayBeNone) return noAlarms
  if (length === 0 || length % storedPerAlarm !== 0) return undefined
  const alarms = new AlarmStates()
  for (let at = 0; at < length; at += storedPerAlarm) {
    const id = reader.text()
    const isActive = reader.any()
    const since = reader.number()
    const waitingSince = reader.number()
    if (typeof isActive !== 'boolean') return undefined
    alarms.set(id, { isActive, since, waitingSince })
  }
  return alarms
}

function readThrottles(reader: ValueReader): DeviceThrottles | undefined {
  const length = reader.array()
  if (length === 0 || length % 2 !== 0) return undefined
  const throttles = new Map<string, number>()
  for (let at = 0; at < length; at += 2) {
    const key = reader.text()
    throttles.set(key, reader.number())
  }
  return throttles
}
