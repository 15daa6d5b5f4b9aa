import { Availability, isSame, keyOf } from '#firmware/availability'
import type { UpdateServer } from '#firmware/update-server'
import type { Trigger } from '#model/firmware'
import { Problem } from '#model/problem'
import { type OfferedFirmware, type UpdateQuery, UpdateServerBusy, UpdateServerFailed } from '#model/update-offer'
import { type Timed, TimeHeap, unplaced } from '#runtime/due-queue'
import type { World } from '#runtime/world'
import { BackOff, randomFraction } from '#workers/back-off'

/** The largest number of concurrent manual checks, in addition to the queue. */
const byHandMax = 64

export interface UpdateChecksParts {
  readonly server: UpdateServer
  readonly world: World
  /** Called when the update server begins to fail, and when it fails for another reason than before. */
  readonly failing?: (error: unknown) => void
}

/**
 * Asks the update server at a limited rate and remembers its answers. The embedded server needs no limit and no memory:
 * its answers are always known synchronously.
 */
export class UpdateChecks {
  readonly #parts: UpdateChecksParts
  readonly #backOff: BackOff
  readonly #queue: CheckQueue
  readonly #availability: Availability
  #byHand = 0
  #lastFailure = ''

  constructor(parts: UpdateChecksParts) {
    const { world } = parts
    this.#parts = parts
    this.#backOff = new BackOff(world)
    this.#availability = new Availability(world)
    this.#queue = new CheckQueue({ world, backOff: this.#backOff, ask: (query) => this.#ask(query) })
  }

  /**
   * A check by hand: skips the queue, even during a pause after failures. Synchronous with the embedded server.
   * @throws UpdateServerBusy, UpdateServerFailed; Problem `overloaded`
   */
  now(query: UpdateQuery): Promise<OfferedFirmware | undefined> | OfferedFirmware | undefined {
    return this.#parts.server.isEmbedded ? this.#parts.server.check(query) : this.#askByHand(query)
  }

