import type { Link } from '#link/link'
import type { World } from '#runtime/world'

/** What may wait of one link, by the size of its frames: above it the link has to come again. */
export const queuedBytesMax = 16 * 1024 * 1024

/** How long frames are worked off before the loop is given back. */
const sliceMs = 2

interface Queued {
  readonly frame: unknown
  readonly bytes: number
}

/**
 * Frames that cost more than an UPDATE, and those behind them. A gateway that comes back says ten thousand HELLOs in one
 * packet after another: they are worked off in slices, link by link, each link's in its order.
 */
export class FrameQueue {
  readonly #world: World
  readonly #take: (link: Link, frame: unknown, bytes: number) => void
  readonly #queues = new Map<Link, { readonly frames: Queued[]; next: number; bytes: number }>()
  #isRunning = false
  /** On frames taken at once, since the loop came round. */
  #spentMs = 0

  constructor(world: World, take: (link: Link, frame: unknown, bytes: number) => void) {
    this.#world = world
    this.#take = take
  }

  /** Whether frames of this link wait: then those behind them have to wait too. */
  has(link: Link): boolean {
    return this.#queues.has(link)
  }

  /** At once as long as that does not hold the loop, else in its turn. False when too much waits already. */
  add(link: Link, frame: unknown, bytes: number): boolean {
    if (this.#queues.size === 0 && this.#spentMs < sliceMs) {
      this.#takeNow(link, frame, bytes)
      return true
    }
    let queue = this.#queues.get(link)
    if (!queue) {
      queue = { frames: [], next: 0, bytes: 0 }
      this.#queues.set(link, queue)
    }
    if (queue.bytes + bytes > queuedBytesMax) return false
    queue.frames.push({ frame, bytes })
    queue.bytes += bytes
    if (this.#isRunning) return true
    this.#isRunning = true
    this.#world.soon(() => this.#run())
    return true
  }

  forget(link: Link): void {
    this.#queues.delete(link)
  }

  #takeNow(link: Link, frame: unknown, bytes: number): void {
    if (this.#spentMs === 0) {
      this.#world.soon(() => {
        this.#spentMs = 0
      })
    }
    const started = this.#world.monotonic()
    this.#take(link, frame, bytes)
    this.#spentMs += Math.max(this.#world.monotonic() - started, Number.EPSILON)
  }

  #run(): void {
    const started = this.#world.monotonic()
    // A map goes on with what is put back behind the others: one frame of each in turn.
    for (const [link, queue] of this.#queues) {
      this.#queues.delete(link)
      const queued = queue.frames[queue.next++]
      if (!queued || !link.isTaking) continue
      queue.bytes -= queued.bytes
      if (queue.next < queue.frames.length) this.#queues.set(link, queue)
      this.#take(link, queued.frame, queued.bytes)
      if (this.#world.monotonic() - started > sliceMs) break
    }
    this.#isRunning = this.#queues.size > 0
    if (this.#isRunning) this.#world.soon(() => this.#run())
  }
}
