import { Slices } from '#runtime/slices'
import type { World } from '#runtime/world'

export interface PaceOptions {
  /** How long is worked before the loop is given back. */
  readonly sliceMs: number
  /** How much may be waited for at once. */
  readonly underWayMax: number
}

/** It was told to stop: what it was doing is to be done by the next process. */
export class Stopped extends Error {
  override readonly name = 'Stopped'

  constructor() {
    super('stopped')
  }
}

/** Goes through very much, a little at a time: nobody else waits for more than a slice of it. */
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
   * Does `one` to each, in order. What it promises is waited for before this is fulfilled, and some of it before the next
   * is begun. @throws Stopped, and what `one` threw first, when all that was begun has ended
   */
  async each<T>(items: Iterable<T> | AsyncIterable<T>, one: (item: T) => void | Promise<void>): Promise<void> {
    const failures: unknown[] = []
    let underWay = 0
    let oneEnded = () => {}
    const nextEnd = () =>
      new Promise<void>((resolve) => {
        oneEnded = resolve
      })
    const wait = async (begun: Promise<void>) => {
      underWay++
      try {
        await begun
      } catch (error) {
        failures.push(error)
      }
      underWay--
      oneEnded()
    }
    try {
      for await (const item of items) {
        await this.#turn()
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

  /** Nothing more is begun. */
  stop(): void {
    this.#isStopped = true
  }

  /** Fulfilled at once while the slice lasts. */
  async #turn(): Promise<void> {
    if (this.#slices.isOver) await this.#slices.next()
    if (this.#isStopped) throw new Stopped()
  }
}
