import type { Link } from '#link/link'
import type { World } from '#runtime/world'

/**
 * Limits for queued frames of one link and of all links. A link that exceeds a limit must reconnect. Frames are stored
 * undecoded, so the limits count their real bytes.
 */
export const queuedBytesMax = 16 * 1024 * 1024
export const allQueuedBytesMax = 64 * 1024 * 1024

/**
 * Larger frames are always queued, and processed in steps. 4 KiB hold 200 declared properties, half a millisecond of
 * work.
 */
export const smallFrameBytesMax = 4_096

/** How long the queue works before it yields to the event loop. */
const sliceMs = 2
/**
 * A slice that took longer contained an expensive frame. The next slice then begins after a pause of the same length,
 * so that links that send only such frames use at most half of the CPU.
 */
const expensiveMs = 2 * sliceMs

/** The remaining steps of a frame. Frames of other links are processed between them. */
export type FrameSteps = Iterator<undefined, void>

/** Runs all steps at once. Only for small frames. */
export function finish(steps: FrameSteps | undefined): void {
  while (steps && !steps.next().done);
}

interface Queued {
  readonly copy: FrameCopy
  readonly isBinary: boolean
}

interface LinkQueue {
  readonly frames: (Queued | undefined)[]
  next: number
  bytes: number
  /** The remaining steps of the frame before `next`. */
  steps: FrameSteps | undefined
  /** Each task runs when all frames before `at` are processed. */
  readonly tasks: { readonly at: number; readonly task: () => void }[]
}

export interface FrameQueueOptions {
  readonly world: World
  /** `data` is valid during the call only. */
  readonly take: (link: Link, data: Uint8Array, isBinary: boolean) => FrameSteps | undefined
  /** A frame caused an exception, which is a bug. Only its link may be affected. */
  readonly failed: (link: Link, error: unknown) => void
}

/**
 * Queues frames that cost more than an UPDATE, and all later frames of the same link. A reconnecting gateway sends ten
 * thousand HELLOs in a burst: they are processed in slices, one link after another, in order for each link.
 */
export class FrameQueue {
  readonly #options: FrameQueueOptions
  readonly #queues = new Map<Link, LinkQueue>()
  readonly #pages = new FramePages()
  #bytes = 0
  #isRunning = false
  /** Time for frames processed without the queue, since the last cycle of the event loop. */
  #spentMs = 0

  constructor(options: FrameQueueOptions) {
    this.#options = options
  }

  /** Whether frames of this link are queued. Later frames must be queued too, to keep the order. */
  has(link: Link): boolean {
    return this.#queues.has(link)
  }

  /**
   * Runs the task now if the queue is empty and this cycle of the event loop has time left; otherwise returns false.
   */
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

  /** Queues a copy. Returns false if a limit is exceeded. */
  add(link: Link, data: Uint8Array, isBinary: boolean): boolean {
    const queue = this.#queues.get(link) ?? { frames: [], next: 0, bytes: 0, steps: undefined, tasks: [] }
    const bytes = data.byteLength
    if (queue.bytes + bytes > queuedBytesMax || this.#bytes + bytes > allQueuedBytesMax) return false
    this.#queues.set(link, queue)
    queue.frames.push({ copy: this.#pages.keep(data), isBinary })
    queue.bytes += bytes
    this.#bytes += bytes
    if (this.#isRunning) return true
    this.#isRunning = true
    this.#options.world.soon(() => this.#run())
    return true
  }

  /**
   * Runs the task synchronously after the last queued frame of the link, or at once if no frames are queued. The task
   * never runs if the link ends before.
   */
  after(link: Link, task: () => void): void {
    const queue = this.#queues.get(link)
    if (queue) queue.tasks.push({ at: queue.frames.length, task })
    else task()
  }

  forget(link: Link): void {
    const queue = this.#queues.get(link)
    if (!queue) return
    this.#bytes -= queue.bytes
    this.#queues.delete(link)
    for (let at = queue.next; at < queue.frames.length; at++) this.#pages.release((queue.frames[at] as Queued).copy)
  }

  #run(): void {
    const { world } = this.#options
    const started = world.monotonic()
    // The iteration of a Map includes entries that are added at its end, so the links are served in rotation, one frame
    // each.
    for (const [link, queue] of this.#queues) {
      if (!link.isAccepting) {
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
    if (spentMs > expensiveMs) world.after(spentMs, () => this.#run())
    else world.soon(() => this.#run())
  }

  /** Processes one frame, or one step of it. */
  #work(link: Link, queue: LinkQueue): void {
    try {
      if (!queue.steps) queue.steps = this.#take(link, queue)
      else if (queue.steps.next().done) queue.steps = undefined
      while (!queue.steps && queue.tasks[0] && queue.tasks[0].at <= queue.next) queue.tasks.shift()?.task()
    } catch (error) {
      queue.steps = undefined
      this.forget(link)
      queue.next = queue.frames.length
      this.#options.failed(link, error)
    }
  }

  #take(link: Link, queue: LinkQueue): FrameSteps | undefined {
    const { copy, isBinary } = queue.frames[queue.next] as Queued
    queue.frames[queue.next++] = undefined
    const bytes = copy.data.byteLength
    queue.bytes -= bytes
    this.#bytes -= bytes
    try {
      return this.#options.take(link, copy.data, isBinary)
    } finally {
      this.#pages.release(copy)
    }
  }
}

/** The size of a page, which holds a few hundred HELLOs. */
const pageBytes = 64 * 1024
/** Pages reused by the next burst: 4 MiB at most. */
const freePagesMax = 64

/** A buffer that contains many frames in a row. */
interface Page {
  readonly bytes: Buffer
  used: number
  count: number
}

/** A copy of a frame. */
export interface FrameCopy {
  readonly data: Uint8Array
  /** Undefined if the copy has its own buffer. */
  readonly page: Page | undefined
}

/**
 * Stores queued frames in pages, which are reused when all their frames are released. With one buffer for each frame,
 * or with Node's pool, the buffers would outlive the young generation of the garbage collector, and would be freed
 * late. A hundred thousand HELLOs then fragmented 40 MB of the heap.
 */
export class FramePages {
  readonly #free: Page[] = []
  #page: Page | undefined

  /** Copies a frame. The copy is valid until `release`. */
  keep(frame: Uint8Array): FrameCopy {
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

  /** Must be called once for each kept frame. */
  release({ page }: FrameCopy): void {
    if (!page || --page.count > 0) return
    page.used = 0
    if (page !== this.#page && this.#free.length < freePagesMax) this.#free.push(page)
  }
}
