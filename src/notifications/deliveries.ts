import type { DeliveryNotices, SubscriberNotices, TopicNotices } from '#actors/notice-bus'
import type { MailState } from '#actors/subscriber/state'
import type { DeliveryHead } from '#model/delivery'
import { Problem } from '#model/problem'
import type { Scope } from '#model/scope'
import { tenantKey } from '#model/tenant'
import { Composer, type ComposerParts } from '#notifications/composer'
import { type After, Deliverer, type DelivererParts, type Subscriber } from '#notifications/deliverer'
import { OverflowCounts } from '#notifications/overflow-counts'
import type { StoredRecipient } from '#notifications/recipient-access'
import { SubscriberCounts } from '#notifications/subscriber-counts'
import { TopicEnds } from '#notifications/topic-ends'
import { TopicPasses } from '#notifications/topic-passes'
import { type Due, DueQueue, unplaced } from '#runtime/due-queue'
import { FairQueue } from '#runtime/fair-queue'
import type { Listing } from '#runtime/storage'
import { Pace, WorkStopped } from '#workers/pace'
import { runWithRetries } from '#workers/stored-entries'

export interface DeliveriesParts extends Omit<ComposerParts, 'recipientOf' | 'pace'> {
  readonly listing: Listing
  readonly mailsPerHourMax: number
  /** The current permissions. `user`: the resource name of a user or an API key. */
  readonly scopeOf: (tenant: string, user: string) => Scope
  /** The stored account: whether the user may sign in, and the mail address. */
  readonly recipientOf: (tenant: string, user: string) => Omit<StoredRecipient, 'scope'>
  readonly log: DelivererParts['log']
}

interface Resting extends Due {
  readonly subscriber: Subscriber
  readonly mail: MailState | undefined
}

/** `underWayMax` is also the number of mails that are handed over at the same time. */
const pace = { sliceMs: 1, underWayMax: 4 }
const retryMs = 1_000
/** The pause after a failure caused by a bug, so that it is not retried in a loop. */
const bugMs = 60_000

/**
 * Sends the mails that functions request. A mail goes to each user who was subscribed at the time of the request and is
 * still permitted to receive it when it is handed over. Contract 5.7.
 *
 * - A subscriber has one mail in progress at a time. The result is stored after the mail server accepted the mail, so
 *   the mail is sent once more after a crash in between, under the same Message-ID.
 * - The content of a mail, and everything that it depends on, is stored before the mail is handed over, so no mail
 *   reports something that a crash undoes.
 * - While the mail server does not answer, one mail at a time is tried, after a growing pause.
 */
export class Deliveries implements DeliveryNotices, SubscriberNotices, TopicNotices {
  readonly #parts: DeliveriesParts
  readonly #pace: Pace
  readonly #deliverer: Deliverer
  readonly #passes: TopicPasses
  readonly #ends: TopicEnds
  readonly #counts: SubscriberCounts
  readonly #overflows: OverflowCounts
  readonly #ready = new FairQueue<Subscriber>()
  readonly #waiting: DueQueue<Resting>
  readonly #underWay = new Map<string, Subscriber>()
  #isRunning = false
  #isStopped = false
  #wake: () => void = () => {}
  #settled: () => void = () => {}

