import type { Link } from '#link/link'
import type { World } from '#runtime/world'

/** What may wait of one link, and of all: above it a link has to come again. Bytes as they came, so they weigh that much. */
export const queuedBytesMax = 16 * 1024 * 1024
export const allQueuedBytesMax = 64 * 1024 * 1024

/** A larger frame always waits, and is taken in steps. In these bytes fit 200 declared properties, half a millisecond. */
export const smallFrameBytesMax = 4_096

/** How long frames are worked off before the loop is given back. */
const sliceMs = 2
/**
 * A slice that took longer than this held a frame that is dear: the next one waits as long again, so that links which send
 * nothing but such frames take at most half of the loop.
 */
const dearMs = 2 * sliceMs

/** The rest of a frame that is taken in steps; between them, frames of other links are taken. */
export type FrameSteps = Iterator<undefined, void>

/** A small frame needs no steps. */
export function finish(steps: FrameSteps | undefined): void {
  while (steps && !steps.next().done);
}

interface Queued {
  readonly kept: KeptFrame
  readonly isBinary: boolean
}

interface LinkQueue {
  readonly frames: (Queued | undefined)[]
  next: number
  bytes: number
  /** Of the frame before `next`. */
  steps: FrameSteps | undefined
}

export interface FrameQueueOptions {
  readonly world: World
  /** `data` is lent for the call. */
  readonly take: (link: Link, data: Uint8Array, isBinary: boolean) => FrameSteps | undefined
  /** A frame made us throw: a bug, that must cost nobody but its link. */
  readonly failed: (link: Link, error: unknown) => void
}

/**
 * Frames that cost more than an UPDATE, and those behind them. A gateway that comes back says ten thousand HELLOs in one
 * packet after another: they are worked off in slices, link by link, each link's in its order.
 */
export class FrameQueue {
  readonly #options: FrameQueueOptions
  readonly #queues = new Map<Link, LinkQueue>()
  readonly #pages = new FramePages()
  #bytes = 0
  #isRunning = false
  /** On frames taken at once, since the loop came round. */
  #spentMs = 0

  constructor(options: FrameQueueOptions) {
    this.#options = options
  }

  /** Whether frames of this link wait: then those behind them have to wait too. */
  has(link: Link): boolean {
    return this.#queues.has(link)
  }

  /** Does it at once, if that does not hold the loop: nothing else waits, and little was done so since it came round. */
  now(task: () => void): boolean {
    const { world } = this.#options
    if (this.#queues.size > 0 || this.#spentMs >= sliceMs) return false
    if (this.#spentMs === 0) {
      world.soon(() => {
        this.#spentMs = 0
      })
    }
    const started = world.monotonic()
    task()
    this.#spentMs += Math.max(world.monotonic() - started, Number.EPSILON)
    return true
  }

  /** Keeps a copy for later. False when too much waits already. */
  add(link: Link, data: Uint8Array, isBinary: boolean): boolean {
    const queue = this.#queues.get(link) ?? { frames: [], next: 0, bytes: 0, steps: undefined }
    const bytes = data.byteLength
    if (queue.bytes + bytes > queuedBytesMax || this.#bytes + bytes > allQueuedBytesMax) return false
    this.#queues.set(link, queue)
    queue.frames.push({ kept: this.#pages.keep(data), isBinary })
    queue.bytes += bytes
    this.#bytes += bytes
    if (this.#isRunning) return true
    this.#isRunning = true
    this.#options.world.soon(() => this.#run())
    return true
  }

  forget(link: Link): void {
    const queue = this.#queues.get(link)
    if (!queue) return
    this.#bytes -= queue.bytes
    this.#queues.delete(link)
    for (let at = queue.next; at < queue.frames.length; at++) this.#pages.release((queue.frames[at] as Queued).kept)
  }

  #run(): void {
    const { world } = this.#options
    const started = world.monotonic()
    // A map goes on with what is put back behind the others: one frame of each in turn.
    for (const [link, queue] of this.#queues) {
      if (!link.isTaking) {
        this.forget(link)
        continue
      }
      this.#work(link, queue)
      this.#queues.delete(link)
      if (queue.steps || queue.next < queue.frames.length) this.#queues.set(link, queue)
      if (world.monotonic() - started > sliceMs) break
    }
    this.#isRunning = this.#queues.size > 0
    if (!this.#isRunning) return
    const spentMs = world.monotonic() - started
    if (spentMs > dearMs) world.after(spentMs, () => this.#run())
    else world.soon(() => this.#run())
  }

  /** One frame, or one step of it. */
  #work(link: Link, queue: LinkQueue): void {
    try {
      if (!queue.steps) queue.steps = this.#take(link, queue)
      else if (queue.steps.next().done) queue.steps = undefined
    } catch (error) {
      queue.steps = undefined
      this.forget(link)
      queue.next = queue.frames.length
      this.#options.failed(link, error)
    }
  }

  #take(link: Link, queue: LinkQueue): FrameSteps | undefined {
    const { kept, isBinary } = queue.frames[queue.next] as Queued
    queue.frames[queue.next++] = undefined
    const bytes = kept.data.byteLength
    queue.bytes -= bytes
    this.#bytes -= bytes
    try {
      return this.#options.take(link, kept.data, isBinary)
    } finally {
      this.#pages.release(kept)
    }
  }
}

/** Some hundred HELLOs. */
const pageBytes = 64 * 1024
/** Kept for the next burst, together 4 MiB. */
const freePagesMax = 64

/** A piece of memory that many frames lie in, one behind the other. */
interface Page {
  readonly bytes: Buffer
  used: number
  count: number
}

/** A copy of a frame; `page` is undefined when it lies in memory of its own. */
export interface KeptFrame {
  readonly data: Uint8Array
  readonly page: Page | undefined
}

/**
 * Where frames lie while they wait: in pages that are used again once all their frames are gone. Each in memory of its
 * own, or in Node's pool, waits for a collection of the old space after it was taken, for by then it has outlived two of
 * the young one: a hundred thousand HELLOs left 40 MB of holes to the allocator.
 */
export class FramePages {
  readonly #free: Page[] = []
  #page: Page | undefined

  /** Valid until it is given to `release`. */
  keep(frame: Uint8Array): KeptFrame {
    const { byteLength } = frame
    if (byteLength > pageBytes / 4) return { data: new Uint8Array(frame), page: undefined }
    let page = this.#page
    if (!page || page.used + byteLength > pageBytes) {
      page = this.#free.pop() ?? { bytes: Buffer.allocUnsafeSlow(pageBytes), used: 0, count: 0 }
      this.#page = page
    }
    const data = page.bytes.subarray(page.used, page.used + byteLength)
    data.set(frame)
    page.used += byteLength
    page.count++
    return { data, page }
  }

  /** Once for each kept frame. */
  release({ page }: KeptFrame): void {
    if (!page || --page.count > 0) return
    page.used = 0
    if (page !== this.#page && this.#free.length < freePagesMax) this.#free.push(page)
  }
}
