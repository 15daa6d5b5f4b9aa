import { activeTenants, isTenantActive } from '#actors/directory/queries'
import type { Entry } from '#model/entry'
import { Problem } from '#model/problem'
import { Slices } from '#runtime/slices'
import { type Listing, pagesIn } from '#runtime/storage'
import type { System } from '#runtime/system'
import type { World } from '#runtime/world'

/** What a job over stored names needs. */
export interface JobParts {
  readonly system: System<Entry>
  /** The stored names and index entries. */
  readonly listing: Listing
  /** Called with an error; the work is retried. */
  readonly failed: (error: unknown) => void
}

const listedAtATime = 256
const retryMs = 1_000

/** The stored entries of an index, of all tenants that are not being deleted. */
export async function* storedEntries(
  { system, listing }: Pick<JobParts, 'system' | 'listing'>,
  index: string,
): AsyncGenerator<{ readonly tenant: string; readonly entry: string }> {
  for (const tenant of activeTenants(system)) {
    for await (const page of pagesIn(listing.entries(index, tenant), listedAtATime)) {
      if (!isTenantActive(system, tenant)) break
      for (const entry of page) if (isTenantActive(system, tenant)) yield { tenant, entry }
    }
  }
}

/**
 * Runs work that reads the store, and runs it again after an error. After a failed write it does not, because the work
 * begins again when the store has been read.
 */
export async function runUntilRead(
  { system, failed }: Pick<JobParts, 'system' | 'failed'>,
  isStopped: () => boolean,
  work: () => Promise<void>,
): Promise<void> {
  if (isStopped()) return
  try {
    await work()
  } catch (error) {
    if (isStopped() || error instanceof Problem) return
    failed(error)
    system.world.after(retryMs, () => void runUntilRead({ system, failed }, isStopped, work))
  }
}

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
