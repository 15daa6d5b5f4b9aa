import type { LinkedDevice } from '#link/link'
import { tenantKey } from '#model/tenant'
import type { World } from '#runtime/world'

/**
 * Take-overs of one device in a minute. Above this number, HELLO is refused, because two links use the same device.
 * Contract 7.
 */
export const takeOversMax = 10
const takeOverWindowMs = 60_000
/** Devices whose take-overs are counted. Above this number, counting starts again for all devices. */
const countedMax = 100_000

/** Finds the link that a device is on: the last link that sent HELLO for the device. */
export class DeviceLinks {
  readonly #world: World
  /** By tenant, then by device: a combined key would cost memory for each device. */
  readonly #linked = new Map<string, Map<string, LinkedDevice>>()
  #size = 0
  readonly #takeOvers = new Map<string, { count: number; since: number }>()

  constructor(world: World) {
    this.#world = world
  }

  /** Includes devices of closed links that are not yet removed. */
  get size(): number {
    return this.#size
  }

  /** The devices of a closed link are offline at once, although they are removed one after another. */
  get(tenant: string, device: string): LinkedDevice | undefined {
    const linked = this.#linked.get(tenant)?.get(device)
    return linked?.link.isClosed ? undefined : linked
  }

  set(tenant: string, linked: LinkedDevice): void {
    let devices = this.#linked.get(tenant)
    if (!devices) {
      devices = new Map()
      this.#linked.set(tenant, devices)
    }
    if (!devices.has(linked.device)) this.#size++
    devices.set(linked.device, linked)
  }

  /** Returns false if another link has the device by now. */
  delete(tenant: string, linked: LinkedDevice): boolean {
    const devices = this.#linked.get(tenant)
    if (devices?.get(linked.device) !== linked) return false
    this.#size--
    return devices.delete(linked.device)
  }

  /** Counts a take-over. Returns true if there were too many lately. */
  isFlapping(tenant: string, device: string): boolean {
    const now = this.#world.monotonic()
    const key = tenantKey(tenant, device)
    const before = this.#takeOvers.get(key)
    if (before && now - before.since <= takeOverWindowMs) return ++before.count > takeOversMax
    if (this.#takeOvers.size >= countedMax) this.#takeOvers.clear()
    this.#takeOvers.set(key, { count: 1, since: now })
    return false
  }
}
