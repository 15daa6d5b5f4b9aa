import { LiveMap, type Scheduler } from '#client/observable'
import type { DeviceView, ServiceView } from '#client/state'
import type { DeviceStatus } from '#model/meta'
import { deviceIdentifierOf } from '#model/name-forms'

/** Status and metadata of a device, from `GET /meta` and its events. */
export interface DeviceMeta {
  readonly status: DeviceStatus
  readonly lastMessage: number
  readonly lastConnect: number
  readonly numConnects: number
  readonly meta: Readonly<Record<string, unknown>>
}

const noServices: ReadonlyMap<string, ServiceView> = new Map()

/** A device that has never connected. */
export const neverConnected: DeviceMeta = {
  status: 'offline',
  lastMessage: 0,
  lastConnect: 0,
  numConnects: 0,
  meta: Object.freeze({}),
}

/** A device, combined from two lists; a caller may be permitted to read only one of them. Immutable. */
class FleetDevice implements DeviceView {
  readonly deviceIdentifier: string
  readonly status: DeviceStatus | undefined
  readonly lastMessage: number
  readonly lastConnect: number
  readonly numConnects: number
  readonly meta: Readonly<Record<string, unknown>>
  readonly services: ReadonlyMap<string, ServiceView>
  /** Whether the list of devices contains this device, even without services. */
  readonly isListed: boolean

  constructor(
    deviceIdentifier: string,
    services: ReadonlyMap<string, ServiceView> | undefined,
    meta: DeviceMeta | undefined,
  ) {
    this.deviceIdentifier = deviceIdentifier
    const known = meta ?? neverConnected
    this.status = meta?.status
    this.lastMessage = known.lastMessage
    this.lastConnect = known.lastConnect
    this.numConnects = known.numConnects
    this.meta = known.meta
    this.services = services ?? noServices
    this.isListed = services !== undefined
  }

  /** Status and metadata; undefined until they have been read. */
  get known(): DeviceMeta | undefined {
    return this.status === undefined ? undefined : (this as DeviceMeta)
  }
}

/** Devices, combined from the lists of devices and of metadata. */
export class Fleet {
  readonly #devices: LiveMap<string, DeviceView>
  /** Lists that are not complete. */
  readonly #missing = new Set<'services' | 'meta'>()

  constructor(schedule: Scheduler) {
    this.#devices = new LiveMap(schedule)
  }

  get devices(): LiveMap<string, DeviceView> {
    return this.#devices
  }

  /** Whether the device is known or watched. */
  has(device: string): boolean {
    return this.#devices.has(device) || this.#devices.isWatched(device)
  }

  /** The watched devices, without invalid identifiers (perhaps half typed), because the server would refuse them. */
  watched(): readonly string[] {
    return [...this.#devices.watched()].filter((device) => deviceIdentifierOf(device) === device)
  }

  /** The services of a device by identifier. Undefined: the list of devices does not contain the device. */
  servicesOf(device: string): ReadonlyMap<string, ServiceView> | undefined {
    const known = this.#known(device)
    return known?.isListed ? known.services : undefined
  }

  setServices(device: string, services: ReadonlyMap<string, ServiceView> | undefined): void {
    const known = this.#known(device)
    if (services || known?.isListed) this.#set(device, services, known?.known)
  }

  metaOf(device: string): DeviceMeta | undefined {
    return this.#known(device)?.known
  }

  setMeta(device: string, meta: DeviceMeta | undefined): void {
    const known = this.#known(device)
    if (meta || known?.known) this.#set(device, known?.isListed ? known.services : undefined, meta)
  }

  complete(list: 'services' | 'meta', isComplete: boolean): void {
    if (isComplete) this.#missing.delete(list)
    else this.#missing.add(list)
    this.#devices.complete(this.#missing.size === 0)
  }

  #known(device: string): FleetDevice | undefined {
    return this.#devices.get(device) as FleetDevice | undefined
  }

  #set(device: string, services: ReadonlyMap<string, ServiceView> | undefined, meta: DeviceMeta | undefined): void {
    if (!services && !meta) this.#devices.delete(device)
    else this.#devices.set(device, new FleetDevice(device, services, meta))
  }
}
