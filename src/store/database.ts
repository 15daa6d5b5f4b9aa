import type { Entry } from '#model/entry'
import { Problem } from '#model/problem'
import { type Scan, type Storage, StorageFailure, type StoragePlace } from '#runtime/storage'
import type { System } from '#runtime/system'
import type { World } from '#runtime/world'
import type { BulkWakeLimits } from '#store/bulk-wake'
import { everyKey, keySpace, keys } from '#store/keys'
import { load } from '#store/loader'
import { packRecord, unpackRecord } from '#store/record-codec'
import { Retention, type RetentionLimits } from '#store/retention'
import { sweepShapes } from '#store/shape-sweep'
import type { StoreJournal } from '#store/store-journal'

/** How often we look whether there is room again. */
const roomEveryMs = 1_000

/** 96 bits: epochs are told apart by chance alone. */
const epochBytes = 12

export interface DatabaseOptions {
  readonly world: World
  readonly place: StoragePlace
  readonly journal: StoreJournal
  readonly retention: RetentionLimits
  /** Default: `bulkWakeLimits`. */
  readonly bulkWake?: BulkWakeLimits
  readonly log: DatabaseLog
  /** The store was read again after a failure; `isRewound`: less is there than was told. */
  readonly reloaded: (isRewound: boolean) => void
}

interface DatabaseLog {
  /** Shapes were not swept; the next sweep is in an hour. */
  sweepFailed(error: unknown): void
  failed(failure: StorageFailure): void
  readOnly(failure: StorageFailure): void
  recovered(): void
  stillFailing(error: unknown): void
}

export type DatabaseStatus = 'ok' | 'read_only' | 'closed'

/** Until a sweep, unused shapes take nothing but disk space. */
const shapeSweepEveryMs = 3_600_000

/**
 * The life of the store: opened, read, written to; after a failed write read only, closed and reopened when there is
 * room; closed. The one that fails never writes again (a storage's handle loses later batches), so the only way back is
 * a new handle, read from the beginning.
 */
export class Database {
  readonly #options: DatabaseOptions
  readonly #retention: Retention
  #cancelSweep: (() => void) | undefined
  #system: System<Entry> | undefined
  #storage: Storage | undefined
  #cancelRetry: (() => void) | undefined
  #reopening: Promise<void> | undefined
  /** The last offset of each stream that was stored, and perhaps told, before a write failed. */
  #told: ReadonlyMap<string, number> = new Map()
  #status: DatabaseStatus = 'closed'

  constructor(options: DatabaseOptions) {
    this.#options = options
    const { world, journal, retention } = options
    this.#retention = new Retention(world, journal, retention, (tenant) => this.#commitSoon(tenant))
  }

  get status(): DatabaseStatus {
    return this.#status
  }

  /** Bytes of memory that the store holds for itself, outside of the heap. */
  get memoryBytes(): number {
    return this.#storage?.memoryBytes() ?? 0
  }

  /**
   * Opens the store and brings the system to where it is; answers questions when fulfilled.
   * @throws StorageFailure
   */
  async open(system: System<Entry>): Promise<void> {
    this.#system = system
    await this.#read(await this.#options.place.open())
    await this.#beginEpoch()
    await this.#options.place.restoreHeadroom()
    this.#serve()
  }

  /**
   * All rows, as the last commit left them. To be closed.
   * @throws StorageFailure `closed` while the store is being opened anew
   */
  snapshot(): Scan {
    return this.#options.journal.storage.scan({ ...everyKey, hasValues: true })
  }