  /**
   * An automatic check: queued, or synchronous with the embedded server. A device that reconnects is not checked again
   * if a recent check found no update (`isRecentlyNone`).
   * @throws UpdateServerBusy, UpdateServerFailed, after some attempts; Problem `stopping`
   */
  soon(query: UpdateQuery, by: Trigger): Promise<OfferedFirmware | undefined> | OfferedFirmware | undefined {
    if (this.#parts.server.isEmbedded) return this.#parts.server.check(query)
    if (by === 'connect' && this.#availability.isRecentlyNone(query)) return undefined
    return this.#queue.ask(query, 'random')
  }

  /**
   * Whether an update is known to be available, synchronously; undefined: unknown. An unknown or old answer is
   * refreshed in the background.
   */
  knownOf(query: UpdateQuery): boolean | undefined {
    if (this.#parts.server.isEmbedded) return this.#parts.server.check(query) !== undefined
    if (!this.#availability.isFresh(query)) this.#refresh(query)
    return this.#availability.lastOf(query)
  }

  /**
   * Whether an update is available. If the answer is unknown or old, waits for a new answer for up to `waitMs`, unless
   * none can arrive in that time. Without a new answer, returns the last known answer, or false.
   */
  async freshOf(query: UpdateQuery, waitMs: number): Promise<boolean> {
    if (this.#parts.server.isEmbedded) return this.knownOf(query) ?? false
    if (!this.#availability.isFresh(query)) {
      if (this.#backOff.waitMs() < waitMs) await this.#atMost(waitMs, this.#resolve(query, 'next'))
      else this.#refresh(query)
    }
    return this.#availability.lastOf(query) ?? false
  }

  /** Known answers for a project may be wrong from now on. They are still shown until the next check. */
  doubtProject(tenant: string, project: string): void {
    this.#availability.doubt(tenant, project)
    this.#queue.markOutdated(tenant, project)
  }

  /** Refuses the queries that wait or are not answered yet. */
  stop(): void {
    this.#queue.stop()
  }

  async #askByHand(query: UpdateQuery): Promise<OfferedFirmware | undefined> {
    if (this.#byHand >= byHandMax) throw new Problem('overloaded')
    this.#byHand++
    try {
      return await this.#ask(query)
    } finally {
      this.#byHand--
    }
  }

  async #ask(query: UpdateQuery): Promise<OfferedFirmware | undefined> {
    const { server, failing } = this.#parts
    const number = this.#availability.nextNumber()
    try {
      const offered = await server.check(query)
      this.#availability.record(query, number, offered !== undefined)
      this.#backOff.succeeded()
      this.#queue.continue()
      return offered
    } catch (error) {
      if (error instanceof UpdateServerBusy || error instanceof UpdateServerFailed) {
        if (!this.#backOff.isFailing || error.message !== this.#lastFailure) failing?.(error)
        this.#lastFailure = error.message
        this.#backOff.failed(error instanceof UpdateServerBusy ? error.retryAfterMs : undefined)
      }
      throw error
    }
  }

  /** Queues the query, unless it is queued or sent already. */
  #refresh(query: UpdateQuery): void {
    if (!this.#queue.has(query)) void this.#resolve(query, 'last')
  }

  async #resolve(query: UpdateQuery, place: QueuePosition): Promise<void> {
    await this.#queue.ask({ ...query, isAutomatic: false }, place).catch(() => {})
  }

  #atMost(waitMs: number, answered: Promise<void>): Promise<void> {
    return new Promise((resolve) => {
      const cancel = this.#parts.world.after(waitMs, resolve)
      void answered.then(() => {
        cancel()
        resolve()
      })
    })
  }
}

/** Size of the token bucket and tokens per second: 15 000 devices that reconnect are checked within 13 minutes. */
const bucketMax = 50
const perSecond = 20
const atOnceMax = 16
/**
 * The largest number of waiting queries. Further queries are refused, and asked again at the next trigger of their
 * device. A query takes about 400 bytes.
 */
const waitingMax = 100_000
/** Maximum number of attempts for a query, because one query may fail for a reason of its own while others succeed. */
const triesMax = 5
/** Queue position after all queries with a waiting caller. */
const lastPosition = Number.MAX_VALUE

interface CheckQueueParts {
  readonly world: World
  readonly backOff: BackOff
  /** @throws UpdateServerBusy, UpdateServerFailed: already reported to `backOff` */
  readonly ask: (query: UpdateQuery) => Promise<OfferedFirmware | undefined>
}

/**
 * The position of a query in the queue.
 * - `random`: a random position, so that devices are not checked in the order of their connections.
 * - `next`: after the overdue queries and before all others, because a user waits.
 * - `last`: after all others, because no caller waits.
 */
type QueuePosition = 'random' | 'next' | 'last'

type Answered = (offered: OfferedFirmware | undefined) => void

/** `at`, the position in the queue, is a World.monotonic time, ms. */
interface QueuedCheck extends Timed {
  query: UpdateQuery
  tries: number
  /** The project changed after the query was sent: later callers do not join the query. */
  isOutdated: boolean
  waiters: { readonly answered: Answered; readonly failed: (error: unknown) => void }[]
}

/**
 * Sends all queries except checks by hand to an update server, at a limited rate. Each firmware index of a device is in
 * the queue once. While the server fails, one query at a time is sent, after a growing pause. A query is sent at most
 * `triesMax` times.
 *
 * A waiting query resolves to undefined if a query for another version, hardware or project at the same firmware index
 * replaces it.
 */
class CheckQueue {
  readonly #parts: CheckQueueParts
  readonly #waiting = new Map<string, QueuedCheck>()
  /** Queries that were sent and are not answered yet. */
  readonly #underWay = new Set<QueuedCheck>()
  /** The waiting queries by position. */
  readonly #order = new TimeHeap<QueuedCheck>()
  /** Number of waiting queries that are not in the last position. */
  #inFront = 0
  #tokens = bucketMax
  /** World.monotonic of the last token count. */
  #countedAt: number
  #cancel: (() => void) | undefined
  #isStopped = false

  constructor(parts: CheckQueueParts) {
    this.#parts = parts
    this.#countedAt = parts.world.monotonic()
  }

  /** @throws UpdateServerBusy, also if too many wait; UpdateServerFailed; Problem `stopping` */
  ask(query: UpdateQuery, place: QueuePosition): Promise<OfferedFirmware | undefined> {
    return new Promise((answered, failed) => {
      if (this.#isStopped) return failed(new Problem('stopping'))
      const same = this.#underWayFor(query)
      if (same) {
        same.waiters.push({ answered, failed })
        return
      }
      const waiting = this.#waitingFor(query)
      if (!waiting) return failed(new UpdateServerBusy(`${waitingMax} update checks are waiting`))
      waiting.waiters.push({ answered, failed })
      this.#move(waiting, this.#placeOf(place))
      this.continue()
    })
  }

  has(query: UpdateQuery): boolean {
    const waiting = this.#waiting.get(keyOf(query))
    return (waiting && isSame(waiting.query, query)) || this.#underWayFor(query) !== undefined
  }

  /** Sends the next queries, as far as the rate and the server permit. Call it when the server answers again. */
  continue(): void {
    const { backOff, world } = this.#parts
    this.#cancel?.()
    this.#cancel = undefined
    while (!this.#isStopped && this.#underWay.size < (backOff.isFailing ? 1 : atOnceMax)) {
      const next = this.#order.first
      if (!next) return
      const wait = Math.max(backOff.waitMs(), this.#tokenMs())
      if (wait > 0) {
        this.#cancel = world.after(Math.ceil(wait), () => this.continue())
        return
      }
      this.#take(next)
      this.#tokens--
      void this.#ask(next)
    }
  }

  /** The project changed: answers to queries that are under way may be outdated. */
  markOutdated(tenant: string, project: string): void {
    for (const check of this.#underWay) {
      if (check.query.tenant === tenant && check.query.project === project) check.isOutdated = true
    }
  }

  stop(): void {
    this.#isStopped = true
    this.#cancel?.()
    const all = [...this.#waiting.values(), ...this.#underWay]
    this.#waiting.clear()
    this.#underWay.clear()
    for (const { waiters } of all) for (const { failed } of waiters) failed(new Problem('stopping'))
  }

  /** The sent query, without an answer yet, that this query may join. */
  #underWayFor(query: UpdateQuery): QueuedCheck | undefined {
    const key = keyOf(query)
    for (const check of this.#underWay) {
      if (!check.isOutdated && isSame(check.query, query) && keyOf(check.query) === key) return check
    }
    return undefined
  }

  #waitingFor(query: UpdateQuery): QueuedCheck | undefined {
    const key = keyOf(query)
    const waiting = this.#waiting.get(key)
    if (waiting) {
      if (!isSame(waiting.query, query)) settle(waiting, undefined)
      waiting.query = query
      return waiting
    }
    if (this.#waiting.size >= waitingMax) return undefined
    const created: QueuedCheck = { query, tries: 0, isOutdated: false, waiters: [], ...unplaced }
    this.#waiting.set(key, created)
    return created
  }

  #placeOf(place: QueuePosition): number {
    if (place === 'last') return lastPosition
    const now = this.#parts.world.monotonic()
    return place === 'next' ? now : now + randomFraction(this.#parts.world) * (this.#inFront / perSecond) * 1_000
  }

  /** Moves a query forward, never back. */
  #move(waiting: QueuedCheck, at: number): void {
    if (at >= waiting.at) return
    if (at < lastPosition && waiting.at >= lastPosition) this.#inFront++
    this.#order.put(waiting, at)
  }

  /** Milliseconds until there is a token; 0: there is one now. */
  #tokenMs(): number {
    const now = this.#parts.world.monotonic()
    this.#tokens = Math.min(this.#tokens + ((now - this.#countedAt) * perSecond) / 1_000, bucketMax)
    this.#countedAt = now
    return this.#tokens >= 1 ? 0 : ((1 - this.#tokens) * 1_000) / perSecond
  }

  #take(waiting: QueuedCheck): void {
    this.#order.remove(waiting)
    this.#waiting.delete(keyOf(waiting.query))
    if (waiting.at < lastPosition) this.#inFront--
  }

  async #ask(waiting: QueuedCheck): Promise<void> {
    const { query } = waiting
    this.#underWay.add(waiting)
    let report: () => void
    try {
      const offered = await this.#parts.ask(query)
      report = () => settle(waiting, offered)
    } catch (error) {
      report = () => this.#failed(waiting, error)
    }
    this.#underWay.delete(waiting)
    report()
    this.continue()
  }

  #failed(waiting: QueuedCheck, error: unknown): void {
    const { query, waiters } = waiting
    const isTheServers = error instanceof UpdateServerBusy || error instanceof UpdateServerFailed
    if (this.#waiting.has(keyOf(query))) {
      // Another query about the same firmware index was queued meanwhile.
      settle(waiting, undefined)
      return
    }
    if (this.#isStopped || !isTheServers || ++waiting.tries >= triesMax) {
      for (const { failed } of waiters.splice(0)) failed(error)
      return
    }
    const place = waiting.at < lastPosition ? 'random' : 'last'
    waiting.at = Number.POSITIVE_INFINITY
    waiting.isOutdated = false
    this.#waiting.set(keyOf(query), waiting)
    this.#move(waiting, this.#placeOf(place))
  }
}

function settle(waiting: QueuedCheck, offered: OfferedFirmware | undefined): void {
  for (const { answered } of waiting.waiters.splice(0)) answered(offered)
}
