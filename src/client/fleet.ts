import type { Later } from '#client/cell'
import type { DeviceView, ServiceView } from '#client/device-view'
import { type DeviceMeta, FleetDevice } from '#client/fleet-device'
import { LiveMap } from '#client/live-map'

/** All devices, put together from what two lists say of each. */
export class Fleet {
  readonly #devices: LiveMap<string, DeviceView>
  /** Lists that are to be read. */
  readonly #missing = new Set<'services' | 'meta'>()

  constructor(later: Later) {
    this.#devices = new LiveMap(later)
  }

  get devices(): LiveMap<string, DeviceView> {
    return this.#devices
  }

  /** Undefined: it is not listed, or not any more. */
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
