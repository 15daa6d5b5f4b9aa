import { type DeliveryCommand, type DeliveryState, deliveringIndex, deliveryAddress } from '#actors/delivery/delivery'
import { activeTenants, isTenantActive } from '#actors/directory/queries'
import type { WebhookNotices } from '#actors/notice-bus'
import { tenantAddress } from '#actors/tenant/commands'
import type { WebhookNode } from '#model/graph'
import { Problem } from '#model/problem'
import { tenantKey } from '#model/tenant'
import {
  retryDelayMs,
  retryDelayMsMax,
  type StoredWebhook,
  type WebhookAnswer,
  type WebhookResult,
  waitingBytesMax,
  waitingWebhooksMax,
} from '#model/webhook'
import { type DelivererParts, storeResults } from '#notifications/deliverer'
import { nodeOf, type PreparationParts, preparedOf } from '#notifications/prepared-webhook'
import { type Started, WebhookLanes } from '#notifications/webhook-lanes'
import type { WebhookSender } from '#notifications/webhook-sender'
import { type Due, DueQueue, unplaced } from '#runtime/due-queue'
import { backgroundSliceMs } from '#runtime/slices'
import { type Listing, pagesIn } from '#runtime/storage'
import { Pace } from '#workers/pace'
import { LoadLimit } from '#workers/rate-limit'
import { runWithRetries } from '#workers/stored-entries'

export interface WebhooksParts extends PreparationParts {
  readonly listing: Listing
  readonly webhookSender: WebhookSender
  readonly log: DelivererParts['log']
  /** Default: `waitingWebhooksMax`. */
  readonly waitingMax?: number
}

/** A stored webhook that is not finished. */
interface Waiting extends Due {
  readonly tenant: string
  readonly function: string
  readonly id: string
  readonly node: string
  readonly bytes: number
  /** The origin of the receiver. Empty before the first attempt is due, and if the node was removed. */
  receiver: string
  isUnderWay: boolean
}

interface TenantQueue {
  readonly waiting: Map<string, Waiting>
  bytes: number
}

interface After {
  /** The time until the next attempt; undefined: the webhook is finished. */
  readonly waitMs?: number
  readonly tookMs?: number
}

/** 200 webhooks a second; 50 if the event loop is busy, and 4 if it is full. See `LoadLimits`. */
const sentAtMost = { idle: 20, busy: 5, full: 1 }
const listedAtATime = 256
const resumePace = { sliceMs: backgroundSliceMs, underWayMax: 1 }
const retryMs = 1_000
/** The pause after a failure caused by a bug, so that it is not retried in a loop. */
const bugMs = 60_000
const gone = 410

/**
 * Sends the webhooks of functions. Contract 12.
 *
 * - The result is stored after the receiver answered, so the webhook is sent again after a crash in between, under the
 *   same id.
 * - The content of a webhook, and everything that it depends on, is stored before the webhook is sent. The author's
 *   permissions count at that moment.
 * - Webhooks are sent in no order, so a webhook that fails does not delay others.
 */
export class Webhooks implements WebhookNotices {
  readonly #parts: WebhooksParts
  readonly #tenants = new Map<string, TenantQueue>()
  readonly #waiting: DueQueue<Waiting>
  readonly #lanes = new WebhookLanes<Waiting>()
  readonly #limit: LoadLimit
  readonly #pace: Pace
  #underWayCount = 0
  #isPaused = false
  #isStopped = false
  #settled: () => void = () => {}
  /** Attempts by result: a status of success, another status, or none. */
  readonly attempts = { ok: 0, refused: 0, unanswered: 0 }
  readonly ended: Record<WebhookResult['status'], number> = { DELIVERED: 0, FAILED: 0, DROPPED: 0 }

  constructor(parts: WebhooksParts) {
    this.#parts = parts
    const { world } = parts.system
    this.#waiting = new DueQueue(world, 'monotonic', (waiting) => this.#becomesReady(waiting))
    this.#limit = new LoadLimit(world, sentAtMost)
    this.#pace = new Pace(world, resumePace)
  }

