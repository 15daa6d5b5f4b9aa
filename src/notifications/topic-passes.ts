import { deliveringIndex, deliveryAddress } from '#actors/delivery/address'
import type { DeliveryCommand } from '#actors/delivery/commands'
import { isWaiting } from '#actors/delivery/delivery'
import type { DeliveryState } from '#actors/delivery/state'
import { isTenantThere, tenantsThere } from '#actors/directory/queries'
import { partsOfTopicRow, subscriberAddress, topicIndex } from '#actors/subscriber/address'
import type { MailState } from '#actors/subscriber/state'
import type { DeliveryHead, DeliveryRequest } from '#model/delivery'
import type { Entry } from '#model/entry'
import { Problem } from '#model/problem'
import { tenantKey } from '#model/tenant-key'
import type { FunctionViews } from '#rules/function-views'
import type { Listing } from '#runtime/listing'
import type { System } from '#runtime/system'
import { type Pace, Stopped } from '#workers/pace'

export interface TopicPassesParts {
  readonly system: System<Entry>
  readonly listing: Listing
  readonly functions: Pick<FunctionViews, 'storedOf'>
  readonly pace: Pace
  /**
   * Whether somebody's next mail is being seen to already: he is not found then. Where he only waits for a time, how far he
   * has heard.
   */
  readonly seenTo: (tenant: string, subscriber: string) => 'busy' | MailState | undefined
  /** Somebody has not heard all of it. */
  readonly found: (tenant: string, subscriber: string) => void
  /** What could not be done is done again. */
  readonly failed: (error: unknown) => void
}

/** A function of which requests are kept. */
interface Topic {
  readonly tenant: string
  readonly function: string
  /** As it is stored. */
  head: DeliveryHead
  /** World.monotonic of the last pass. */
  passedAt: number
  isDue: boolean
}

/** However many requests come, a function's subscribers are gone through this often at most. */
const passEveryMs = 1_000
const listedAtATime = 256

/**
 * Goes through those who are subscribed to functions that requests came of, by the index of that moment, and finds who has
 * not heard of all. Requests that everybody has heard of are taken away: at rest nothing is kept.
 *
 * Somebody who subscribes behind a request does so behind its number. So whoever is to hear of a request whose number is
 * known here is in the index by then, and the lowest number that anybody has come to is one that all have.
 */
export class TopicPasses {
  readonly #parts: TopicPassesParts
  readonly #topics = new Map<string, Topic>()
  /** Whose time has come, in that order. */
  readonly #queue = new Set<Topic>()
  #isRunning = false
  #isStopped = false

  constructor(parts: TopicPassesParts) {
    this.#parts = parts
  }

  /** After the store was read: all that is kept. @throws Problem `storage` */
  async open(): Promise<void> {
    this.#topics.clear()
    this.#queue.clear()
    const { system, listing } = this.#parts
    for (const tenant of tenantsThere(system)) {
      const pages = listing.entries(deliveringIndex, tenant)
      try {
        for (let ids = await pages.next(listedAtATime); ids.length > 0; ids = await pages.next(listedAtATime)) {
          if (!isTenantThere(system, tenant)) break
          for (const fn of ids) this.#know(tenant, fn)
        }
      } finally {
        await pages.close()
      }
    }
  }

  /** A head was stored. */
  requested(tenant: string, fn: string, head: DeliveryHead): void {
    const known = this.#topics.get(tenantKey(tenant, fn))
    if (!isWaiting(head)) {
      if (known) this.#forget(known)
      return
    }
    const isNews = !known || head.seq > known.head.seq
    const topic = known ?? this.#add(tenant, fn, head)
    topic.head = head
    if (isNews) this.#due(topic)
  }

  /** Somebody came further, or needs these no more: perhaps others wait for nothing else. */
  movedOn(tenant: string, functions: Iterable<string>): void {
    for (const fn of functions) {
      const topic = this.#topics.get(tenantKey(tenant, fn))
      if (topic) this.#due(topic)
    }
  }

  /** Undefined: everybody has heard of everything. */
  headOf(tenant: string, fn: string): DeliveryHead | undefined {
    return this.#topics.get(tenantKey(tenant, fn))?.head
  }

  /** Those that are kept behind this one, ascending: none that is not stored. */
  requestsOf(tenant: string, fn: string, after: number): readonly DeliveryRequest[] {
    const head = this.headOf(tenant, fn)
    if (!head || head.seq <= after) return []
    const { requests } = this.#stateOf(tenant, fn)
    return [...requests.values()].filter(({ seq }) => seq > after && seq <= head.seq)
  }

  /** Requests that are kept. */
  keptOf(tenant: string): number {
    let count = 0
    for (const topic of this.#topics.values()) {
      if (topic.tenant === tenant) count += this.#stateOf(tenant, topic.function).requests.size
    }
    return count
  }

