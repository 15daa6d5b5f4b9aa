import { LiveMap, type Scheduler } from '#client/observable'
import type { Item } from '#client/routes'
import { ServiceState, sharedLayouts } from '#client/service-state'
import type { DeviceView, ServiceView } from '#client/state'
import type { Entries, ListKind } from '#client/synced-list'
import type { EventOf, StreamEvent } from '#model/event'
import type { DeviceStatus } from '#model/meta'
import { deviceIdentifierOf } from '#model/name-forms'
import type { Property } from '#model/property'

/** Status and metadata of a device, from `GET /meta` and its events. */
interface DeviceMeta extends Omit<DeviceView, 'deviceIdentifier' | 'status' | 'services'> {
  readonly status: DeviceStatus
}

const noServices: ReadonlyMap<string, ServiceView> = new Map()

/** A device that has never connected. */
const neverConnected: DeviceMeta = {
  status: 'offline',
  lastMessage: 0,
  lastConnect: 0,
  numConnects: 0,
  meta: Object.freeze({}),
}

/** A device, combined from two lists; a caller may be permitted to read only one of them. Immutable. */
interface FleetDevice extends DeviceView {
  /** Whether the list of devices contains this device, even without services. */
  readonly isListed: boolean
}

function fleetDevice(
  deviceIdentifier: string,
  services: ReadonlyMap<string, ServiceView> | undefined,
  known: DeviceMeta | undefined,
): FleetDevice {
  const { lastMessage, lastConnect, numConnects, meta } = known ?? neverConnected
  return {
    deviceIdentifier,
    status: known?.status,
    lastMessage,
    lastConnect,
    numConnects,
    meta,
    services: services ?? noServices,
    isListed: services !== undefined,
  }
}

type Services = ReadonlyMap<string, ServiceView>

/** A part of each device of a fleet, from one list. Undefined: the list does not contain the device. */
interface FleetPart<Value> extends Entries {
  get(device: string): Value | undefined
  set(device: string, value: Value): void
}

/** Devices, combined from the lists of devices and of metadata. */
export class Fleet {
  readonly devices: LiveMap<string, DeviceView>
  /** Parts that are not complete. */
  readonly #missing = new Set<object>()
  readonly services = this.#part<Services>(
    (known) => (known?.isListed ? known.services : undefined),
    (device, services) => this.#set(device, services, this.meta.get(device)),
  )
  readonly meta = this.#part<DeviceMeta>(
    (known) => (known?.status === undefined ? undefined : (known as DeviceMeta)),
    (device, meta) => this.#set(device, this.services.get(device), meta),
  )

  constructor(schedule: Scheduler) {
    this.devices = new LiveMap(schedule)
  }

  /** Whether the device is known or watched. */
  has(device: string): boolean {
    return this.devices.has(device) || this.devices.isWatched(device)
  }

  /** The watched devices, without invalid identifiers (perhaps half typed), because the server would refuse them. */
  watched(): readonly string[] {
    return [...this.devices.watched()].filter((device) => deviceIdentifierOf(device) === device)
  }

  #part<Value>(
    partOf: (known: FleetDevice | undefined) => Value | undefined,
    set: (device: string, value: Value | undefined) => void,
  ): FleetPart<Value> {
    const get = (device: string) => partOf(this.devices.get(device) as FleetDevice | undefined)
    return {
      get,
      set,
      keys: () => this.devices.keys(),
      delete: (device) => get(device) && set(device, undefined),
      complete: (isComplete) => {
        if (isComplete) this.#missing.delete(set)
        else this.#missing.add(set)
        this.devices.complete(this.#missing.size === 0)
      },
    }
  }

  #set(device: string, services: Services | undefined, meta: DeviceMeta | undefined): void {
    if (!services && !meta) this.devices.delete(device)
    else this.devices.set(device, fleetDevice(device, services, meta))
  }
}

/** The part of the fleet that a state covers. */
interface StateScope {
  readonly depth: 0 | 1 | 2
  /** The identifiers of the covered devices. Undefined: all devices. */
  readonly devices: Pick<ReadonlySet<string>, 'has'> | undefined
  readonly services: ReadonlySet<string> | undefined
}

/** A page of this size takes the server and the client a few milliseconds. */
const propertiesPerPage = 4_000

function deviceOf(event: StreamEvent): string {
  return (event as EventOf<'DEVICE_ADD'>).deviceIdentifier
}