  constructor(parts: DeliveriesParts) {
    this.#parts = parts
    const { system, listing, functions, log } = parts
    const { world } = system
    const failed = (what: string) => (error: unknown) => log.warn({ err: error }, `could not ${what}; retrying`)
    this.#pace = new Pace(world, pace)
    this.#waiting = new DueQueue(world, 'monotonic', ({ subscriber }) => this.#becomesReady(subscriber))
    const composer = new Composer({
      ...parts,
      pace: this.#pace,
      recipientOf: (tenant, user) => ({ ...parts.recipientOf(tenant, user), scope: parts.scopeOf(tenant, user) }),
    })
    this.#passes = new TopicPasses({
      system,
      listing,
      functions,
      pace: new Pace(world, pace),
      stateOf: (tenant, id) => this.#stateOf({ tenant, id }),
      found: (tenant, id) => this.#becomesReady({ tenant, id }),
      failed: failed('find the subscribers to notify'),
    })
    this.#deliverer = new Deliverer({ ...parts, composer, passes: this.#passes })
    this.#ends = new TopicEnds({ system, listing, failed: failed('end the subscriptions to a function') })
    this.#counts = new SubscriberCounts(system, listing)
    this.#overflows = new OverflowCounts({ system, functions, failed: failed('store the count of discarded requests') })
  }

  /** Call after the store was read and functions and permissions are loaded. */
  async open(): Promise<void> {
    if (this.#isStopped) return
    this.#overflows.start()
    if (!this.#isRunning) void this.#deliver()
    const { system, log } = this.#parts
    const failed = (error: unknown) => log.warn({ err: error }, 'could not resume mail delivery; retrying')
    const isStopped = () => this.#isStopped
    await runWithRetries({ system, failed }, isStopped, async () => {
      await this.#counts.open()
      await this.#passes.open()
      await this.#ends.open()
    })
  }

  /**
   * The store was read again after a failed write. The results of mails in progress are stored when these have been
   * sent.
   */
  reloaded(): void {
    this.#ready.clear()
    this.#waiting.clear()
    void this.open()
  }

  requested(tenant: string, fn: string, head: DeliveryHead): void {
    if (!this.#isStopped) this.#passes.requested(tenant, fn, head)
  }

  subscribed(tenant: string, fn: string): void {
    this.#counts.subscribed(tenant, fn)
  }

  /** Some requests may have been kept for this subscriber alone. A paused subscriber continues. */
  unsubscribed(tenant: string, fn: string, subscriber: string): void {
    this.#counts.unsubscribed(tenant, fn)
    this.#passes.movedOn(tenant, [fn])
    const key = keyOf({ tenant, id: subscriber })
    const waiting = this.#waiting.get(key)
    if (!waiting) return
    this.#waiting.delete(key)
    this.#becomesReady(waiting.subscriber)
  }

  topicEnded(tenant: string, fn: string): void {
    this.#ends.want(tenant, fn)
  }

  /** The tenant is being deleted: its actors must not be asked any more. */
  tenantEnded(tenant: string): void {
    this.#passes.tenantEnded(tenant)
    this.#ends.tenantEnded(tenant)
    this.#counts.tenantEnded(tenant)
    for (const subscriber of [...this.#waitingFor(tenant), ...this.#underWayOf(tenant)]) {
      this.#waiting.delete(keyOf(subscriber))
      this.#underWay.delete(keyOf(subscriber))
    }
    this.#ready.forget(tenant)
  }

  /** The number of subscriptions to a function. */
  countOf(tenant: string, fn: string): number {
    return this.#counts.of(tenant, fn)
  }

  /** The backlog: stored requests, and subscribers that have not been notified of all of them. */
  backlogOf(tenant: string): { readonly requests: number; readonly subscribers: number } {
    return {
      requests: this.#passes.requestCountOf(tenant),
      subscribers: this.#waitingFor(tenant).length + this.#underWayOf(tenant).length,
    }
  }

  /** Subscribers with pending notifications in all tenants: queued, paused, or with a mail in progress. */
  get waitingCount(): number {
    return this.#ready.size + this.#waiting.size + this.#underWay.size
  }

  /** Attempts to hand over a mail, by result. */
  get sent(): Deliverer['sent'] {
    return this.#deliverer.sent
  }

  get passed(): Deliverer['passed'] {
    return this.#deliverer.passed
  }

  /** `lastError` is a code, never the text of a mail server. */
  get transport(): { readonly state: 'ok' | 'resting'; readonly lastError?: string } {
    const { isFailing, lastError } = this.#deliverer
    return { state: isFailing ? 'resting' : 'ok', ...(lastError !== undefined && { lastError }) }
  }

  /** Stops starting new work. Call before sockets are closed. */
  stop(): void {
    if (this.#isStopped) return
    this.#isStopped = true
    this.#overflows.stop()
    this.#deliverer.stop()
    this.#pace.stop()
    this.#passes.stop()
    this.#ends.stop()
    this.#ready.clear()
    this.#waiting.clear()
    this.#wake()
  }

  /** Resolves when mails in progress are sent and stored, or after `withinMs`. */
  whenSent(withinMs: number): Promise<void> {
    if (this.#underWay.size === 0) return Promise.resolve()
    return new Promise((resolve) => {
      const cancel = this.#parts.system.world.after(withinMs, resolve)
      this.#settled = () => {
        cancel()
        resolve()
      }
    })
  }

  async #deliver(): Promise<void> {
    this.#isRunning = true
    while (!this.#isStopped) {
      try {
        await this.#pace.each(this.#tasks(), (subscriber) => this.#deliverNext(subscriber))
      } catch (error) {
        if (!(error instanceof WorkStopped)) this.#parts.log.error({ err: error }, 'a bug: mail delivery failed')
      }
    }
  }

  /** Never ends: while there is no work, it waits until `#wake` is called. */
  async *#tasks(): AsyncGenerator<Subscriber> {
    while (!this.#isStopped) {
      const isProbing = this.#deliverer.isFailing && this.#underWay.size > 0
      const restMs = this.#deliverer.restMs
      const subscriber = isProbing || restMs > 0 ? undefined : this.#ready.take()
      if (!subscriber) {
        await new Promise<void>((resolve) => {
          this.#wake = resolve
          if (this.#ready.size > 0 && restMs > 0) this.#parts.system.world.after(restMs, resolve)
        })
        continue
      }
      this.#underWay.set(keyOf(subscriber), subscriber)
      yield subscriber
    }
  }

  #becomesReady(subscriber: Subscriber): void {
    if (this.#isStopped || this.#stateOf(subscriber)) return
    this.#ready.add(subscriber.tenant, subscriber, subscriber.id)
    this.#wake()
  }

  /**
   * `busy` if the subscriber is queued, has a mail in progress, or is paused with an unknown mail state. If the mail
   * state of a paused subscriber is known, returns this state. Otherwise undefined.
   */
  #stateOf(subscriber: Subscriber): 'busy' | MailState | undefined {
    const key = keyOf(subscriber)
    if (this.#underWay.has(key) || this.#ready.has(subscriber.tenant, subscriber.id)) return 'busy'
    const waiting = this.#waiting.get(key)
    return waiting && (waiting.mail ?? 'busy')
  }

  #waitingFor(tenant: string): readonly Subscriber[] {
    const waiting = [...this.#waiting]
      .map(({ subscriber }) => subscriber)
      .filter((subscriber) => subscriber.tenant === tenant)
    return [...this.#ready.of(tenant), ...waiting]
  }

  #underWayOf(tenant: string): readonly Subscriber[] {
    return [...this.#underWay.values()].filter((subscriber) => subscriber.tenant === tenant)
  }

  async #deliverNext(subscriber: Subscriber): Promise<void> {
    let after: After
    try {
      after = await this.#deliverer.next(subscriber)
    } catch (error) {
      after = this.#afterError(error)
    }
    // The tenant may have been deleted in the meantime.
    const isWanted = this.#underWay.delete(keyOf(subscriber))
    if (this.#underWay.size === 0) this.#settled()
    if (this.#isStopped) return
    if (!isWanted) after = 'nothing'
    if (after === 'again') this.#becomesReady(subscriber)
    else if (after !== 'nothing') {
      const at = this.#parts.system.world.monotonic() + after.waitMs
      this.#waiting.put({ key: keyOf(subscriber), subscriber, mail: after.mail, ...unplaced }, at)
    }
    this.#wake()
  }

  #afterError(error: unknown): After {
    if (error instanceof WorkStopped) return 'nothing'
    // The write failed, which is logged elsewhere. Delivery continues when the store accepts writes again.
    if (error instanceof Problem) return { waitMs: retryMs }
    this.#parts.log.error({ err: error }, 'a bug: a delivery step failed')
    return { waitMs: bugMs }
  }
}

function keyOf({ tenant, id }: Subscriber): string {
  return tenantKey(tenant, id)
}
