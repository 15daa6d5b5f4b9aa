import type { SubscriberNotices } from '#actors/notice-bus'
import { partsOfTopicRow, topicIndex } from '#actors/subscriber/state'
import type { Entry } from '#model/entry'
import type { Listing } from '#runtime/storage'
import type { System } from '#runtime/system'
import { storedEntries } from '#workers/stored-entries'

/** By tenant, then by function; only functions with subscriptions. */
type Counts = Map<string, Map<string, number>>

/**
 * Counts the subscriptions to each function: all when the server starts, then each change. Changes during the initial
 * count may be counted twice or missed, which is acceptable because the count only enforces a limit.
 */
export class SubscriberCounts implements SubscriberNotices {
  readonly #system: System<Entry>
  readonly #listing: Listing
  #counts: Counts = new Map()

  constructor(system: System<Entry>, listing: Listing) {
    this.#system = system
    this.#listing = listing
  }

  /** Call after the store was read. @throws Problem `storage` */
  async open(): Promise<void> {
    const counts: Counts = new Map()
    this.#counts = counts
    for await (const { tenant, entry } of storedEntries({ system: this.#system, listing: this.#listing }, topicIndex))
      add(counts, tenant, partsOfTopicRow(entry).function, 1)
  }

  of(tenant: string, fn: string): number {
    return this.#counts.get(tenant)?.get(fn) ?? 0
  }

  subscribed(tenant: string, fn: string): void {
    add(this.#counts, tenant, fn, 1)
  }

  unsubscribed(tenant: string, fn: string): void {
    add(this.#counts, tenant, fn, -1)
  }

  tenantEnded(tenant: string): void {
    this.#counts.delete(tenant)
  }
}

function add(all: Counts, tenant: string, fn: string, more: 1 | -1): void {
  const counts = all.get(tenant) ?? new Map<string, number>()
  const count = (counts.get(fn) ?? 0) + more
  if (count > 0) counts.set(fn, count)
  else counts.delete(fn)
  if (counts.size > 0) all.set(tenant, counts)
  else all.delete(tenant)
}
