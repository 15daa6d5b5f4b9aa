import type { LinkedDevice } from '#link/link'
import { tenantKey } from '#model/tenant-key'
import type { World } from '#runtime/world'

/** Take-overs of one device in a minute, above which the newcomer is refused: two are fighting for it. Contract 7. */
export const takeOversMax = 10
const takeOverWindowMs = 60_000
/** Devices whose take-overs are counted: a bound, not a promise. */
const countedMax = 100_000

/** Which link speaks for which device: the latest that said HELLO for it. */
export class Owners {
  readonly #world: World
  /** By tenant, then device: such a text is there anyway, one made of both would be kept only for this. */
  readonly #linked = new Map<string, Map<string, LinkedDevice>>()
  #size = 0
  readonly #takeOvers = new Map<string, { count: number; since: number }>()

  constructor(world: World) {
    this.#world = world
  }

  /** Those of closed links included that were not taken out yet. */
  get size(): number {
    return this.#size
  }

  /** Nobody speaks for the devices of a closed link, though they are taken out one after another. */
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

  /** False when it is somebody else's by now. */
  delete(tenant: string, linked: LinkedDevice): boolean {
    const devices = this.#linked.get(tenant)
    if (devices?.get(linked.device) !== linked) return false
    this.#size--
    return devices.delete(linked.device)
  }

  /** Counts a take-over; true when there were too many of late. */
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
