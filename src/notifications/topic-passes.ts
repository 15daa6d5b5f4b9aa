import {
  type DeliveryCommand,
  type DeliveryState,
  deliveringIndex,
  deliveryAddress,
  isWaiting,
} from '#actors/delivery/delivery'
import { isTenantActive } from '#actors/directory/queries'
import { type MailState, partsOfTopicRow, subscriberAddress, topicIndex } from '#actors/subscriber/state'
import type { DeliveryHead, DeliveryRequest } from '#model/delivery'
import { Problem } from '#model/problem'
import { tenantKey } from '#model/tenant'
import type { FunctionViews } from '#rules/function-views'
import { pagesIn } from '#runtime/storage'
import { type Pace, WorkStopped } from '#workers/pace'
import { type JobParts, storedEntries } from '#workers/stored-entries'

export interface TopicPassesParts extends JobParts {
  readonly functions: Pick<FunctionViews, 'storedOf'>
  readonly pace: Pace
  /**
   * `busy` if the subscriber's next mail is already queued or in progress. The subscriber is then skipped. For a paused
   * subscriber, its mail state.
   */
  readonly stateOf: (tenant: string, subscriber: string) => 'busy' | MailState | undefined
  readonly found: (tenant: string, subscriber: string) => void
}

interface Topic {
  readonly tenant: string
  readonly function: string
  head: DeliveryHead
  /** World.monotonic at the start of the last pass. */
  passedAt: number
  isDue: boolean
}

/** The minimum time between two passes through a function's subscribers, at any rate of requests. */
const passEveryMs = 1_000
const listedAtATime = 256

/**
 * Scans the subscribers of functions with new requests, in the index of subscriptions, and finds subscribers that have
 * not been notified of all requests. Removes requests that all subscribers have been notified of, so that an idle store
 * keeps no requests.
 *
 * A subscription that is made after a request starts after the number of that request. So the index already contains
 * all subscribers to notify of a known request, and all of them have reached the lowest position found.
 */
export class TopicPasses {
  readonly #parts: TopicPassesParts
  readonly #topics = new Map<string, Topic>()
  /** Due topics, in order of time. */
  readonly #queue = new Set<Topic>()
  #isRunning = false
  #isStopped = false

  constructor(parts: TopicPassesParts) {
    this.#parts = parts
  }

  /** Call after the store was read: loads all stored requests. @throws Problem `storage` */
  async open(): Promise<void> {
    this.#topics.clear()
    this.#queue.clear()
    for await (const { tenant, entry: fn } of storedEntries(this.#parts, deliveringIndex)) this.#know(tenant, fn)
  }

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

  /** A subscriber advanced, or no longer needs the requests of these functions, so requests may be removable now. */
  movedOn(tenant: string, functions: Iterable<string>): void {
    for (const fn of functions) {
      const topic = this.#topics.get(tenantKey(tenant, fn))
      if (topic) this.#due(topic)
    }
  }

  /** The stored head of the function's requests. Undefined: all subscribers have been notified of everything. */
  headOf(tenant: string, fn: string): DeliveryHead | undefined {
    return this.#topics.get(tenantKey(tenant, fn))?.head
  }

  /** The stored requests with a number above `after`, ascending. */
  requestsOf(tenant: string, fn: string, after: number): readonly DeliveryRequest[] {
    const head = this.headOf(tenant, fn)
    if (!head || head.seq <= after) return []
    const { requests } = this.#stateOf(tenant, fn)
    return [...requests.values()].filter(({ seq }) => seq > after && seq <= head.seq)
  }

  requestCountOf(tenant: string): number {
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
        if (this.#isStopped || error instanceof WorkStopped) break
        // A Problem is a failed write, which is logged where it happened. The function is retried.
        if (!(error instanceof Problem)) this.#parts.failed(error)
        if (this.#isKnown(topic)) this.#due(topic)
      }
    }
    this.#isRunning = false
  }

  async #pass(topic: Topic): Promise<void> {
    const { system, functions } = this.#parts
    const { tenant, function: fn, head } = topic
    if (!isTenantActive(system, tenant)) return this.#forget(topic)
    // A device may still use a deleted function for a moment.
    if (!functions.storedOf(tenant, fn)) return this.#ask(topic, { type: 'forget' })
    const readTo = await this.#readTo(topic, head)
    if (readTo > head.trimmed) await this.#ask(topic, { type: 'trim', to: readTo })
  }

  /** The last request, up to this head, that all subscribers have been notified of. */
  async #readTo({ tenant, function: fn }: Topic, head: DeliveryHead): Promise<number> {
    const { listing, pace, found } = this.#parts
    let lowest = head.seq
    for await (const page of pagesIn(listing.entries(topicIndex, tenant, `${fn}/`), listedAtATime)) {
      await pace.each(page, (row) => {
        const { subscriber, subscription } = partsOfTopicRow(row)
        const state = this.#parts.stateOf(tenant, subscriber)
        if (state === 'busy') {
          lowest = head.trimmed
          return
        }
        // The subscription may have been made during the pause.
        const waiting = state && readIn(state, fn, subscription)
        const readSeq = waiting ?? this.#readBy(tenant, fn, row)
        if (readSeq >= head.seq) return
        lowest = Math.min(lowest, readSeq)
        found(tenant, subscriber)
      })
    }
    return lowest
  }

  /** The last request the subscriber was notified of; infinity if no longer subscribed. */
  #readBy(tenant: string, fn: string, row: string): number {
    const { system } = this.#parts
    if (!isTenantActive(system, tenant)) throw new Problem('not_found')
    const { subscriber, subscription } = partsOfTopicRow(row)
    const { subscriptions, mail } = system.peek(subscriberAddress(tenant, subscriber))
    if (!subscriptions.some(({ id }) => id === subscription)) return Number.POSITIVE_INFINITY
    return readIn(mail, fn, subscription) ?? 0
  }

  async #ask({ tenant, function: fn }: Topic, command: DeliveryCommand): Promise<void> {
    await this.#parts.system.ask(deliveryAddress(tenant, fn), command, 0)
  }

  /** The actor stays active while it keeps requests, because each subscriber reads them. @throws Problem `storage` */
  #stateOf(tenant: string, fn: string): DeliveryState {
    return this.#parts.system.wake(deliveryAddress(tenant, fn))
  }
}

/** The cursor, or one less while a missed count waits for a digest. Undefined if the state lacks the subscription. */
function readIn({ cursors, missed }: MailState, fn: string, subscription: string): number | undefined {
  const cursor = cursors[subscription]
  return cursor !== undefined && missed[fn] ? cursor - 1 : cursor
}
