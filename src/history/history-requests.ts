import type { ImportedSeries } from '#history/chunk-walk'
import type { HistoryService } from '#history/history'
import { Problem } from '#model/problem'
import { FairQueue } from '#runtime/fair-queue'
import type { Position } from '#runtime/journal'
import { StorageFailure } from '#runtime/storage'
import type { World } from '#runtime/world'
import type { StreamFollower } from '#store/stream-follower'

export type HistoryQueries = Pick<HistoryService, 'query' | 'fleetAggregate'>

export interface HistoryRequestsOptions {
  readonly world: World
  readonly service: HistoryQueries & Pick<HistoryService, 'reuse' | 'importPoints' | 'flush' | 'compact' | 'confirm'>
  readonly follower: Pick<StreamFollower, 'whenReached' | 'lag'>
  /** The position up to which sockets of a tenant have received everything. */
  readonly positionOf: (tenant: string) => Position
  /** Resolves when everything that is stored in the streams is on the disk. */
  readonly sync: () => Promise<void>
  /** Called when a compaction fails before it begins to merge. */
  readonly compactionFailed: (error: unknown) => void
}

/** How long a request waits for the history to catch up. Contract 9, position. */
const behindMsMax = 5_000
/** The limit of queries at a time, each of which holds up to a million points in memory. */
const runningMax = 4
const waitingMax = 64

interface Waiter {
  readonly begin: () => void
  readonly refuse: (error: Problem) => void
}

/**
 * The requests to the history of one process. They can wait until the history contains everything that sockets have
 * received.
 */
export class HistoryRequests {
  readonly #options: HistoryRequestsOptions
  #running = 0
  #compacting: Promise<void> | undefined
  readonly #waiting = new FairQueue<Waiter>(waitingMax)

  constructor(options: HistoryRequestsOptions) {
    this.#options = options
  }

  /** The lag of all tenants together. */
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
   * Asks the history, or waits while too many queries run. `group` is the caller; waiting groups are served in
   * rotation.
   * @throws Problem `overloaded`, `storage`
   */
  async ask<Answer>(group: string, question: (service: HistoryQueries) => Promise<Answer>): Promise<Answer> {
    if (this.#running < runningMax) this.#running++
    else await this.#turn(group)
    try {
      return await question(this.#options.service)
    } catch (error) {
      throw problemOf(error)
    } finally {
      const next = this.#waiting.take()
      if (next) next.begin()
      else this.#running--
    }
  }

  /** The pieces of an answer. Each is valid until the next one is requested; then its memory is used again. */
  async *piecesOf({ pieces }: { readonly pieces: readonly Uint8Array<ArrayBuffer>[] }): AsyncGenerator<Uint8Array> {
    for (const piece of pieces) {
      yield piece
      this.#options.service.reuse(piece)
    }
  }

  /**
   * Adds points that come from elsewhere, for devices that exist now: any number of series, at most some 100 000 points
   * in one call. They replace points of the same times. No event is sent, and no state changes. Resolves when the
   * points survive a power loss, with the number of points that were left out because they are older than the raw
   * retention.
   *
   * @throws Problem `history_behind`, `storage`
   */
  async importPoints(tenant: string, series: readonly Omit<ImportedSeries, 'tenant'>[]): Promise<number> {
    // First, so that a device that was just added is not taken for an earlier device of the same name.
    await this.reach(tenant)
    try {
      const { service, sync } = this.#options
      const { old, stored } = await service.importPoints(series.map((each) => ({ ...each, tenant })))
      // The points are stored with a position in the streams. If the streams lost that position, the points would be
      // lost, too.
      await sync()
      await service.confirm(stored)
      return old
    } catch (error) {
      throw problemOf(error)
    }
  }

  /** Begins to delete expired data and to free its space on the disk, which may take minutes. */
  compact(): void {
    this.#compacting ??= this.#compact().finally(() => {
      this.#compacting = undefined
    })
  }

  async #compact(): Promise<void> {
    const { service, sync, compactionFailed } = this.#options
    try {
      const stored = await service.flush()
      await sync()
      // `History` reports a failed merge.
      await service.compact(stored).catch(() => {})
    } catch (error) {
      compactionFailed(error)
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

/** A failure becomes a temporary problem, because the history is then opened again, or a new history is created. */
function problemOf(error: unknown): unknown {
  return error instanceof StorageFailure ? new Problem('storage', error.message) : error
}
