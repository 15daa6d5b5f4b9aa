import { isTenantThere, tenantsThere } from '#actors/directory/queries'
import { partsOfTopicRow, subscriberAddress, topicIndex } from '#actors/subscriber/address'
import type { TopicEnded } from '#actors/subscriber/commands'
import { endingIndex, tenantAddress } from '#actors/tenant/address'
import type { TopicSwept } from '#actors/tenant/commands'
import type { Entry } from '#model/entry'
import { Problem } from '#model/problem'
import { tenantKey } from '#model/tenant-key'
import type { Listing } from '#runtime/listing'
import type { System } from '#runtime/system'
import { Pace, Stopped } from '#workers/pace'

export interface TopicEndsParts {
  readonly system: System<Entry>
  readonly listing: Listing
  /** What could not be done is done again. */
  readonly failed: (error: unknown) => void
}

/** A function that is no more. */
interface Ended {
  readonly tenant: string
  readonly function: string
}

const pace = { sliceMs: 1, underWayMax: 64 }
const listedAtATime = 256
const retryMs = 1_000

/**
 * Ends the subscriptions to functions that are no more, each in a turn of whoever has it. Which functions these are is
 * stored in the commit that deletes one, and taken away behind the last subscription: whatever dies goes on from there.
 * §2.6.
 */
export class TopicEnds {
  readonly #parts: TopicEndsParts
  readonly #pace: Pace
  readonly #wanted = new Map<string, Ended>()
  #isRunning = false
  #isStopped = false

  constructor(parts: TopicEndsParts) {
    this.#parts = parts
    this.#pace = new Pace(parts.system.world, pace)
  }

  /** After the store was read: all that did not come to its end. @throws Problem `storage` */
  async open(): Promise<void> {
    const { system, listing } = this.#parts
    for (const tenant of tenantsThere(system)) {
      const pages = listing.entries(endingIndex, tenant)
      try {
        for (let ids = await pages.next(listedAtATime); ids.length > 0; ids = await pages.next(listedAtATime)) {
          for (const fn of ids) this.want(tenant, fn)
        }
      } finally {
        await pages.close()
      }
    }
  }

  /** The tenant has stored that it deleted a function. */
  want(tenant: string, fn: string): void {
    if (this.#isStopped) return
    this.#wanted.set(tenantKey(tenant, fn), { tenant, function: fn })
    if (!this.#isRunning) void this.#run()
  }

  /** The tenant is being deleted: none of its actors is asked any more. */
  tenantEnded(tenant: string): void {
    for (const [key, ended] of [...this.#wanted]) if (ended.tenant === tenant) this.#wanted.delete(key)
  }

  stop(): void {
    this.#isStopped = true
    this.#pace.stop()
    this.#wanted.clear()
  }

  async #run(): Promise<void> {
    this.#isRunning = true
    for (const [key, ended] of this.#wanted) {
      this.#wanted.delete(key)
      try {
        await this.#sweep(ended)
      } catch (error) {
        this.#retryLater(ended, error)
      }
    }
    this.#isRunning = false
  }

  #retryLater({ tenant, function: fn }: Ended, error: unknown): void {
    if (this.#isStopped || error instanceof Stopped) return
    // A failed write, which others say: it goes on when the store takes writes again.
    if (!(error instanceof Problem)) this.#parts.failed(error)
    this.#parts.system.world.after(retryMs, () => this.want(tenant, fn))
  }

  async #sweep(ended: Ended): Promise<void> {
    const { system, listing } = this.#parts
    const { tenant, function: fn } = ended
    const isThere = () => isTenantThere(system, tenant)
    const rows = listing.entries(topicIndex, tenant, `${fn}/`)
    try {
      for (let page = await rows.next(listedAtATime); page.length > 0; page = await rows.next(listedAtATime)) {
        await this.#pace.each(page, (row) => (isThere() ? this.#end(ended, row) : undefined))
      }
    } finally {
      await rows.close()
    }
    const swept: TopicSwept = { type: 'topic_swept', function: fn }
    if (isThere()) await system.ask(tenantAddress(tenant), swept, 0)
  }

  async #end({ tenant, function: fn }: Ended, row: string): Promise<void> {
    const { subscriber } = partsOfTopicRow(row)
    const told: TopicEnded = { type: 'topic_ended', function: fn }
    await this.#parts.system.ask(subscriberAddress(tenant, subscriber), told, 0)
  }
}
