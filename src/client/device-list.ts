import { type DeviceMeta, type Fleet, neverConnected } from '#client/fleet'
import type { Item } from '#client/routes'
import { Layouts, ServiceState } from '#client/service-state'
import type { ServiceView } from '#client/state'
import type { ListKind } from '#client/synced-list'
import type { EventOf, StreamEvent } from '#model/event'
import type { Property } from '#model/property'

/** The part of the fleet that a state covers. */
export interface StateScope {
  readonly depth: 0 | 1 | 2
  /** The identifiers of the covered devices. Undefined: all devices. */
  readonly devices: Pick<ReadonlySet<string>, 'has'> | undefined
  readonly services: ReadonlySet<string> | undefined
}

/** A page of this size takes the server and the client a few milliseconds. */
const propertiesPerPage = 4_000

/** Devices with their services, by `GET /devices`. */
export class DeviceList implements ListKind {
  readonly route = 'GET /devices'
  readonly query: Readonly<Record<string, unknown>>
  readonly firstLimit = 100
  readonly weightPerPage = propertiesPerPage
  readonly types = ['OBJECT_UPDATED', 'DEVICE_ADD', 'DEVICE_DELETE'] as const
  readonly #fleet: Fleet
  readonly #scope: StateScope
  readonly #layouts = new Layouts()

  constructor(fleet: Fleet, scope: StateScope) {
    this.#fleet = fleet
    this.#scope = scope
    this.query = { depth: scope.depth }
  }

  keyOfEvent(event: StreamEvent): string {
    return (event as EventOf<'DEVICE_ADD'>).deviceIdentifier
  }

  store(entries: readonly unknown[]) {
    const keys: string[] = []
    let weight = 0
    for (const { deviceIdentifier: device, services = [] } of entries as readonly Item<'GET /devices'>[]) {
      weight++
      if (!this.#isWanted(device)) continue
      const states = new Map<string, ServiceView>()
      for (const { serviceIdentifier: service, properties = {} } of services) {
        if (!this.#scope.services || this.#scope.services.has(service)) {
          const state = ServiceState.of(Object.values(properties as Record<string, Property>), this.#layouts)
          states.set(service, state)
          weight += state.size
        }
      }
      this.#fleet.setServices(device, states)
      keys.push(device)
    }
    return { keys, weight }
  }

  retainOnly(isListed: (device: string) => boolean): void {
    for (const device of [...this.#fleet.devices.keys()]) {
      if (!isListed(device)) this.#fleet.setServices(device, undefined)
    }
  }

  apply(event: StreamEvent): void {
    const device = this.keyOfEvent(event)
    if (!this.#isWanted(device)) return
    if (event.type === 'DEVICE_DELETE') this.removeDevice(device)
    else if (event.type === 'DEVICE_ADD') this.#fleet.setServices(device, this.#fleet.servicesOf(device) ?? new Map())
    else if (event.type === 'OBJECT_UPDATED') this.#update(event as EventOf<'OBJECT_UPDATED'>)
  }

  removeDevice(device: string): void {
    this.#fleet.setServices(device, undefined)
  }

  complete(isComplete: boolean): void {
    this.#fleet.complete('services', isComplete)
  }

  #update(event: EventOf<'OBJECT_UPDATED'>): void {
    const { deviceIdentifier: device, serviceIdentifier: service, updates, timestamp } = event
    const { depth, services: wanted } = this.#scope
    if (depth === 0 || (wanted && !wanted.has(service))) return
    const services = this.#fleet.servicesOf(device)
    const before = services?.get(service) as ServiceState | undefined
    // At depth 1 properties are unknown. A service that lost its last property stays until the next full read.
    if (depth === 1 && (before || updates.every(({ tag }) => tag === 'removed'))) return
    const layouts = this.#layouts
    const after = depth === 1 ? ServiceState.of([], layouts) : ServiceState.after(before, updates, timestamp, layouts)
    const changed = new Map(services)
    if (after) changed.set(service, after)
    else changed.delete(service)
    this.#fleet.setServices(device, changed)
  }

  #isWanted(device: string): boolean {
    return this.#scope.devices?.has(device) ?? true
  }
}

/** Status and metadata of devices, by `GET /meta`. */
export class MetaList implements ListKind {
  readonly route = 'GET /meta'
  readonly query = { depth: 1 }
  readonly firstLimit = 500
  readonly weightPerPage = 2_000
  readonly types = ['META_STATUS_CHANGE', 'META_SET', 'META_DELETE', 'DEVICE_ADD', 'DEVICE_DELETE'] as const
  readonly #fleet: Fleet
  readonly #scope: StateScope

  constructor(fleet: Fleet, scope: StateScope) {
    this.#fleet = fleet
    this.#scope = scope
  }

  keyOfEvent(event: StreamEvent): string {
    return (event as EventOf<'META_SET'>).deviceIdentifier
  }

  store(entries: readonly unknown[]) {
    const keys: string[] = []
    for (const { deviceIdentifier: device, ...record } of entries as readonly Item<'GET /meta'>[]) {
      if (this.#scope.devices?.has(device) === false) continue
      this.#fleet.setMeta(device, { ...neverConnected, ...(record as DeviceMeta) })
      keys.push(device)
    }
    return { keys, weight: entries.length }
  }

  retainOnly(isListed: (device: string) => boolean): void {
    for (const device of [...this.#fleet.devices.keys()]) {
      if (!isListed(device)) this.#fleet.setMeta(device, undefined)
    }
  }

  apply(event: StreamEvent): void {
    const device = this.keyOfEvent(event)
    if (this.#scope.devices?.has(device) === false) return
    const before = this.#fleet.metaOf(device) ?? neverConnected
    this.#fleet.setMeta(device, metaAfter(before, event))
  }

  removeDevice(device: string): void {
    this.#fleet.setMeta(device, undefined)
  }

  complete(isComplete: boolean): void {
    this.#fleet.complete('meta', isComplete)
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
