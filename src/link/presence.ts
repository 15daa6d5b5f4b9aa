import { deviceAddress } from '#actors/device/device'
import { presentIndex } from '#actors/device/status'
import type { Link, LinkedDevice } from '#link/link'
import type { Owners } from '#link/owners'
import type { Entry } from '#model/entry'
import type { DeviceStatus } from '#model/meta'
import { tenantKey } from '#model/tenant-key'
import type { Listing } from '#runtime/listing'
import { backgroundSliceMs, Slices } from '#runtime/slices'
import type { System } from '#runtime/system'
import type { World } from '#runtime/world'

/** A device that only posts is there for this long after a message; so is, after a start, one that was there before. */
export const graceMs = 60_000

const tickMs = 1_000
const listedAtATime = 256

export interface PresenceOptions {
  readonly system: System<Entry>
  readonly listing: Listing
  /** What a device is by its link at this moment. */
  readonly statusOf: (tenant: string, device: string) => DeviceStatus
  readonly failed: (error: unknown) => void
}

interface Wanted {
  readonly tenant: string
  readonly device: string
  readonly status: DeviceStatus
}

/**
 * Keeps the recorded status of devices true: a closed link may have carried ten thousand of them, and after a start all
 * that were there before may never come back. Contract 3.10.
 */
export class Presence {
  readonly #options: PresenceOptions
  /** Last wish of each device, in the order of the first. */
  readonly #wanted = new Map<string, Wanted>()
  /** Until when devices without a link are there, World.monotonic; in that order, for all wait equally long. */
  readonly #posted = new Map<string, { readonly tenant: string; readonly device: string; readonly until: number }>()
  #isRunning = false
  #isStopped = false
  #cancelTick: (() => void) | undefined
  #cancelGrace: (() => void) | undefined

  constructor(options: PresenceOptions) {
    this.#options = options
  }

  /** The store was read: devices that are recorded as present have a minute to come back. */
  open(): void {
    const { world } = this.#options.system
    this.#cancelGrace?.()
    this.#cancelGrace = world.after(graceMs, () => {
      this.#settle().catch(this.#options.failed)
    })
  }

  reloaded(): void {
    this.open()
  }

  close(): void {
    this.#isStopped = true
    this.#cancelGrace?.()
    this.#cancelTick?.()
    this.#wanted.clear()
    this.#posted.clear()
  }

  /** Soon, a few at a time; overridden by a later wish. */
  want(tenant: string, device: string, status: DeviceStatus): void {
    if (this.#isStopped) return
    this.#wanted.set(tenantKey(tenant, device), { tenant, device, status })
    if (this.#isRunning) return
    this.#isRunning = true
    this.#options.system.world.soon(() => this.#run())
  }

  /** A device without a link said something. */
  posted(tenant: string, device: string): void {
    const { world } = this.#options.system
    const key = tenantKey(tenant, device)
    this.#posted.delete(key)
    this.#posted.set(key, { tenant, device, until: world.monotonic() + graceMs })
    this.#tick()
  }

  #run(): void {
    const { world } = this.#options.system
    const slice = new Slices(world, backgroundSliceMs)
    for (const [key, wanted] of this.#wanted) {
      this.#wanted.delete(key)
      this.#set(wanted)
      if (slice.isOver) break
    }
    this.#isRunning = this.#wanted.size > 0
    if (this.#isRunning) world.soon(() => this.#run())
  }

  #set({ tenant, device, status }: Wanted): void {
    const { system, statusOf } = this.#options
    // It came back meanwhile, or went, or is on another link: then that is the last word.
    if (statusOf(tenant, device) !== status) return
    if (!system.isServing || !system.gate.isOpen) return
    system.turn(deviceAddress(tenant, device), { type: 'status', status }, { answered: () => {}, refused: () => {} }, 0)
  }

  #tick(): void {
    if (this.#cancelTick || this.#isStopped) return
    const { world } = this.#options.system
    this.#cancelTick = world.after(tickMs, () => {
      this.#cancelTick = undefined
      const now = world.monotonic()
      for (const [key, { tenant, device, until }] of this.#posted) {
        if (until > now) break
        this.#posted.delete(key)
        this.#wantOffline(tenant, device)
      }
      if (this.#posted.size > 0) this.#tick()
    })
  }

  async #settle(): Promise<void> {
    const { system, listing } = this.#options
    for (const { tenant } of [...system.registry.heads()]) {
      const pages = listing.entries(presentIndex, tenant)
      try {
        for (
          let devices = await pages.next(listedAtATime);
          devices.length > 0;
          devices = await pages.next(listedAtATime)
        ) {
          for (const device of devices) {
            if (!this.#posted.has(tenantKey(tenant, device))) this.#wantOffline(tenant, device)
          }
          await this.#nearlyDone()
        }
      } finally {
        await pages.close()
      }
    }
  }

  /** There may be a million of them: no more are listed than can be set soon. */
  async #nearlyDone(): Promise<void> {
    const { world } = this.#options.system
    while (this.#wanted.size >= listedAtATime) await new Promise<void>((resolve) => world.soon(resolve))
  }

  #wantOffline(tenant: string, device: string): void {
    if (this.#options.statusOf(tenant, device) === 'offline') this.want(tenant, device, 'offline')
  }
}

export interface StatusWalksOptions {
  readonly world: World
  readonly owners: Owners
  readonly presence: Presence
}

/**
 * What became of a link is told of each of its devices: in slices, for a gateway may carry twenty thousand (seen: 60 ms
 * each), and fifty of them may close together.
 *
 * A device hears what its link is when its turn comes, not what it was when the walk began; one that another link speaks
 * for by then hears nothing. The devices of a closed link have none from the moment it closed: `Owners` sees to that.
 */
export class StatusWalks {
  readonly #options: StatusWalksOptions
  /** How far each walk came; one after another, in the order they began. */
  readonly #walks = new Map<Link, Iterator<LinkedDevice>>()
  #isRunning = false
  #isStopped = false

  constructor(options: StatusWalksOptions) {
    this.#options = options
  }

  /** It went idle, came back or closed: all its devices, from the first one on. */
  changed(link: Link): void {
    if (this.#isStopped || link.devices.size === 0) return
    this.#walks.delete(link)
    this.#walks.set(link, link.devices.values())
    if (this.#isRunning) return
    this.#isRunning = true
    this.#options.world.soon(() => this.#run())
  }

  /** This one is on its link no more. Offline, unless another link speaks for it. */
  left(linked: LinkedDevice): void {
    const { owners, presence } = this.#options
    if (owners.delete(linked.tenant, linked) && !this.#isStopped) presence.want(linked.tenant, linked.device, 'offline')
  }

  /** From now on nothing that happens to a link means anything for its devices. */
  stop(): void {
    this.#isStopped = true
    this.#walks.clear()
  }

  #run(): void {
    const { world } = this.#options
    const slice = new Slices(world, backgroundSliceMs)
    for (const [link, devices] of this.#walks) {
      let next = devices.next()
      while (!next.done) {
        this.#tell(next.value)
        if (slice.isOver) {
          world.soon(() => this.#run())
          return
        }
        next = devices.next()
      }
      this.#walks.delete(link)
    }
    this.#isRunning = false
  }

  #tell(linked: LinkedDevice): void {
    const { link, tenant, device } = linked
    if (link.isClosed) this.left(linked)
    else this.#options.presence.want(tenant, device, link.isIdle ? 'idle' : 'online')
  }
}
