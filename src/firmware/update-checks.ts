import { Availability } from '#firmware/availability'
import { CheckQueue, type QueuePosition } from '#firmware/check-queue'
import type { UpdateServer } from '#firmware/update-server'
import type { Trigger } from '#model/firmware'
import { Problem } from '#model/problem'
import { type OfferedFirmware, type UpdateQuery, UpdateServerBusy, UpdateServerFailed } from '#model/update-offer'
import type { World } from '#runtime/world'
import { BackOff } from '#workers/back-off'

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
  /** Text of the last reported failure. */
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

  /** Resolves when answered or abandoned. */
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
