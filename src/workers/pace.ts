import { Slices } from '#runtime/slices'
import type { World } from '#runtime/world'

export interface PaceOptions {
  /** The time after which other work may run. */
  readonly sliceMs: number
  /** The limit of concurrent promises. */
  readonly underWayMax: number
}

/** Thrown after `stop`: the next process resumes the work. */
export class WorkStopped extends Error {
  override readonly name = 'WorkStopped'

  constructor() {
    super('stopped')
  }
}

/** Processes a long list in slices, so that other work waits for one slice at most. */
export class Pace {
  readonly #options: PaceOptions
  #isStopped = false
  /** All work of this pace shares its slices. */
  readonly #slices: Slices

  constructor(world: World, options: PaceOptions) {
    this.#slices = new Slices(world, options.sliceMs, Slices.notBegun)
    this.#options = options
  }

  /**
   * Calls `one` for each item, in order. Resolves after all returned promises. At most `underWayMax` of them are
   * pending.
   * @throws WorkStopped, or the first error of `one`, after all pending promises have settled
   */
  async each<T>(items: Iterable<T> | AsyncIterable<T>, one: (item: T) => void | Promise<void>): Promise<void> {
    const failures: unknown[] = []
    let underWay = 0
    let notifyEnd = () => {}
    const nextEnd = () =>
      new Promise<void>((resolve) => {
        notifyEnd = resolve
      })
    const wait = async (begun: Promise<void>) => {
      underWay++
      try {
        await begun
      } catch (error) {
        failures.push(error)
      }
      underWay--
      notifyEnd()
    }
    try {
      for await (const item of items) {
        await this.#yield()
        const begun = one(item)
        if (begun !== undefined) void wait(begun)
        while (underWay >= this.#options.underWayMax) await nextEnd()
        if (failures.length > 0) break
      }
    } finally {
      while (underWay > 0) await nextEnd()
    }
    if (failures.length > 0) throw failures[0]
  }

  /** Starts no further items. */
  stop(): void {
    this.#isStopped = true
  }

  /** Lets other work run if the slice is over. */
  async #yield(): Promise<void> {
    if (this.#slices.isOver) await this.#slices.next()
    if (this.#isStopped) throw new WorkStopped()
  }
}
