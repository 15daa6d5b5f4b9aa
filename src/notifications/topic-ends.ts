import { isTenantActive } from '#actors/directory/queries'
import { partsOfTopicRow, type SubscriberCommand, subscriberAddress, topicIndex } from '#actors/subscriber/state'
import { type TenantCommand, tenantAddress } from '#actors/tenant/commands'
import { endingIndex } from '#actors/tenant/state'
import { Problem } from '#model/problem'
import { tenantKey } from '#model/tenant'
import { pagesIn } from '#runtime/storage'
import { Pace, WorkStopped } from '#workers/pace'
import { type JobParts, storedEntries } from '#workers/stored-entries'

interface Ended {
  readonly tenant: string
  readonly function: string
}

const pace = { sliceMs: 1, underWayMax: 64 }
const listedAtATime = 256
const retryMs = 1_000

/**
 * Ends the subscriptions to deleted functions, each in a turn of its subscriber. The commit that deletes a function
 * also stores it in a list, and the function leaves the list after its last subscription, so the work resumes after a
 * crash. §2.6.
 */
export class TopicEnds {
  readonly #parts: JobParts
  readonly #pace: Pace
  readonly #wanted = new Map<string, Ended>()
  #isRunning = false
  #isStopped = false

  constructor(parts: JobParts) {
    this.#parts = parts
    this.#pace = new Pace(parts.system.world, pace)
  }

  /** Call after the store was read: resumes unfinished work. @throws Problem `storage` */
  async open(): Promise<void> {
    for await (const { tenant, entry: fn } of storedEntries(this.#parts, endingIndex)) this.want(tenant, fn)
  }

  /** The tenant has stored the deletion of a function. */
  want(tenant: string, fn: string): void {
    if (this.#isStopped) return
    this.#wanted.set(tenantKey(tenant, fn), { tenant, function: fn })
    if (!this.#isRunning) void this.#run()
  }

  /** The tenant is being deleted: its actors must not be asked any more. */
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
    if (this.#isStopped || error instanceof WorkStopped) return
    // A Problem is a failed write, which is logged where it happened. The work continues when the store takes writes.
    if (!(error instanceof Problem)) this.#parts.failed(error)
    this.#parts.system.world.after(retryMs, () => this.want(tenant, fn))
  }

  async #sweep(ended: Ended): Promise<void> {
    const { system, listing } = this.#parts
    const { tenant, function: fn } = ended
    const isActive = () => isTenantActive(system, tenant)
    for await (const page of pagesIn(listing.entries(topicIndex, tenant, `${fn}/`), listedAtATime)) {
      await this.#pace.each(page, (row) => (isActive() ? this.#end(ended, row) : undefined))
    }
    const swept: TenantCommand = { type: 'topic_swept', function: fn }
    if (isActive()) await system.ask(tenantAddress(tenant), swept, 0)
  }

  async #end({ tenant, function: fn }: Ended, row: string): Promise<void> {
    const { subscriber } = partsOfTopicRow(row)
    const command: SubscriberCommand = { type: 'topic_ended', function: fn }
    await this.#parts.system.ask(subscriberAddress(tenant, subscriber), command, 0)
  }
}
