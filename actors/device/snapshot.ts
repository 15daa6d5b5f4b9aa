import { ServiceState } from '#actors/device/service-state'
import {
  type AlarmState,
  AlarmStates,
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
import { type DesiredItem, type PackedDesired, packDesired, unpackDesired } from '#model/desired'
import type { PropertyState } from '#model/entry'
import type { JsonObject } from '#model/json-value'
import type { DeviceStatus } from '#model/meta'
import type { Shape } from '#model/shape'
import type { RecordFormat } from '#runtime/actor'
import type { ValueReader, ValueWriter } from '#runtime/value-codec'

/** A new field is appended; a changed meaning raises the version and adds an upgrade. */
export const deviceFormat: RecordFormat = { name: 'device', version: 1, upgrades: {} }

/** Array elements for each alarm, and for each acknowledgement. */
const storedPerAlarm = 4

/** The ids of the shapes that a stored device names. */
export function shapeIdsOf(stored: unknown): readonly string[] {
  const services = (stored as readonly unknown[])[11] as readonly (readonly [shape: string])[]
  return services.map(([id]) => id)
}

/**
 * Writes a device as an array, because there may be millions of devices. Optional fields after the last one with
 * content are left out. No lists are allocated, except for acknowledgements and desired values. Returns false for a
 * removed device.
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
  if (length > 14) writer.any([...state.alarms].flatMap(storedAcknowledgement))
  if (length > 15) writer.any([...state.desired].map(([service, items]) => [service, packDesired(items)]))
  return true
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

/** Id, by, at, comment. */
function storedAcknowledgement([id, { acknowledged }]: readonly [string, AlarmState]) {
  return acknowledged ? [id, acknowledged.by, acknowledged.at, acknowledged.comment] : []
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

/**
 * Reads the output of `writeSnapshot`. Undefined if a field has another type. Fields that a newer release appended are
 * ignored.
 */
export function readSnapshot(
  device: string,
  reader: ValueReader,
  shapeById: (id: string) => Shape,
): DeviceState | undefined {
  const length = reader.array()
  if (length < 12) return undefined
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
  const alarms = length > 12 ? readAlarms(reader) : noAlarms
  const throttles = length > 13 ? readThrottles(reader) : noThrottles
  if (alarms === undefined || throttles === undefined) return undefined
  if (length > 14 && !readAcknowledgements(reader, alarms)) return undefined
  const desired = length > 15 ? readDesired(reader) : noDesired
  for (let field = 16; field < length; field++) reader.any()
  if (status === undefined || desired === undefined || typeof isAutoUpdated !== 'boolean') return undefined
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
    desired,
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

function readAlarms(reader: ValueReader): DeviceAlarms | undefined {
  const length = reader.array()
  if (length === 0) return noAlarms
  if (length % storedPerAlarm !== 0) return undefined
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
  if (length === 0) return noThrottles
  if (length % 2 !== 0) return undefined
  const throttles = new Map<string, number>()
  for (let at = 0; at < length; at += 2) {
    const key = reader.text()
    throttles.set(key, reader.number())
  }
  return throttles
}

/** Adds acknowledgements to their alarms. Returns false if the list has a wrong length, or an alarm is missing. */
function readAcknowledgements(reader: ValueReader, alarms: DeviceAlarms): boolean {
  const states = alarms as AlarmStates
  const length = reader.array()
  for (let place = 0; place < length; place += storedPerAlarm) {
    const id = reader.text()
    const acknowledged = { by: reader.text(), at: reader.number(), comment: reader.any() as string | null }
    const alarm = states.get(id)
    if (!alarm) return false
    states.set(id, { ...alarm, acknowledged })
  }
  return length % storedPerAlarm === 0
}

function readDesired(reader: ValueReader): DeviceDesired | undefined {
  const length = reader.array()
  if (length === 0) return noDesired
  const desired = new Map<string, readonly DesiredItem[]>()
  for (let index = 0; index < length; index++) {
    if (reader.array() !== 2) return undefined
    const service = reader.text()
    const packed = reader.any()
    if (!Array.isArray(packed)) return undefined
    desired.set(service, unpackDesired(packed as PackedDesired))
  }
  return desired
}
