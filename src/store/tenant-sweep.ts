import type { Entry } from '#model/entry'
import { Problem } from '#model/problem'
import type { System } from '#runtime/system'
import { keys, keysBelow, tenantPrefixes } from '#store/key-space'
import { pagesOf } from '#store/pages'
import type { StoreJournal } from '#store/store-journal'

export interface TenantSweepOptions {
  readonly system: System<Entry>
  readonly journal: StoreJournal
  /** The kinds of all actors that may have records, reminders or snapshots. */
  readonly kinds: readonly string[]
  readonly indexes: readonly string[]
}

/** Thrown if `stop` was called before all data was deleted. */
export class SweepStopped extends Error {
  constructor(tenant: string) {
    super(`some data of ${tenant} was not deleted`)
    this.name = 'SweepStopped'
  }
}

/**
 * Deletes the data of a deleted tenant, a page of keys with each commit, while the other tenants go on. After an
 * interruption, also by a crash, it begins again: it keeps no state apart from the remaining data.
 *
 * First it ends the stream, so that a restarted server applies none of its entries again, and then it deletes the data.
 * At most the rows `redo`, `begin` and `whole` of the tenant remain. The next tenant of the same name continues its
 * offsets, with one left out, so that no client resumes from a position of the old tenant, not even from its last.
 */
export class TenantSweep {
  readonly #options: TenantSweepOptions
  #isStopped = false

  constructor(options: TenantSweepOptions) {
    this.#options = options
  }

  /**
   * Fulfilled when no data is left. No other code may use an actor of the tenant: data that an actor stores during the
   * sweep is deleted too, and delays its end.
   *
   * @throws Problem `storage`, StorageFailure: run it again when the store takes writes
   * @throws SweepStopped after `stop`
   */
  async run(tenant: string): Promise<void> {
    const { system, kinds, indexes } = this.#options
    const { closedCount } = system.gate
    for (let isMore = true; isMore; ) {
      const end = await this.#endStream(tenant, closedCount)
      let count = 0
      for (const prefix of tenantPrefixes(tenant, kinds, indexes)) {
        count += await this.#delete(tenant, keysBelow(prefix), closedCount)
      }
      // Entries appended during this pass stay until the next pass: if the server restarts in between, it applies them,
      // and must find no gap.
      const chunks = { after: keysBelow(`stream/${tenant}`).after, before: keys.chunk(tenant, end) }
      count += await this.#delete(tenant, chunks, closedCount)
      isMore = count > 0 || system.registry.head(tenant).taken >= end
    }
  }

  /** Ends the current run, and every later one, with `SweepStopped`. */
  stop(): void {
    this.#isStopped = true
  }

  /**
   * Ends the stream. Afterwards no actor of the tenant is awake, and a restarted server does not apply its entries
   * again. Returns the offset that the next entry would get.
   */
  async #endStream(tenant: string, closedCount: number): Promise<number> {
    const { system, journal } = this.#options
    const { gate } = system
    this.#assertRunning(tenant, closedCount)
    const head = system.registry.head(tenant)
    do await gate.whenStored(closedCount)
    while (head.released < head.taken)
    this.#assertRunning(tenant, closedCount)
    system.forgetTenant(tenant)
    if (journal.dropStream(tenant)) {
      head.skipOffset()
      gate.touch(head)
    }
    const end = head.taken + 1
    await gate.whenStored(closedCount)
    return end
  }

  /** Returns the number of deleted keys. */
  async #delete(
    tenant: string,
    range: { readonly after: string; readonly before: string },
    closedCount: number,
  ): Promise<number> {
    const { system, journal } = this.#options
    let count = 0
    for await (const page of pagesOf(journal.storage, { ...range, hasValues: false })) {
      this.#assertRunning(tenant, closedCount)
      for (const { key } of page) system.gate.put(key, null)
      count += page.length
      await system.gate.whenStored(closedCount)
    }
    return count
  }

  /** After a failed commit the end of the stream is perhaps not stored: then the data must stay. */
  #assertRunning(tenant: string, closedCount: number): void {
    if (this.#isStopped) throw new SweepStopped(tenant)
    const { gate } = this.#options.system
    if (!gate.isOpen || gate.closedCount !== closedCount) throw new Problem('storage')
  }
}