  tenantEnded(tenant: string): void {
    for (const topic of [...this.#topics.values()]) if (topic.tenant === tenant) this.#forget(topic)
  }

  stop(): void {
    this.#isStopped = true
    this.#topics.clear()
    this.#queue.clear()
  }

  #know(tenant: string, fn: string): void {
    const { head } = this.#stateOf(tenant, fn)
    const topic = this.#topics.get(tenantKey(tenant, fn)) ?? this.#add(tenant, fn, head)
    this.#due(topic)
  }

  #add(tenant: string, fn: string, head: DeliveryHead): Topic {
    const topic = { tenant, function: fn, head, passedAt: Number.NEGATIVE_INFINITY, isDue: false }
    this.#topics.set(tenantKey(tenant, fn), topic)
    return topic
  }

  #forget(topic: Topic): void {
    this.#topics.delete(tenantKey(topic.tenant, topic.function))
    this.#queue.delete(topic)
  }

  #due(topic: Topic): void {
    if (topic.isDue || this.#isStopped) return
    topic.isDue = true
    const { world } = this.#parts.system
    const waitMs = topic.passedAt + passEveryMs - world.monotonic()
    if (waitMs > 0) world.after(waitMs, () => this.#enqueue(topic))
    else this.#enqueue(topic)
  }

  #enqueue(topic: Topic): void {
    if (!this.#isKnown(topic)) return
    this.#queue.add(topic)
    if (!this.#isRunning) void this.#run()
  }

  #isKnown(topic: Topic): boolean {
    return this.#topics.get(tenantKey(topic.tenant, topic.function)) === topic
  }

  async #run(): Promise<void> {
    this.#isRunning = true
    for (const topic of this.#queue) {
      this.#queue.delete(topic)
      topic.isDue = false
      topic.passedAt = this.#parts.system.world.monotonic()
      try {
        await this.#pass(topic)
      } catch (error) {
        if (this.#isStopped || error instanceof Stopped) break
        // A failed write, which others say: it is opened again when the store was read, or tried again before.
        if (!(error instanceof Problem)) this.#parts.failed(error)
        if (this.#isKnown(topic)) this.#due(topic)
      }
    }
    this.#isRunning = false
  }

  async #pass(topic: Topic): Promise<void> {
    const { system, functions } = this.#parts
    const { tenant, function: fn, head } = topic
    if (!isTenantThere(system, tenant)) return this.#forget(topic)
    // A device found the function of before, as it may for a moment behind its end.
    if (!functions.storedOf(tenant, fn)) return this.#ask(topic, { type: 'forget' })
    const heardTo = await this.#heardTo(topic, head)
    if (heardTo > head.trimmed) await this.#ask(topic, { type: 'trim', to: heardTo })
  }

  /** Up to which request, of those up to this head, everybody has heard. */
  async #heardTo({ tenant, function: fn }: Topic, head: DeliveryHead): Promise<number> {
    const { listing, pace, found } = this.#parts
    let lowest = head.seq
    const rows = listing.entries(topicIndex, tenant, `${fn}/`)
    try {
      for (let page = await rows.next(listedAtATime); page.length > 0; page = await rows.next(listedAtATime)) {
        await pace.each(page, (row) => {
          const { subscriber, subscription } = partsOfTopicRow(row)
          const seenTo = this.#parts.seenTo(tenant, subscriber)
          if (seenTo === 'busy') {
            lowest = head.trimmed
            return
          }
          // He may have subscribed while he waited.
          const waiting = seenTo && heardIn(seenTo, fn, subscription)
          const heard = waiting ?? this.#heardBy(tenant, fn, row)
          if (heard >= head.seq) return
          lowest = Math.min(lowest, heard)
          found(tenant, subscriber)
        })
      }
    } finally {
      await rows.close()
    }
    return lowest
  }

  /** The last request that somebody heard of; infinity for who is subscribed no more. */
  #heardBy(tenant: string, fn: string, row: string): number {
    const { system } = this.#parts
    if (!isTenantThere(system, tenant)) throw new Problem('not_found')
    const { subscriber, subscription } = partsOfTopicRow(row)
    const { subscriptions, mail } = system.peek(subscriberAddress(tenant, subscriber))
    if (!subscriptions.some(({ id }) => id === subscription)) return Number.POSITIVE_INFINITY
    return heardIn(mail, fn, subscription) ?? 0
  }

  async #ask({ tenant, function: fn }: Topic, command: DeliveryCommand): Promise<void> {
    await this.#parts.system.ask(deliveryAddress(tenant, fn), command, 0)
  }

  /** Stays awake while it keeps any: each subscriber looks at them. @throws Problem `storage` */
  #stateOf(tenant: string, fn: string): DeliveryState {
    return this.#parts.system.wake(deliveryAddress(tenant, fn))
  }
}

/** What he is to be told the number of alone is not told yet. Undefined: he was not subscribed then. */
function heardIn({ cursors, missed }: MailState, fn: string, subscription: string): number | undefined {
  const cursor = cursors[subscription]
  return cursor !== undefined && missed[fn] ? cursor - 1 : cursor
}