  /** Told by the system: a commit failed. */
  readonly commitFailed = (error: unknown): void => {
    // Sealed while we were closing: nobody waits for it, and nothing is to be recovered.
    if (this.#isClosed()) return
    const failure =
      error instanceof StorageFailure ? error : new StorageFailure('io', 'a commit failed', { cause: error })
    this.#status = 'read_only'
    this.#cancelSweep?.()
    this.#told = new Map([...this.#options.journal.streams()].map((stream) => [stream.tenant, stream.last]))
    this.#retention.stop()
    this.#options.log.failed(failure)
    void this.#recover(failure)
  }

  /** Waits for what is under way and closes. */
  async close(): Promise<void> {
    this.#status = 'closed'
    this.#retention.stop()
    this.#cancelSweep?.()
    this.#cancelRetry?.()
    await this.#reopening
    await this.#storage?.close()
  }

  async #read(storage: Storage): Promise<void> {
    const { journal } = this.#options
    this.#storage = storage
    journal.open(storage)
    await this.#checkFormat(storage)
    journal.epochs = await journal.loadEpochs()
    await load(journal, this.#requireSystem(), this.#options.bulkWake)
  }

  async #checkFormat(storage: Storage): Promise<void> {
    const bytes = storage.get(keys.format)
    if (bytes) unpackRecord(keySpace, bytes)
    else await storage.write([{ key: keys.format, value: packRecord(keySpace, null) }], { sync: true })
  }

  async #beginEpoch(): Promise<void> {
    const { journal, world } = this.#options
    const name = Buffer.from(world.random(epochBytes)).toString('base64url')
    const heads = new Map([...journal.streams()].map((stream) => [stream.tenant, stream.last]))
    await journal.epochs.begin(journal.storage, name, heads)
  }

  #serve(): void {
    this.#status = 'ok'
    this.#retention.start()
    this.#requireSystem().serve()
    this.#sweepShapesLater()
  }

  #sweepShapesLater(): void {
    const { world, log } = this.#options
    this.#cancelSweep = world.after(shapeSweepEveryMs, () => {
      this.#sweepShapesLater()
      this.sweepShapes().catch((error) => {
        // The store may close while a sweep reads it.
        if (!this.#isClosed()) log.sweepFailed(error)
      })
    })
  }

  /** Deletes shapes that nothing names, if many are new. Resolves to how many that were. */
  sweepShapes(newMin?: number): Promise<number> {
    return sweepShapes(this.#options.journal, this.#requireSystem(), newMin)
  }

  async #recover(failure: StorageFailure): Promise<void> {
    const { journal, log } = this.#options
    const system = this.#requireSystem()
    try {
      // The old handle still reads: answers go on from what is stored while there is no room.
      const storage = journal.storage
      journal.open(storage)
      await load(journal, system, this.#options.bulkWake)
      system.serveReadOnly()
    } catch (error) {
      log.stillFailing(error)
    }
    if (this.#isClosed()) return
    log.readOnly(failure)
    if (failure.code !== 'io') this.#retryLater()
  }

  #retryLater(): void {
    this.#cancelRetry = this.#options.world.after(roomEveryMs, () => {
      this.#reopening = this.#reopen().catch((error) => {
        this.#options.log.stillFailing(error)
        if (!this.#isClosed()) this.#retryLater()
      })
    })
  }

  async #reopen(): Promise<void> {
    const { place, journal, log, reloaded } = this.#options
    const system = this.#requireSystem()
    if (!(await place.hasRoom())) {
      if (!this.#isClosed()) this.#retryLater()
      return
    }
    if (this.#isClosed()) return
    system.forgetAll(new Problem('storage'))
    await this.#storage?.close()
    await place.releaseHeadroom()
    await this.#read(await place.open())
    const isRewound = [...this.#told].some(([tenant, committed]) => journal.stream(tenant).last < committed)
    if (isRewound) await this.#beginEpoch()
    await place.restoreHeadroom()
    if (this.#isClosed()) return
    this.#serve()
    reloaded(isRewound)
    log.recovered()
  }

  #commitSoon(tenant: string): void {
    const { gate, registry } = this.#requireSystem()
    if (gate.isOpen) gate.touch(registry.head(tenant))
  }

  #isClosed(): boolean {
    return this.#status === 'closed'
  }

  #requireSystem(): System<Entry> {
    if (!this.#system) throw new Error('the store is not open')
    return this.#system
  }
}
