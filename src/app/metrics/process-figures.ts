import { statfs } from 'node:fs/promises'
import { constants, PerformanceObserver } from 'node:perf_hooks'
import { Histogram } from '#runtime/histogram'
import type { World } from '#runtime/world'

/** What stands in a garbage collection's entry, beside when it was and how long. */
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

/** Seconds. The loop is given back after two milliseconds, and a timer may fire one late. */
export const delayBounds = [0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1]
/** Seconds. As other programs on Node have them. */
export const collectionBounds = [0.001, 0.01, 0.1, 1, 2, 5]

/** As often as the loop's delay is looked at. */
const everyMs = 20

export interface ProcessFiguresOptions {
  readonly world: World
  readonly version: string
  readonly dataDirectory: string
  /** How long the loop has worked and waited, milliseconds. */
  readonly loopTimes: () => { readonly active: number; readonly idle: number }
}

/**
 * How the process is. How late its loop is, is counted into buckets that only grow: what Node's own `monitorEventLoopDelay`
 * keeps is of use only to the one who clears it, and there may be two who ask.
 */
export class ProcessFigures {
  readonly #options: ProcessFiguresOptions
  readonly loopDelay = new Histogram(delayBounds)
  readonly collections = Object.fromEntries(
    collectionKinds.map((kind) => [kind, new Histogram(collectionBounds)]),
  ) as Record<CollectionKind, Histogram>
  readonly #observer: PerformanceObserver
  /** Seconds since 1970. */
  readonly startedAt: number
  #cancel: () => void = () => {}

  constructor(options: ProcessFiguresOptions) {
    this.#options = options
    this.startedAt = options.world.now() / 1000 - process.uptime()
    this.#observer = new PerformanceObserver((list) => {
      for (const { detail, duration } of list.getEntries() as readonly { detail?: unknown; duration: number }[]) {
        const kind = kindNames.get((detail as CollectionDetail | undefined)?.kind)
        if (kind) this.collections[kind].observe(duration / 1000)
      }
    })
  }

  get version(): string {
    return this.#options.version
  }

  get loopTimes(): { readonly active: number; readonly idle: number } {
    return this.#options.loopTimes()
  }

  start(): void {
    this.#observer.observe({ entryTypes: ['gc'] })
    this.#tick()
  }

  stop(): void {
    this.#observer.disconnect()
    this.#cancel()
  }

  /** Of the disk that holds the data; undefined where it does not say. */
  async disk(): Promise<{ readonly freeBytes: number; readonly sizeBytes: number } | undefined> {
    try {
      const { bavail, blocks, bsize } = await statfs(this.#options.dataDirectory)
      return { freeBytes: bavail * bsize, sizeBytes: blocks * bsize }
    } catch {
      return undefined
    }
  }

  #tick(): void {
    const { world } = this.#options
    const began = world.monotonic()
    this.#cancel = world.after(everyMs, () => {
      this.loopDelay.observe(Math.max(0, world.monotonic() - began - everyMs) / 1000)
      this.#tick()
    })
  }
}