  /**
   * Call after the store was read and functions and permissions are loaded. Finds stored webhooks in the background.
   */
  open(): void {
    const { system, log } = this.#parts
    const failed = (error: unknown) => log.warn({ err: error }, 'could not resume sending webhooks; retrying')
    const isStopped = () => this.#isStopped
    void runWithRetries({ system, failed }, isStopped, () => this.#resume())
  }

  /** The store was read again after a failed write. */
  reloaded(): void {
    this.#waiting.clear()
    this.#lanes.clear()
    for (const { waiting } of this.#tenants.values()) {
      for (const each of [...waiting.values()]) if (!each.isUnderWay) this.#remove(each)
    }
    this.open()
  }

  webhookAdded(tenant: string, fn: string, webhook: StoredWebhook): void {
    const key = keyOf(tenant, fn, webhook.id)
    const queue = this.#tenants.get(tenant) ?? { waiting: new Map<string, Waiting>(), bytes: 0 }
    if (this.#isStopped || queue.waiting.has(key)) return
    const bytes = JSON.stringify([webhook.value, webhook.previous]).length
    const { id, node } = webhook
    const added: Waiting = { key, tenant, function: fn, id, node, bytes, receiver: '', isUnderWay: false, ...unplaced }
    this.#tenants.set(tenant, queue)
    queue.waiting.set(key, added)
    queue.bytes += bytes
    this.#schedule(added, webhook.nextAt - this.#parts.system.world.now())
    this.#dropOldest(queue)
    this.#start()
  }

  webhooksForgotten(tenant: string, fn: string): void {
    for (const each of [...(this.#tenants.get(tenant)?.waiting.values() ?? [])]) {
      if (each.function === fn) this.#remove(each)
    }
  }

  /** The tenant is being deleted: its actors must not be asked any more. */
  tenantEnded(tenant: string): void {
    for (const each of [...(this.#tenants.get(tenant)?.waiting.values() ?? [])]) this.#remove(each)
  }

  /** Webhooks that are not finished, in all tenants. */
  get waitingCount(): number {
    let count = 0
    for (const { waiting } of this.#tenants.values()) count += waiting.size
    return count
  }

  /** Starts nothing new. Call before the store is closed. */
  stop(): void {
    this.#isStopped = true
    this.#pace.stop()
    this.#waiting.clear()
    this.#lanes.clear()
  }

  /** Resolves when the results of attempts in progress are stored, or after `withinMs`, which ends these attempts. */
  whenStored(withinMs: number): Promise<void> {
    if (this.#underWayCount === 0) return Promise.resolve()
    const { system, webhookSender } = this.#parts
    return new Promise((resolve) => {
      const cancel = system.world.after(withinMs, () => {
        resolve()
        webhookSender.close()
      })
      this.#settled = () => {
        cancel()
        resolve()
      }
    })
  }

  /** Finds stored webhooks by tenant, oldest first. Webhooks that end meanwhile are skipped at their attempt. */
  async #resume(): Promise<void> {
    const { system } = this.#parts
    for (const tenant of activeTenants(system)) {
      const stored: (readonly [fn: string, webhook: StoredWebhook])[] = []
      await this.#pace.each(this.#deliveringOf(tenant), (fn) => {
        if (!isTenantActive(system, tenant)) return
        for (const each of this.#stateOf(tenant, fn).webhooks.values()) stored.push([fn, each])
      })
      stored.sort(([, one], [, other]) => one.at - other.at)
      await this.#pace.each(stored, ([fn, webhook]) => {
        if (isTenantActive(system, tenant)) this.webhookAdded(tenant, fn, webhook)
      })
    }
  }

  async *#deliveringOf(tenant: string): AsyncGenerator<string> {
    const { listing } = this.#parts
    for await (const ids of pagesIn(listing.entries(deliveringIndex, tenant), listedAtATime)) yield* ids
  }

  #dropOldest({ waiting, bytes }: TenantQueue): void {
    const { waitingMax = waitingWebhooksMax } = this.#parts
    let [count, left] = [waiting.size, bytes]
    for (const oldest of waiting.values()) {
      if (count <= waitingMax && left <= waitingBytesMax) return
      count--
      left -= oldest.bytes
      // An attempt in progress stores its result anyway.
      if (oldest.isUnderWay) continue
      this.#remove(oldest)
      void this.#end(oldest, 'DROPPED', 'overflow', false).catch((error) => this.#afterError(error))
    }
  }

  #schedule(waiting: Waiting, waitMs: number): void {
    // A wait longer than that of any retry means that the clock was set back.
    const now = this.#parts.system.world.monotonic()
    if (waitMs > 0) this.#waiting.put(waiting, now + Math.min(waitMs, retryDelayMsMax))
    else this.#becomesReady(waiting)
  }

  #becomesReady(waiting: Waiting): void {
    const { tenant, function: fn } = waiting
    const node = nodeOf(this.#parts.functions.storedOf(tenant, fn), waiting.node)
    waiting.receiver = node ? new URL(node.url).origin : ''
    this.#lanes.add(tenant, waiting.receiver, waiting)
    this.#start()
  }

  #start(): void {
    while (!this.#isStopped && !this.#isPaused) {
      const started = this.#lanes.start()
      if (!started) return
      started.item.isUnderWay = true
      this.#underWayCount++
      void this.#deliver(started)
      this.#pauseFor(this.#limit.take())
    }
  }

