import { LiveMap, type Scheduler } from '#client/observable'
import type { Item } from '#client/routes'
import { Layouts, ServiceState } from '#client/service-state'
import type { DeviceView, ServiceView } from '#client/state'
import type { ListKind } from '#client/synced-list'
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

/** Devices, combined from the lists of devices and of metadata. */
export class Fleet {
  readonly devices: LiveMap<string, DeviceView>
  /** Lists that are not complete. */
  readonly #missing = new Set<'services' | 'meta'>()

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

  /** The services of a device by identifier. Undefined: the list of devices does not contain the device. */
  servicesOf(device: string): ReadonlyMap<string, ServiceView> | undefined {
    const known = this.#known(device)
    return known?.isListed ? known.services : undefined
  }

  setServices(device: string, services: ReadonlyMap<string, ServiceView> | undefined): void {
    if (services || this.#known(device)?.isListed) this.#set(device, services, this.metaOf(device))
  }

  metaOf(device: string): DeviceMeta | undefined {
    const known = this.#known(device)
    return known?.status === undefined ? undefined : (known as DeviceMeta)
  }

  setMeta(device: string, meta: DeviceMeta | undefined): void {
    if (meta || this.metaOf(device)) this.#set(device, this.servicesOf(device), meta)
  }

  complete(list: 'services' | 'meta', isComplete: boolean): void {
    if (isComplete) this.#missing.delete(list)
    else this.#missing.add(list)
    this.devices.complete(this.#missing.size === 0)
  }

  #known(device: string): FleetDevice | undefined {
    return this.devices.get(device) as FleetDevice | undefined
  }

  #set(device: string, services: ReadonlyMap<string, ServiceView> | undefined, meta: DeviceMeta | undefined): void {
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

/** A list about the devices of a fleet: one part of each device. */
abstract class FleetList {
  readonly #part: 'services' | 'meta'
  protected readonly fleet: Fleet
  protected readonly scope: StateScope

  constructor(part: 'services' | 'meta', fleet: Fleet, scope: StateScope) {
    this.#part = part
    this.fleet = fleet
    this.scope = scope
  }

  abstract removeDevice(device: string): void

  keyOfEvent(event: StreamEvent): string {
    return (event as EventOf<'DEVICE_ADD'>).deviceIdentifier
  }

  retainOnly(isListed: (device: string) => boolean): void {
    for (const device of [...this.fleet.devices.keys()]) if (!isListed(device)) this.removeDevice(device)
  }

  complete(isComplete: boolean): void {
    this.fleet.complete(this.#part, isComplete)
  }

  protected isWanted(device: string): boolean {
    return this.scope.devices?.has(device) ?? true
  }
}

/** Devices with their services, by `GET /devices`. */
export class DeviceList extends FleetList implements ListKind {
  readonly route = 'GET /devices'
  readonly query: Readonly<Record<string, unknown>>
  readonly firstLimit = 100
  readonly weightPerPage = propertiesPerPage
  readonly types = ['OBJECT_UPDATED', 'DEVICE_ADD', 'DEVICE_DELETE'] as const
  readonly #layouts = new Layouts()

  constructor(fleet: Fleet, scope: StateScope) {
    super('services', fleet, scope)
    this.query = { depth: scope.depth }
  }

  store(entries: readonly unknown[]) {
    const keys: string[] = []
    let weight = 0
    for (const { deviceIdentifier: device, services = [] } of entries as readonly Item<'GET /devices'>[]) {
      weight++
      if (!this.isWanted(device)) continue
      const states = new Map<string, ServiceView>()
      for (const { serviceIdentifier: service, properties = {} } of services) {
        if (!this.scope.services || this.scope.services.has(service)) {
          const state = ServiceState.of(Object.values(properties as Record<string, Property>), this.#layouts)
          states.set(service, state)
          weight += state.size
        }
      }
      this.fleet.setServices(device, states)
      keys.push(device)
    }
    return { keys, weight }
  }

  apply(event: StreamEvent): void {
    const device = this.keyOfEvent(event)
    if (!this.isWanted(device)) return
    if (event.type === 'DEVICE_DELETE') this.removeDevice(device)
    else if (event.type === 'DEVICE_ADD') this.fleet.setServices(device, this.fleet.servicesOf(device) ?? new Map())
    else if (event.type === 'OBJECT_UPDATED') this.#update(event as EventOf<'OBJECT_UPDATED'>)
  }

  removeDevice(device: string): void {
    this.fleet.setServices(device, undefined)
  }

  #update(event: EventOf<'OBJECT_UPDATED'>): void {
    const { deviceIdentifier: device, serviceIdentifier: service, updates, timestamp } = event
    const { depth, services: wanted } = this.scope
    if (depth === 0 || (wanted && !wanted.has(service))) return
    const services = this.fleet.servicesOf(device)
    const before = services?.get(service) as ServiceState | undefined
    // At depth 1 properties are unknown. A service that lost its last property stays until the next full read.
    if (depth === 1 && (before || updates.every(({ tag }) => tag === 'removed'))) return
    const layouts = this.#layouts
    const after = depth === 1 ? ServiceState.of([], layouts) : ServiceState.after(before, updates, timestamp, layouts)
    const changed = new Map(services)
    if (after) changed.set(service, after)
    else changed.delete(service)
    this.fleet.setServices(device, changed)
  }
}

/** Status and metadata of devices, by `GET /meta`. */
export class MetaList extends FleetList implements ListKind {
  readonly route = 'GET /meta'
  readonly query = { depth: 1 }
  readonly firstLimit = 500
  readonly weightPerPage = 2_000
  readonly types = ['META_STATUS_CHANGE', 'META_SET', 'META_DELETE', 'DEVICE_ADD', 'DEVICE_DELETE'] as const

  constructor(fleet: Fleet, scope: StateScope) {
    super('meta', fleet, scope)
  }

  store(entries: readonly unknown[]) {
    const keys: string[] = []
    for (const { deviceIdentifier: device, ...record } of entries as readonly Item<'GET /meta'>[]) {
      if (!this.isWanted(device)) continue
      this.fleet.setMeta(device, { ...neverConnected, ...(record as DeviceMeta) })
      keys.push(device)
    }
    return { keys, weight: entries.length }
  }

  apply(event: StreamEvent): void {
    const device = this.keyOfEvent(event)
    if (!this.isWanted(device)) return
    const before = this.fleet.metaOf(device) ?? neverConnected
    this.fleet.setMeta(device, metaAfter(before, event))
  }

  removeDevice(device: string): void {
    this.fleet.setMeta(device, undefined)
  }
}

/** The metadata after an event of the device. Undefined: the event deleted the device. */
function metaAfter(before: DeviceMeta, event: StreamEvent): DeviceMeta | undefined {
  if (event.type === 'DEVICE_DELETE') return undefined
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
