import { deviceAddress } from '#actors/device/device'
import { presentIndex } from '#actors/device/status'
import type { DeviceLinks } from '#link/device-links'
import type { Link, LinkedDevice } from '#link/link'
import type { Entry } from '#model/entry'
import type { DeviceStatus } from '#model/meta'
import { tenantKey } from '#model/tenant'
import { type Due, DueQueue, unplaced } from '#runtime/due-queue'
import { backgroundSliceMs, runInSlices, Slices } from '#runtime/slices'
import { type Listing, pagesIn } from '#runtime/storage'
import type { System } from '#runtime/system'
import type { World } from '#runtime/world'

/**
 * A device that reports by HTTP counts as online for this long after a message. After a restart, devices have this long
 * to reconnect.
 */
export const graceMs = 60_000

const listedAtATime = 256

export interface PresenceOptions {
  readonly system: System<Entry>
  readonly listing: Listing
  /** The present status of a device by its link. */
  readonly statusOf: (tenant: string, device: string) => DeviceStatus
  readonly failed: (error: unknown) => void
}

interface HttpDevice extends Due {
  readonly tenant: string
  readonly device: string
}

interface StatusChange {
  readonly tenant: string
  readonly device: string
  readonly status: DeviceStatus
}

/**
 * Keeps the recorded status of devices correct. A closed link may have had ten thousand devices, and after a restart
 * some devices that were online before do not reconnect. Contract 3.10.
 */
export class Presence {
  readonly #options: PresenceOptions
  /** The latest status of each device, in the order of the first change. */
  readonly #changes = new Map<string, StatusChange>()
  /** When devices that report by HTTP become offline, unless they have a link. */
  readonly #httpDevices: DueQueue<HttpDevice>
  #isRunning = false
  #isStopped = false
  #cancelGrace: (() => void) | undefined

  constructor(options: PresenceOptions) {
    this.#options = options
    const { world } = options.system
    this.#httpDevices = new DueQueue(world, 'monotonic', ({ tenant, device }) => this.#setOffline(tenant, device))
  }

  /** Called when the store is read: devices recorded as online have a minute to reconnect. */
  open(): void {
    const { world } = this.#options.system
    this.#cancelGrace?.()
    this.#cancelGrace = world.after(graceMs, () => {
      this.#setAbsentOffline().catch(this.#options.failed)
    })
  }

  reloaded(): void {
    this.open()
  }

  close(): void {
    this.#isStopped = true
    this.#cancelGrace?.()
    this.#changes.clear()
    this.#httpDevices.stop()
  }

  /** Records a status soon, a few devices at a time. A later status replaces an earlier one. */
  change(tenant: string, device: string, status: DeviceStatus): void {
    if (this.#isStopped) return
    this.#changes.set(tenantKey(tenant, device), { tenant, device, status })
    if (this.#isRunning) return
    this.#isRunning = true
    this.#options.system.world.soon(() => this.#run())
  }

  /** A device sent a message by HTTP. */
  reportedByHttp(tenant: string, device: string): void {
    const { world } = this.#options.system
    const key = tenantKey(tenant, device)
    const known = this.#httpDevices.get(key) ?? { ...unplaced, key, tenant, device }
    this.#httpDevices.put(known, world.monotonic() + graceMs)
  }

  #run(): void {
    const { world } = this.#options.system
    const slice = new Slices(world, backgroundSliceMs)
    // One iterator for the slice: a new one would pass over the places of all deleted changes again.
    for (const [key, change] of this.#changes) {
      this.#changes.delete(key)
      this.#set(change)
      if (slice.isOver) break
    }
    this.#isRunning = this.#changes.size > 0
    if (this.#isRunning) world.soon(() => this.#run())
  }

  #set({ tenant, device, status }: StatusChange): void {
    const { system, statusOf } = this.#options
    // The status changed meanwhile: the later change is recorded instead.
    if (statusOf(tenant, device) !== status) return
    if (!system.isServing || !system.gate.isOpen) return
    system.turn(deviceAddress(tenant, device), { type: 'status', status }, { answered: () => {}, refused: () => {} }, 0)
  }

  async #setAbsentOffline(): Promise<void> {
    const { system, listing } = this.#options
    for (const { tenant } of [...system.registry.heads()]) {
      for await (const devices of pagesIn(listing.entries(presentIndex, tenant), listedAtATime)) {
        for (const device of devices) {
          if (!this.#httpDevices.get(tenantKey(tenant, device))) this.#setOffline(tenant, device)
        }
        await this.#untilFewChanges()
      }
    }
  }

  /** Waits until few changes wait to be recorded, because a tenant may have a million devices. */
  async #untilFewChanges(): Promise<void> {
    const { world } = this.#options.system
    while (this.#changes.size >= listedAtATime) await new Promise<void>((resolve) => world.soon(resolve))
  }

  #setOffline(tenant: string, device: string): void {
    if (this.#options.statusOf(tenant, device) === 'offline') this.change(tenant, device, 'offline')
  }
}

export interface PresenceFanoutOptions {
  readonly world: World
  readonly deviceLinks: DeviceLinks
  readonly presence: Presence
}

/**
 * Applies a status change of a link to each of its devices, in slices: a gateway may have twenty thousand devices (60
 * ms), and the links of fifty gateways may close at once.
 *
 * Each device gets the status that the link has when the device is reached. Devices that moved to another link are
 * skipped. `DeviceLinks` returns no link for devices of a closed link.
 */
export class PresenceFanout {
  readonly #options: PresenceFanoutOptions
  /** The remaining devices of each link, in the order of the changes. */
  readonly #progress = new Map<Link, Iterator<LinkedDevice>>()
  #isRunning = false
  #isStopped = false

  constructor(options: PresenceFanoutOptions) {
    this.#options = options
  }

  /** The link went idle, became active or closed: begins again at its first device. */
  restart(link: Link): void {
    if (this.#isStopped || link.devices.size === 0) return
    this.#progress.delete(link)
    this.#progress.set(link, link.devices.values())
    if (this.#isRunning) return
    this.#isRunning = true
    runInSlices(this.#options.world, () => this.#applyNext())
  }

  /** The device left its link. It is offline unless it is on another link. */
  left(linked: LinkedDevice): void {
    const { deviceLinks, presence } = this.#options
    if (deviceLinks.delete(linked.tenant, linked) && !this.#isStopped)
      presence.change(linked.tenant, linked.device, 'offline')
  }

  /** From now on, changes of links have no effect on the status of devices. */
  stop(): void {
    this.#isStopped = true
    this.#progress.clear()
  }

  /** Applies the change of a link to its next device. Returns false if no device is left. */
  #applyNext(): boolean {
    for (const [link, devices] of this.#progress) {
      const next = devices.next()
      if (!next.done) {
        this.#apply(next.value)
        return true
      }
      this.#progress.delete(link)
    }
    this.#isRunning = false
    return false
  }

  #apply(linked: LinkedDevice): void {
    const { link, tenant, device } = linked
    if (link.isClosed) this.left(linked)
    else this.#options.presence.change(tenant, device, link.isIdle ? 'idle' : 'online')
  }
}
