import type { Link, LinkedDevice } from '#link/link'
import type { Owners } from '#link/owners'
import type { Presence } from '#link/presence'
import type { World } from '#runtime/world'

/** How long devices are gone through before the loop is given back; the status turns that follow take slices of their own. */
const sliceMs = 1

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
    const { tenant } = linked.link.opening
    if (owners.delete(tenant, linked) && !this.#isStopped) presence.want(tenant, linked.device, 'offline')
  }

  /** From now on nothing that happens to a link means anything for its devices. */
  stop(): void {
    this.#isStopped = true
    this.#walks.clear()
  }

  #run(): void {
    const { world } = this.#options
    const started = world.monotonic()
    for (const [link, devices] of this.#walks) {
      let next = devices.next()
      while (!next.done) {
        this.#tell(next.value)
        if (world.monotonic() - started > sliceMs) {
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
    const { link, device } = linked
    if (link.isClosed) this.left(linked)
    else this.#options.presence.want(link.opening.tenant, device, link.isIdle ? 'idle' : 'online')
  }
}
