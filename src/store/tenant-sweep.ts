import type { Entry } from '#model/entry'
import { Problem } from '#model/problem'
import type { System } from '#runtime/system'
import { below, keys, tenantPrefixes } from '#store/keys'
import { pagesOf } from '#store/pages'
import type { StoreJournal } from '#store/store-journal'

export interface TenantSweepParts {
  readonly system: System<Entry>
  readonly journal: StoreJournal
  /** Of all actors that may have records, reminders or snapshots. */
  readonly kinds: readonly string[]
  readonly indexes: readonly string[]
}

/** `stop` was called before nothing was left. */
export class SweepStopped extends Error {
  constructor(tenant: string) {
    super(`not all of ${tenant} was taken away`)
    this.name = 'SweepStopped'
  }
}

/**
 * Takes away what a deleted tenant left, a page of keys with each commit, while everybody else goes on. It may end at any
 * moment, also by a crash, and is then begun anew: nothing is remembered but what is still stored.
 *
 * First its stream ends: a start applies none of its entries again before anything of it is deleted. What remains of a
 * tenant is that one row. Offsets go on in the next one of the same name, with one left out, so that no position of the old
 * one is recovered in it, not even its last.
 */
export class TenantSweep {
  readonly #parts: TenantSweepParts
  #isStopped = false

  constructor(parts: TenantSweepParts) {
    this.#parts = parts
  }

  /**
   * Fulfilled when nothing is left. Nobody may ask an actor of the tenant any more: what one stores meanwhile is taken away
   * too, and it takes as long as that goes on.
   * @throws Problem storage, StorageFailure: run it again when the store takes writes. SweepStopped
   */
  async run(tenant: string): Promise<void> {
    const { system, kinds, indexes } = this.#parts
    const { closedCount } = system.gate
    for (let isMore = true; isMore; ) {
      const end = await this.#endStream(tenant, closedCount)
      let count = 0
      for (const prefix of tenantPrefixes(tenant, kinds, indexes)) {
        count += await this.#takeAway(tenant, below(prefix), closedCount)
      }
      // None of what somebody still appended: a start applies that again, and finds no gaps.
      const chunks = { after: below(`stream/${tenant}`).after, before: keys.chunk(tenant, end) }
      count += await this.#takeAway(tenant, chunks, closedCount)
      isMore = count > 0 || system.registry.head(tenant).taken >= end
    }
  }

  /** Ends every run. */
  stop(): void {
    this.#isStopped = true
  }

  /** Nothing of it is awake, and a start applies nothing again. Gives the offset that the next entry would get. */
  async #endStream(tenant: string, closedCount: number): Promise<number> {
    const { system, journal } = this.#parts
    const { gate } = system
    this.#check(tenant, closedCount)
    const head = system.registry.head(tenant)
    do await gate.settled(closedCount)
    while (head.released < head.taken)
    this.#check(tenant, closedCount)
    system.forgetTenant(tenant)
    if (journal.dropStream(tenant)) {
      head.leaveOut()
      gate.touch(head)
    }
    const end = head.taken + 1
    await gate.settled(closedCount)
    return end
  }

  /** Gives how many keys there were. */
  async #takeAway(
    tenant: string,
    range: { readonly after: string; readonly before: string },
    closedCount: number,
  ): Promise<number> {
    const { system, journal } = this.#parts
    let count = 0
    for await (const page of pagesOf(journal.storage, { ...range, hasValues: false })) {
      this.#check(tenant, closedCount)
      for (const { key } of page) system.gate.put(key, null)
      count += page.length
      await system.gate.settled(closedCount)
    }
    return count
  }

  /** After a failed commit the end of the stream may not be stored: then nothing may be deleted. */
  #check(tenant: string, closedCount: number): void {
    if (this.#isStopped) throw new SweepStopped(tenant)
    const { gate } = this.#parts.system
    if (!gate.isOpen || gate.closedCount !== closedCount) throw new Problem('storage')
  }
}
