import { changeCount, getOrInsert } from '#model/map-values'
import { FairQueue } from '#runtime/fair-queue'

/** The limit of attempts to one receiver at a time. */
const windowMax = 8
/** The limit of attempts of all tenants in one pool at a time. */
const poolMax = 128
/** The limit of attempts of one tenant in one pool at a time. */
const tenantMax = 32
/** For a tenant with more receivers than this, slow receivers are forgotten when they are idle. */
const slowKeptMax = 1_000
/** A receiver that takes longer than this to answer counts as slow. */
const slowMs = 2_000

const pools = ['fast', 'slow'] as const
type Pool = (typeof pools)[number]

/** The webhooks to one receiver that may be sent now. */
interface Lane<T> {
  readonly tenant: string
  /** The origin of the receiver. */
  readonly id: string
  readonly ready: Set<T>
  underWay: number
  /** The limit of attempts at a time. Grows with each quick answer, and is 1 after a slow or missing answer. */
  window: number
  pool: Pool
}

/**
 * An attempt. `end` takes how long the receiver took to answer, in ms; infinity if the receiver did not answer;
 * undefined if nothing was sent.
 */
export interface Started<T> {
  readonly item: T
  end(tookMs: number | undefined): void
}

/**
 * Chooses the next attempts, so that a receiver that hangs delays no other. Tenants and receivers are served in
 * rotation. Receivers that are slow or do not answer have a pool of their own, with one attempt at a time for each of
 * them.
 */
export class WebhookLanes<T> {
  /** By tenant, and then by receiver. Slow receivers are remembered while the tenant has webhooks. */
  readonly #lanes = new Map<string, Map<string, Lane<T>>>()
  readonly #queues: Readonly<Record<Pool, FairQueue<Lane<T>>>> = { fast: new FairQueue(), slow: new FairQueue() }
  /** Attempts under way: by pool, and by pool and tenant. */
  readonly #underWay = new Map<string, number>()

  add(tenant: string, receiver: string, item: T): void {
    const lanes = getOrInsert(this.#lanes, tenant, () => new Map())
    const lane = getOrInsert(lanes, receiver, (): Lane<T> => {
      return { tenant, id: receiver, ready: new Set(), underWay: 0, window: 1, pool: 'fast' }
    })
    lane.ready.add(item)
    this.#enqueue(lane)
  }

  /** Begins the next attempt. Undefined: none can begin now. */
  start(): Started<T> | undefined {
    for (const pool of pools) {
      if (this.#count(pool) >= poolMax) continue
      const lane = this.#queues[pool].take((tenant) => this.#count(`${pool} ${tenant}`) < tenantMax)
      const [item] = lane?.ready ?? []
      if (!lane || item === undefined) continue
      lane.ready.delete(item)
      lane.underWay++
      this.#add(pool, lane.tenant, 1)
      this.#enqueue(lane)
      return { item, end: (tookMs) => this.#ended(lane, pool, tookMs) }
    }
    return undefined
  }

  remove(tenant: string, receiver: string, item: T): void {
    const lanes = this.#lanes.get(tenant)
    const lane = lanes?.get(receiver)
    if (!lanes || !lane?.ready.delete(item)) return
    this.#enqueue(lane)
    this.#forgetIdle(lanes, lane)
  }

  /** Must be called when a tenant has nothing to send. */
  forget(tenant: string): void {
    this.#lanes.delete(tenant)
    for (const pool of pools) this.#queues[pool].forget(tenant)
  }

  clear(): void {
    for (const tenant of [...this.#lanes.keys()]) this.forget(tenant)
  }

  #ended(lane: Lane<T>, startedIn: Pool, tookMs: number | undefined): void {
    this.#add(startedIn, lane.tenant, -1)
    lane.underWay--
    const lanes = this.#lanes.get(lane.tenant)
    // The lane was removed meanwhile.
    if (lanes?.get(lane.id) !== lane) return
    if (tookMs !== undefined) {
      this.#queues[lane.pool].remove(lane.tenant, lane)
      lane.pool = tookMs > slowMs ? 'slow' : 'fast'
      lane.window = lane.pool === 'slow' ? 1 : Math.min(lane.window + 1, windowMax)
    }
    if (lane.ready.size > 0) this.#enqueue(lane)
    else this.#forgetIdle(lanes, lane)
  }

  #forgetIdle(lanes: Map<string, Lane<T>>, { id, ready, underWay, pool }: Lane<T>): void {
    const isIdle = ready.size === 0 && underWay === 0
    if (isIdle && (pool === 'fast' || lanes.size > slowKeptMax)) lanes.delete(id)
  }

  #enqueue(lane: Lane<T>): void {
    const queue = this.#queues[lane.pool]
    if (lane.ready.size > 0 && lane.underWay < lane.window) queue.add(lane.tenant, lane)
    else queue.remove(lane.tenant, lane)
  }

  #count(key: string): number {
    return this.#underWay.get(key) ?? 0
  }

  #add(pool: Pool, tenant: string, by: 1 | -1): void {
    changeCount(this.#underWay, pool, by)
    changeCount(this.#underWay, `${pool} ${tenant}`, by)
  }
}