  /** Starts no attempt for this time. */
  #pauseFor(ms: number): void {
    if (ms === 0) return
    this.#isPaused = true
    this.#parts.system.world.after(ms, () => {
      this.#isPaused = false
      this.#start()
    })
  }

  async #deliver({ item: waiting, end }: Started<Waiting>): Promise<void> {
    let after: After
    try {
      after = await this.#attempt(waiting)
    } catch (error) {
      after = { waitMs: this.#afterError(error) }
    }
    waiting.isUnderWay = false
    end(after.tookMs)
    if (--this.#underWayCount === 0) this.#settled()
    const isKnown = this.#tenants.get(waiting.tenant)?.waiting.get(waiting.key) === waiting
    if (this.#isStopped) return
    if (isKnown && after.waitMs === undefined) this.#remove(waiting)
    else if (isKnown) this.#schedule(waiting, after.waitMs ?? 0)
    this.#start()
  }

  /** @throws Problem `storage` */
  async #attempt(waiting: Waiting): Promise<After> {
    const { system, webhookSender } = this.#parts
    const { tenant, function: fn, id } = waiting
    if (this.#isStopped || !isTenantActive(system, tenant)) return {}
    const webhook = this.#stateOf(tenant, fn).webhooks.get(id)
    if (!webhook) return {}
    const prepared = preparedOf(this.#parts, { tenant, function: fn }, webhook)
    if (typeof prepared === 'string') return this.#end(waiting, 'FAILED', prepared, false)
    await system.gate.whenStored()
    // If the store takes no writes, the result could not be stored.
    if (!system.gate.isOpen) throw new Problem('storage')
    if (this.#isStopped || !isTenantActive(system, tenant)) return {}
    if (!prepared.isStillAllowed()) return { waitMs: 0 }
    const begunAt = system.world.monotonic()
    const result = await webhookSender.post(prepared.post)
    // The stop closed the connection, so there was no answer. The webhook is sent again after the next start.
    if (this.#isStopped && typeof result === 'string') return {}
    const tookMs = typeof result === 'string' ? Number.POSITIVE_INFINITY : system.world.monotonic() - begunAt
    return { ...(await this.#finish(waiting, webhook, prepared.node, result)), tookMs }
  }

  async #finish(
    waiting: Waiting,
    { attempts }: StoredWebhook,
    node: WebhookNode,
    result: WebhookAnswer,
  ): Promise<After> {
    const isOk = typeof result === 'number' && result >= 200 && result < 300
    this.attempts[isOk ? 'ok' : typeof result === 'number' ? 'refused' : 'unanswered']++
    if (isOk) return this.#end(waiting, 'DELIVERED', result, true)
    const { tenant, function: fn, id } = waiting
    const waitMs = result === gone ? undefined : retryDelayMs(attempts + 1)
    if (waitMs !== undefined) {
      const nextAt = this.#parts.system.world.now() + waitMs
      await this.#store(tenant, fn, { type: 'webhook_tried', id, result, nextAt })
      return { waitMs }
    }
    if (result === gone) {
      const command = { type: 'disable_webhook', function: fn, node: node.id, url: node.url } as const
      await storeResults(this.#parts.system, tenant, [[tenantAddress(tenant), command]])
    }
    return this.#end(waiting, 'FAILED', result, true)
  }

  async #end(
    { tenant, function: fn, id }: Waiting,
    status: WebhookResult['status'],
    result: WebhookAnswer,
    isTried: boolean,
  ): Promise<After> {
    this.ended[status]++
    await this.#store(tenant, fn, { type: 'webhook_ended', id, status, result, isTried })
    return {}
  }

  #remove({ key, tenant, bytes }: Waiting): void {
    const queue = this.#tenants.get(tenant)
    const removed = queue?.waiting.get(key)
    if (!queue || !removed) return
    queue.waiting.delete(key)
    queue.bytes -= bytes
    this.#waiting.delete(key)
    this.#lanes.remove(tenant, removed.receiver, removed)
    if (queue.waiting.size > 0) return
    this.#tenants.delete(tenant)
    this.#lanes.forget(tenant)
  }

  #store(tenant: string, fn: string, command: DeliveryCommand): Promise<unknown> {
    return storeResults(this.#parts.system, tenant, [[deliveryAddress(tenant, fn), command]])
  }

  /** Returns the pause in ms. */
  #afterError(error: unknown): number {
    // The write failed, which is logged elsewhere.
    if (error instanceof Problem && error.code === 'storage') return retryMs
    this.#parts.log.error({ err: error }, 'a bug: sending a webhook failed')
    return bugMs
  }

  /** The actor stays active while it has webhooks. @throws Problem `storage` */
  #stateOf(tenant: string, fn: string): DeliveryState {
    return this.#parts.system.wake(deliveryAddress(tenant, fn))
  }
}

function keyOf(tenant: string, fn: string, id: string): string {
  return `${tenantKey(tenant, fn)}/${id}`
}