/** Devices with their services, by `GET /devices`. */
export function deviceList(fleet: Fleet, { depth, devices, services: wanted }: StateScope): ListKind {
  const layouts = sharedLayouts()
  const isWanted = (device: string) => devices?.has(device) ?? true
  const update = (event: EventOf<'OBJECT_UPDATED'>) => {
    const { deviceIdentifier: device, serviceIdentifier: service, updates, timestamp } = event
    if (depth === 0 || (wanted && !wanted.has(service))) return
    const services = fleet.services.get(device)
    const before = services?.get(service) as ServiceState | undefined
    // At depth 1 properties are unknown. A service that lost its last property stays until the next full read.
    if (depth === 1 && (before || updates.every(({ tag }) => tag === 'removed'))) return
    const after = depth === 1 ? ServiceState.of([], layouts) : ServiceState.after(before, updates, timestamp, layouts)
    const changed = new Map(services)
    if (after) changed.set(service, after)
    else changed.delete(service)
    fleet.services.set(device, changed)
  }
  return {
    entries: fleet.services,
    keyOfEvent: deviceOf,
    removeDevice: fleet.services.delete,
    route: 'GET /devices',
    query: { depth },
    firstLimit: 100,
    weightPerPage: propertiesPerPage,
    types: ['OBJECT_UPDATED', 'DEVICE_ADD', 'DEVICE_DELETE'],
    store(entries) {
      const keys: string[] = []
      let weight = 0
      for (const { deviceIdentifier: device, services = [] } of entries as readonly Item<'GET /devices'>[]) {
        weight++
        if (!isWanted(device)) continue
        const states = new Map<string, ServiceView>()
        for (const { serviceIdentifier: service, properties = {} } of services) {
          if (wanted && !wanted.has(service)) continue
          const state = ServiceState.of(Object.values(properties as Record<string, Property>), layouts)
          states.set(service, state)
          weight += state.size
        }
        fleet.services.set(device, states)
        keys.push(device)
      }
      return { keys, weight }
    },
    apply(event) {
      const device = deviceOf(event)
      if (!isWanted(device)) return
      if (event.type === 'DEVICE_DELETE') fleet.services.delete(device)
      else if (event.type === 'DEVICE_ADD') fleet.services.set(device, fleet.services.get(device) ?? new Map())
      else if (event.type === 'OBJECT_UPDATED') update(event as EventOf<'OBJECT_UPDATED'>)
    },
  }
}

/** Status and metadata of devices, by `GET /meta`. */
export function metaList(fleet: Fleet, { devices }: StateScope): ListKind {
  const isWanted = (device: string) => devices?.has(device) ?? true
  return {
    entries: fleet.meta,
    keyOfEvent: deviceOf,
    removeDevice: fleet.meta.delete,
    route: 'GET /meta',
    query: { depth: 1 },
    firstLimit: 500,
    weightPerPage: 2_000,
    types: ['META_STATUS_CHANGE', 'META_SET', 'META_DELETE', 'DEVICE_ADD', 'DEVICE_DELETE'],
    store(entries) {
      const keys: string[] = []
      for (const { deviceIdentifier: device, ...record } of entries as readonly Item<'GET /meta'>[]) {
        if (!isWanted(device)) continue
        fleet.meta.set(device, { ...neverConnected, ...(record as DeviceMeta) })
        keys.push(device)
      }
      return { keys, weight: entries.length }
    },
    apply(event) {
      const device = deviceOf(event)
      if (!isWanted(device)) return
      if (event.type === 'DEVICE_DELETE') fleet.meta.delete(device)
      else fleet.meta.set(device, metaAfter(fleet.meta.get(device) ?? neverConnected, event))
    },
  }
}

/** The metadata after an event of the device. */
function metaAfter(before: DeviceMeta, event: StreamEvent): DeviceMeta {
  if (event.type === 'META_STATUS_CHANGE') {
    const { status, lastMessage, lastConnect, numConnects } = event as EventOf<'META_STATUS_CHANGE'>
    return { status, lastMessage, lastConnect, numConnects, meta: before.meta }
  }
  if (event.type === 'META_SET') return { ...before, meta: (event as EventOf<'META_SET'>).meta }
  if (event.type !== 'META_DELETE') return before
  const { key } = event as EventOf<'META_DELETE'>
  const { [key]: _, ...meta } = before.meta
  return { ...before, meta }
}
