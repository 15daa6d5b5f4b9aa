import { damagedRow } from '#history/bytes'
import type { ImportedSeries } from '#history/chunk-walk'
import { answerFleetAggregate } from '#history/fleet-aggregate'
import type { FleetAggregateQuery, HistoryAnswer, HistoryQuery } from '#history/history-query'
import { HistoryStore } from '#history/history-store'
import { answerQuery } from '#history/query'
import type { HistoryLimits } from '#history/retention'
import { reusePiece } from '#history/text-pieces'
import type { ServiceRetention } from '#model/history-retention'
import type { Applied, Checkpoint, Projection, StreamChunk } from '#runtime/projection'
import { type Storage, type StorageBackend, StorageFailure } from '#runtime/storage'
import type { World } from '#runtime/world'
import type { ShapesById } from '#store/chunk'

export interface HistoryOptions {
  readonly world: World
  readonly backend: StorageBackend
  /** Moves the folder of the store aside, so that a new store can be created. */
  readonly setAside: () => Promise<void>
  readonly shapes: ShapesById
  readonly limits: HistoryLimits
  readonly failed: (error: unknown) => void
}

/** Points are stored after this time, however few they are. */
const flushEveryMs = 10_000
/** The free space is read at most this often. */
const roomCheckEveryMs = 1_000
/** How often everything is merged into blocks, and expired data is deleted. */
const mergeAllEveryMs = 24 * 3_600_000
/** How often everything is merged, and the oldest data deleted, while history takes too much space. */
const shrinkEveryMs = 600_000

/** History, in this thread or in another thread. */
export interface HistoryService extends Projection {
  /** @throws StorageFailure */
  query(query: HistoryQuery): Promise<HistoryAnswer>
  /** @throws StorageFailure */
  fleetAggregate(query: FleetAggregateQuery): Promise<HistoryAnswer>
  /**
   * Resolves when the points are on the disk. `old`: how many were left out because they are too old. `stored`: the
   * number of the stored state, for `confirm` and `compact`.
   *
   * @throws StorageFailure
   */
  importPoints(series: readonly ImportedSeries[]): Promise<{ readonly old: number; readonly stored: number }>
  /**
   * Stores the points in memory. Resolves with the number of the stored state, for `compact`.
   *
   * @throws StorageFailure
   */
  flush(): Promise<number>
  /**
   * Merges everything, deletes expired data, and frees its space on the disk. All entries of the state `stored`, which
   * `flush` returned, must be durable in the streams.
   *
   * @throws StorageFailure
   */
  compact(stored: number): Promise<void>
  /** Takes back a piece of an answer that nothing reads any more. */
  reuse(piece: Uint8Array<ArrayBuffer>): void
  /** Replaces the retentions of all schemas; later changes come from the stream. */
  setRetentions(list: readonly ServiceRetention[]): Promise<void>
}

/** History as a projection: opens its database, stores points from time to time, and merges in the background. */
export class History implements HistoryService {
  readonly name = 'history'
  readonly #options: HistoryOptions
  #storage: Storage | undefined
  #store: HistoryStore | undefined
  #cancelFlush: (() => void) | undefined
  /** When the last merge of everything was stored or scheduled. */
  #mergeAllScheduledAt = 0
  /** The next `confirm` merges everything. */
  #isMergeAllDue = false
  /** Whether a row could not be read. The next `open` then sets this history aside and creates a new history. */
  #isDamaged = false
  #hasRoom = false
  #roomCheckedAt = Number.NEGATIVE_INFINITY
  /** Changes run one after the other. */
  #changes: Promise<unknown> = Promise.resolve()
  #merging: Promise<void> = Promise.resolve()

  constructor(options: HistoryOptions) {
    this.#options = options
  }

