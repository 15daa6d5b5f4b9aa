import { Availability } from '#firmware/availability'
import { CheckQueue, type Place } from '#firmware/check-queue'
import type { UpdateServer } from '#firmware/update-server'
import type { Trigger } from '#model/firmware'
import { Problem } from '#model/problem'
import { type OfferedFirmware, type UpdateQuery, UpdateServerBusy, UpdateServerFailed } from '#model/update-offer'
import type { World } from '#runtime/world'
import { BackOff } from '#workers/back-off'

/** By hand, beside those that wait for their turn. */
const byHandMax = 64

export interface ChecksParts {
  readonly server: UpdateServer
  readonly world: World
  /** The update server begins to fail, or fails in another way. */
  readonly failing?: (error: unknown) => void
}

/**
 * Asks the update server, no more often than it can bear, and remembers what it said. The embedded one bears everything,
 * and remembers by itself: of it all is known, at once.
 */
export class Checks {
  readonly #parts: ChecksParts
  readonly #backOff: BackOff
  readonly #queue: CheckQueue
  readonly #availability: Availability
  #byHand = 0
  /** How it failed last. */
  #saidFailing = ''

  constructor(parts: ChecksParts) {
    const { world } = parts
    this.#parts = parts
    this.#backOff = new BackOff(world)
    this.#availability = new Availability(world)
    this.#queue = new CheckQueue({ world, backOff: this.#backOff, ask: (question) => this.#ask(question) })
  }

  /**
   * By hand: past all that wait, also while the server is left alone. At once where the server is embedded.
   * @throws UpdateServerBusy, UpdateServerFailed; Problem `overloaded`
   */
  now(question: UpdateQuery): Promise<OfferedFirmware | undefined> | OfferedFirmware | undefined {
    return this.#parts.server.isEmbedded ? this.#parts.server.check(question) : this.#askByHand(question)
  }

  /**
   * By itself: in its turn, at once where the server is embedded. A device that comes back with what there was no update for
   * some minutes ago is not asked for.
   * @throws UpdateServerBusy, UpdateServerFailed, after some attempts; Problem `stopping`
   */
  soon(question: UpdateQuery, by: Trigger): Promise<OfferedFirmware | undefined> | OfferedFirmware | undefined {
    if (this.#parts.server.isEmbedded) return this.#parts.server.check(question)
    if (by === 'connect' && this.#availability.isResting(question)) return undefined
    return this.#queue.ask(question, 'somewhere')
  }

  /** Whether there is an update, as far as it is known, at once; undefined: not yet. What is old is asked anew behind it. */
  knownOf(question: UpdateQuery): boolean | undefined {
    if (this.#parts.server.isEmbedded) return this.#parts.server.check(question) !== undefined
    if (!this.#availability.isFresh(question)) this.#refresh(question)
    return this.#availability.lastOf(question)
  }

  /**
   * The same, waited for a while if it is unknown or old, unless it cannot come in that time; what was last known behind
   * that, else false.
   */
  async freshOf(question: UpdateQuery, waitMs: number): Promise<boolean> {
    if (this.#parts.server.isEmbedded) return this.knownOf(question) ?? false
    if (!this.#availability.isFresh(question)) {
      if (this.#backOff.waitMs() < waitMs) await this.#atMost(waitMs, this.#heard(question, 'next'))
      else this.#refresh(question)
    }
    return this.#availability.lastOf(question) ?? false
  }

  /** What is remembered of a project may be wrong from now on: it is shown until it was asked for anew. */
  forgetProject(tenant: string, project: string): void {
    this.#availability.doubt(tenant, project)
    this.#queue.overtake(tenant, project)
  }

  /** What waits is refused. */
  stop(): void {
    this.#queue.stop()
  }

  async #askByHand(question: UpdateQuery): Promise<OfferedFirmware | undefined> {
    if (this.#byHand >= byHandMax) throw new Problem('overloaded')
    this.#byHand++
    try {
      return await this.#ask(question)
    } finally {
      this.#byHand--
    }
  }

  async #ask(question: UpdateQuery): Promise<OfferedFirmware | undefined> {
    const { server, failing } = this.#parts
    const number = this.#availability.asked()
    try {
      const offered = await server.check(question)
      this.#availability.answered(question, number, offered !== undefined)
      this.#backOff.succeeded()
      this.#queue.goOn()
      return offered
    } catch (error) {
      if (error instanceof UpdateServerBusy || error instanceof UpdateServerFailed) {
        if (!this.#backOff.isFailing || error.message !== this.#saidFailing) failing?.(error)
        this.#saidFailing = error.message
        this.#backOff.failed(error instanceof UpdateServerBusy ? error.retryAfterMs : undefined)
      }
      throw error
    }
  }

  /** However often it is looked at, it waits once. */
  #refresh(question: UpdateQuery): void {
    if (!this.#queue.has(question)) void this.#heard(question, 'behind')
  }

  /** Fulfilled when it was answered, or will not be. */
  async #heard(question: UpdateQuery, place: Place): Promise<void> {
    await this.#queue.ask({ ...question, isAutomatic: false }, place).catch(() => {})
  }

  #atMost(waitMs: number, heard: Promise<void>): Promise<void> {
    return new Promise((resolve) => {
      const cancel = this.#parts.world.after(waitMs, resolve)
      void heard.then(() => {
        cancel()
        resolve()
      })
    })
  }
}
