import { statfs } from 'node:fs/promises'
import { constants, PerformanceObserver } from 'node:perf_hooks'
import { Histogram } from '#runtime/histogram'
import type { World } from '#runtime/world'

/** The details of a garbage collection entry. */
interface CollectionDetail {
  readonly kind?: number
}

const kindNames: ReadonlyMap<number | undefined, CollectionKind> = new Map([
  [constants.NODE_PERFORMANCE_GC_MINOR, 'minor'],
  [constants.NODE_PERFORMANCE_GC_MAJOR, 'major'],
  [constants.NODE_PERFORMANCE_GC_INCREMENTAL, 'incremental'],
  [constants.NODE_PERFORMANCE_GC_WEAKCB, 'weakcb'],
])
export const collectionKinds = ['minor', 'major', 'incremental', 'weakcb'] as const
export type CollectionKind = (typeof collectionKinds)[number]

/** Seconds. Slices of work end after two milliseconds, and a timer may fire a millisecond late. */
export const delayBounds = [0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1]
/** Seconds. The usual buckets of Node programs. */
export const collectionBounds = [0.001, 0.01, 0.1, 1, 2, 5]

/** The interval of the delay measurement. */
const everyMs = 20

/**
 * Measurements of the process. Event loop delays are counted in buckets that only grow: Node's `monitorEventLoopDelay`
 * would have to be reset by its reader, and there may be two readers.
 */
export class ProcessMetrics {
  readonly #world: World
  readonly #dataDirectory: string
  readonly loopDelay = new Histogram(delayBounds)
  readonly collections = Object.fromEntries(
    collectionKinds.map((kind) => [kind, new Histogram(collectionBounds)]),
  ) as Record<CollectionKind, Histogram>
  readonly #observer: PerformanceObserver
  /** Seconds since 1970. */
  readonly startedAt: number
  #cancel: () => void = () => {}

  constructor(world: World, dataDirectory: string) {
    this.#world = world
    this.#dataDirectory = dataDirectory
    this.startedAt = world.now() / 1000 - process.uptime()
    this.#observer = new PerformanceObserver((list) => {
      for (const { detail, duration } of list.getEntries() as readonly { detail?: unknown; duration: number }[]) {
        const kind = kindNames.get((detail as CollectionDetail | undefined)?.kind)
        if (kind) this.collections[kind].observe(duration / 1000)
      }
    })
  }

  start(): void {
    this.#observer.observe({ entryTypes: ['gc'] })
    this.#tick()
  }

  stop(): void {
    this.#observer.disconnect()
    this.#cancel()
  }

  /** The disk that holds the data; undefined if the system does not report it. */
  async disk(): Promise<{ readonly freeBytes: number; readonly sizeBytes: number } | undefined> {
    try {
      const { bavail, blocks, bsize } = await statfs(this.#dataDirectory)
      return { freeBytes: bavail * bsize, sizeBytes: blocks * bsize }
    } catch {
      return undefined
    }
  }

  #tick(): void {
    const began = this.#world.monotonic()
    this.#cancel = this.#world.after(everyMs, () => {
      this.loopDelay.observe(Math.max(0, this.#world.monotonic() - began - everyMs) / 1000)
      this.#tick()
    })
  }
}