  /** @throws StorageFailure `locked`, `full`, `io` */
  async open(): Promise<readonly Checkpoint[]> {
    await this.#assertRoom()
    await this.#closeStore()
    try {
      if (!this.#isDamaged) await this.#openStore()
    } catch (error) {
      this.#noteDamage(error)
      if (!this.#isDamaged) throw error
      this.#options.failed(error)
    }
    if (this.#isDamaged) await this.#beginAnew()
    return this.store.checkpoints
  }

  async resume(index: number | undefined, epoch: string): Promise<void> {
    if (index === undefined) await this.#beginAnew()
    const checkpoint = this.store.checkpoints[index ?? 0]
    if (checkpoint) await this.store.resume(checkpoint, epoch)
    const now = this.#options.world.now()
    const mergedAllAt = this.store.mergedAllAt
    this.#mergeAllScheduledAt = mergedAllAt ?? now
    if (mergedAllAt === undefined) await this.store.setMergedAllAt(now)
    this.#flushLater()
  }

  get store(): HistoryStore {
    if (!this.#store) throw new StorageFailure('closed', 'history is closed')
    return this.#store
  }

  apply(chunks: readonly StreamChunk[]): Promise<Applied> {
    const copied = chunks.map((chunk) => ({ ...chunk, bytes: Buffer.from(chunk.bytes) }))
    return this.#change(async (store) => {
      if (this.#isDamaged) throw damagedRow()
      await this.#assertRoom()
      for (const chunk of copied) await store.apply(chunk, this.#options.world.now())
      return { stored: store.flushed, isConfirmDue: store.isMergeDue || this.#isMergeAllDue }
    })
  }

  async confirm(stored: number): Promise<void> {
    this.store.confirm(stored)
    const all = this.#isMergeAllDue
    this.#isMergeAllDue = false
    const { world } = this.#options
    void this.#merge(all, async (store, pause) => {
      if (!all) return
      await store.expire(world.now(), pause)
      await store.setMergedAllAt(world.now())
    }).catch(() => {})
  }

  /**
   * Merges confirmed runs, then calls `after`. Rejects on a failure, and passes the failure to `failed` unless history
   * was closed.
   */
  #merge(all: boolean, after: (store: HistoryStore, pause: () => Promise<void>) => Promise<void>): Promise<void> {
    const { store } = this
    const pause = async () => {
      await this.#pause()
      await this.#assertRoom()
      // The history is being closed. The merge is repeated after the next start.
      if (this.#store !== store) throw new StorageFailure('closed', 'history is closed')
    }
    const merged = store.merge({ all, pause }).then(() => after(store, pause))
    this.#merging = merged.catch((error) => {
      this.#noteDamage(error)
      if (this.#store === store) this.#options.failed(error)
    })
    return merged
  }

  query(query: HistoryQuery): Promise<HistoryAnswer> {
    return this.#read((store) => answerQuery(store, query))
  }

  fleetAggregate(query: FleetAggregateQuery): Promise<HistoryAnswer> {
    return this.#read((store) => answerFleetAggregate(store, query))
  }

  async #read<Answer>(read: (store: HistoryStore) => Promise<Answer>): Promise<Answer> {
    try {
      return await read(this.store)
    } catch (error) {
      this.#noteDamage(error)
      throw error
    }
  }

  importPoints(series: readonly ImportedSeries[]): Promise<{ readonly old: number; readonly stored: number }> {
    return this.#change(async (store) => {
      await this.#assertRoom()
      const old = await store.importPoints(series, this.#options.world.now())
      return { old, stored: store.flushed }
    })
  }

  flush(): Promise<number> {
    return this.#change(async (store) => {
      await store.flush()
      return store.flushed
    })
  }

  compact(stored: number): Promise<void> {
    this.store.confirm(stored)
    return this.#merge(true, async (store, pause) => {
      await store.expire(this.#options.world.now(), pause, true)
    })
  }

  reuse(piece: Uint8Array<ArrayBuffer>): void {
    reusePiece(piece)
  }

  setRetentions(list: readonly ServiceRetention[]): Promise<void> {
    return this.#change(async (store) => store.retentions.replace(list))
  }

  skip(tenant: string, offset: number, to: number): Promise<void> {
    return this.#change((store) => store.skip(tenant, offset, to))
  }

  removeTenant(tenant: string, offset: number): Promise<void> {
    return this.#change((store) => store.removeTenant(tenant, offset))
  }

  async close(): Promise<void> {
    this.#cancelFlush?.()
    if (this.#store) await this.#change((store) => store.flush()).catch(this.#options.failed)
    await this.#closeStore()
  }

  /**
   * The stream keeps the entries that history does not take, as long as it can.
   *
   * @throws StorageFailure `full`, before history uses the space that the server's own store needs
   */
  async #assertRoom(): Promise<void> {
    const now = this.#options.world.monotonic()
    if (this.#hasRoom && now - this.#roomCheckedAt < roomCheckEveryMs) return
    this.#roomCheckedAt = now
    this.#hasRoom = await this.#options.backend.hasRoom()
    if (!this.#hasRoom) throw new StorageFailure('full', 'too little disk space for history')
  }

  #noteDamage(error: unknown): void {
    if (error instanceof StorageFailure && error.code === 'damaged') this.#isDamaged = true
  }

  #change<Value>(change: (store: HistoryStore) => Promise<Value>): Promise<Value> {
    const changed = this.#changes.then(() => change(this.store))
    this.#changes = changed.catch(() => {})
    return changed
  }

  #flushLater(): void {
    const { world, failed } = this.#options
    this.#cancelFlush?.()
    this.#cancelFlush = world.after(flushEveryMs, () => {
      void this.#change(async (store) => {
        if (store.unstored > 0) await store.flush()
        const sinceMs = world.now() - this.#mergeAllScheduledAt
        if (sinceMs < mergeAllEveryMs && (sinceMs < shrinkEveryMs || !(await store.isTooLarge()))) return
        this.#mergeAllScheduledAt = world.now()
        this.#isMergeAllDue = true
      })
        .catch(failed)
        .finally(() => this.#flushLater())
    })
  }

  async #openStore(): Promise<void> {
    this.#storage = await this.#options.backend.open()
    const { shapes, limits } = this.#options
    this.#store = await HistoryStore.open(this.#storage, shapes, limits, () => this.#pause())
  }

  #pause(): Promise<void> {
    return new Promise((resolve) => this.#options.world.soon(resolve))
  }

  async #beginAnew(): Promise<void> {
    await this.#closeStore()
    await this.#options.setAside()
    this.#isDamaged = false
    await this.#openStore()
  }

  async #closeStore(): Promise<void> {
    this.#store = undefined
    await this.#changes
    await this.#merging
    await this.#storage?.close()
    this.#storage = undefined
  }
}
