import type { HistoryService } from '#history/history'
import type { HistoryAnswer, HistoryQuery } from '#history/query'
import { Problem } from '#model/problem'
import type { Position } from '#runtime/journal'
import { StorageFailure } from '#runtime/storage'
import type { World } from '#runtime/world'
import type { StreamFollower } from '#store/stream-follower'

export interface HistoryReadsOptions {
  readonly world: World
  readonly service: Pick<HistoryService, 'query'>
  readonly follower: Pick<StreamFollower, 'whenReached' | 'lag'>
  /** Up to here, sockets of a tenant have received everything. */
  readonly positionOf: (tenant: string) => Position
}

/** Contract 9, position. */
const behindMsMax = 5_000
/** Each holds up to a million points in memory. */
const queriesMax = 8

/** Reads history for requests, when it contains everything that sockets received before the request. */
export class HistoryReads {
  readonly #options: HistoryReadsOptions
  #running = 0

  constructor(options: HistoryReadsOptions) {
    this.#options = options
  }

  /** Of all tenants. */
  get lag() {
    return this.#options.follower.lag
  }

  /**
   * The answer, and a position of the stream up to which it is complete.
   * @throws Problem `history_behind`, `overloaded`
   */
  async query(query: HistoryQuery): Promise<{ readonly answer: HistoryAnswer; readonly position: Position }> {
    const { service, positionOf } = this.#options
    if (this.#running >= queriesMax) {
      throw new Problem('overloaded', `${queriesMax} queries of history are running: try again`)
    }
    this.#running++
    try {
      const position = positionOf(query.tenant)
      await this.#reached(query.tenant, position.offset)
      return { answer: await service.query(query), position }
    } catch (error) {
      // It is opened again, or begun anew.
      throw error instanceof StorageFailure ? new Problem('storage', error.message) : error
    } finally {
      this.#running--
    }
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
