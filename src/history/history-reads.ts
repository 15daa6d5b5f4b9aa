import type { HistoryService } from '#history/history'
import { Problem } from '#model/problem'
import { FairQueue } from '#runtime/fair-queue'
import type { Position } from '#runtime/journal'
import { StorageFailure } from '#runtime/storage'
import type { World } from '#runtime/world'
import type { StreamFollower } from '#store/stream-follower'

export type HistoryQueries = Pick<HistoryService, 'query' | 'across'>

export interface HistoryReadsOptions {
  readonly world: World
  readonly service: HistoryQueries
  readonly follower: Pick<StreamFollower, 'whenReached' | 'lag'>
  /** Up to here, sockets of a tenant have received everything. */
  readonly positionOf: (tenant: string) => Position
}

/** Contract 9, position. */
const behindMsMax = 5_000
/** Each holds up to a million points in memory. */
const runningMax = 4
const waitingMax = 64

interface Waiter {
  readonly begin: () => void
  readonly refuse: (error: Problem) => void
}

/** Reads history for requests, when it contains everything that sockets received before the request. */
export class HistoryReads {
  readonly #options: HistoryReadsOptions
  #running = 0
  readonly #waiting = new FairQueue<Waiter>(waitingMax)

  constructor(options: HistoryReadsOptions) {
    this.#options = options
  }

  /** Of all tenants. */
  get lag() {
    return this.#options.follower.lag
  }

  /**
   * Resolves with a position of the stream up to which the answers to later queries are complete.
   * @throws Problem `history_behind`
   */
  async reach(tenant: string): Promise<Position> {
    const position = this.#options.positionOf(tenant)
    await this.#reached(tenant, position.offset)
    return position
  }

  /**
   * Asks the history, in turn with others. `group`: who asks; groups alternate.
   * @throws Problem `overloaded`, `storage`
   */
  async ask<Answer>(group: string, question: (service: HistoryQueries) => Promise<Answer>): Promise<Answer> {
    if (this.#running < runningMax) this.#running++
    else await this.#turn(group)
    try {
      return await question(this.#options.service)
    } catch (error) {
      // It is opened again, or begun anew.
      throw error instanceof StorageFailure ? new Problem('storage', error.message) : error
    } finally {
      const next = this.#waiting.take()
      if (next) next.begin()
      else this.#running--
    }
  }

  #turn(group: string): Promise<void> {
    const refusal = () => new Problem('overloaded', 'too many queries of history are waiting: try again')
    if (!this.#waiting.hasRoom(group)) return Promise.reject(refusal())
    return new Promise((begin, refuse) => this.#waiting.add(group, { begin, refuse })?.refuse(refusal()))
  }

  #reached(tenant: string, offset: number): Promise<void> {
    const { world, follower } = this.#options
    return new Promise((resolve, reject) => {
      const giveUp = () => {
        endWait()
        reject(new Problem('history_behind'))
      }
      const cancel = world.after(behindMsMax, giveUp)
      const endWait = follower.whenReached(tenant, offset, () => {
        cancel()
        resolve()
      })
    })
  }
}
