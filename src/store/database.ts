import type { Entry } from '#model/entry'
import { Problem } from '#model/problem'
import type { EventListener } from '#runtime/gate'
import { Slices } from '#runtime/slices'
import {
  type Operation,
  type Scan,
  type ScanRange,
  type SharedStorage,
  type Storage,
  type StorageBackend,
  StorageFailure,
} from '#runtime/storage'
import type { System } from '#runtime/system'
import type { World } from '#runtime/world'
import type { BulkActivationLimits } from '#store/bulk-activation'
import { everyKey, isChunkKey, keySpace, keys, keysBelow, tenantOfChunk } from '#store/key-space'
import { applyOperation, loadBeginning, loadStore, putSnapshotsFirst } from '#store/loader'
import { packRecord, unpackRecord } from '#store/record-codec'
import { Retention, type RetentionLimits } from '#store/retention'
import { sweepShapes } from '#store/shapes'
import type { StoreJournal } from '#store/store-journal'

/** The interval of checks for free space after a failure. */
const roomEveryMs = 1_000

/** 96 bits: random names of epochs never collide in practice. */
const epochBytes = 12

export interface DatabaseOptions {
  readonly world: World
  readonly backend: StorageBackend
  readonly journal: StoreJournal
  readonly retention: RetentionLimits
  /** The offset of the first entry of a tenant that a projection still has to read. Default: none. */
  readonly neededFrom?: (tenant: string) => number
  /** Default: `bulkActivationLimits`. */
  readonly bulkActivation?: BulkActivationLimits
  readonly log: DatabaseLog
  /** The store was read again after a failure; `isRewound`: some published events were lost. */
  readonly reloaded: (isRewound: boolean) => void
  /** Called when a shared store serves reads. Further commits of other nodes wait until the promise is fulfilled. */
  readonly following?: () => Promise<void>
  /** The listener of the commit gate, which also receives the events in the commits of other nodes. */
  readonly listener: EventListener<Entry>
}

interface DatabaseLog {
  /** A sweep of shapes failed; the next one is in an hour. */
  sweepFailed(error: unknown): void
  failed(failure: StorageFailure): void
  readOnly(failure: StorageFailure): void
  recovered(): void
  stillFailing(error: unknown): void
}

export type DatabaseStatus = 'ok' | 'read_only' | 'closed'

/** Until a sweep, unused shapes only take disk space. */
const shapeSweepEveryMs = 3_600_000

/**
 * Opens, reads, writes and closes the store. After a failed write it only reads. Unless the disk itself failed (`io`),
 * it closes and reopens the store when there is space. A storage handle never writes again after a failure, because it
 * would lose later batches. So writes need a new handle, from which the store is read from the beginning.
 */
export class Database {
  readonly #options: DatabaseOptions
  readonly #retention: Retention
  #cancelSweep: (() => void) | undefined
  #system: System<Entry> | undefined
  #storage: Storage | undefined
  #cancelRetry: (() => void) | undefined
  #reopening: Promise<void> | undefined
  /** The commit of another node that is being applied. */
  #applying: Promise<void> = Promise.resolve()
  #viewsLoaded: Promise<void> = Promise.resolve()
  /** Views receive the commits of other nodes. */
  #hasViews = false
  /** Settles the wait in `#owned`. */
  #firstOwned: { resolve(): void; reject(error: unknown): void } | undefined
  /** The last offset of each stream that was stored, and perhaps published, before a write failed. */
  #publishedOffsets: ReadonlyMap<string, number> = new Map()
  #status: DatabaseStatus = 'closed'

  constructor(options: DatabaseOptions) {
    this.#options = options
    const { world, journal, retention, neededFrom = () => Number.POSITIVE_INFINITY } = options
    const commitSoon = (tenant: string) => this.#commitSoon(tenant)
    this.#retention = new Retention({ world, journal, limits: retention, commitSoon, neededFrom })
  }

  get status(): DatabaseStatus {
    return this.#status
  }

  /** Bytes of memory outside the heap that the store uses. */
  get memoryBytes(): number {
    return this.#storage?.memoryBytes() ?? 0
  }

  /**
   * Opens the store and brings the system to its stored state. Resolves when commands are accepted: for a shared store,
   * when this node is its owner; reads are answered before.
   * @throws StorageFailure
   */
  async open(system: System<Entry>): Promise<void> {
    this.#system = system
    const { backend, journal } = this.#options
    await this.#openStore()
    if (journal.storage.shared) await this.#owned(journal.storage.shared)
    await this.#storeFormat()
    if (!backend.isShared || journal.epoch === '') await this.#beginEpoch()
    await backend.restoreHeadroom()
    this.#serve()
  }

  /**
   * Opens and reads the store. If it is shared, also serves reads and applies the commits of other nodes from now on.
   */
  async #openStore(): Promise<void> {
    this.#hasViews = false
    this.#viewsLoaded = Promise.resolve()
    const storage = await this.#options.backend.open()
    this.#storage = storage
    if (this.#isClosed() && this.#reopening !== undefined) return
    await this.#read(storage)
    const { shared } = storage
    if (!shared) {
      if (storage.get(keys.replica) === undefined) return
      throw new StorageFailure(
        'damaged',
        'this data folder belongs to a node of a cluster: set NATS_URL, or choose another folder',
      )
    }
    const system = this.#requireSystem()
    shared.whenEnded((failure) => {
      if (!this.#isClosed()) system.storageFailed(failure)
    })
    // After a reopening, views are loaded before the node follows: reads are answered from its own data, even if it
    // cannot reach the log. Contract 11.
    const isAgain = this.#reopening !== undefined
    if (isAgain) await this.#loadViews()
    await shared.follow((operations) => this.#apply(operations))
    if (!isAgain) await this.#loadViews()
  }

  /** Lets views read the whole state. From then on they get each commit; no commit is applied meanwhile. */
  async #loadViews(): Promise<void> {
    let loaded = () => {}
    this.#viewsLoaded = new Promise((resolve) => {
      loaded = resolve
    })
    await this.#applying
    this.#status = 'ok'
    this.#hasViews = true
    this.#requireSystem().serveReadOnly()
    await this.#options.following?.()
    loaded()
  }

  /** Waits until this node is the owner for the first time. If following fails meanwhile, the store is opened again. */
  async #owned(shared: SharedStorage): Promise<void> {
    const owned = new Promise<void>((resolve, reject) => {
      this.#firstOwned = { resolve, reject }
    })
    shared.own().then(
      () => this.#firstOwned?.resolve(),
      (error) => this.#isClosed() && this.#firstOwned?.reject(error),
    )
    await owned
    this.#firstOwned = undefined
  }

  async #storeFormat(): Promise<void> {
    const { storage } = this.#options.journal
    if (storage.get(keys.format) !== undefined) return
    await storage.write([{ key: keys.format, value: packRecord(keySpace, null) }], { sync: true })
  }

  async #apply(operations: readonly Operation[]): Promise<void> {
    await this.#viewsLoaded
    this.#applying = this.#applyAll(operations)
    await this.#applying
  }

  async #applyAll(operations: readonly Operation[]): Promise<void> {
    const { world, journal, listener } = this.#options
    const follower = { journal, system: this.#requireSystem(), isPublished: this.#hasViews }
    const slices = new Slices(world)
    const trimmed = new Set<string>()
    let isEpochNew = false
    listener.beforeRelease()
    for (const operation of putSnapshotsFirst(operations)) {
      applyOperation(follower, operation)
      if (operation.value === null && isChunkKey(operation.key)) trimmed.add(tenantOfChunk(operation.key))
      if (operation.key.startsWith(keysBelow('epoch').after)) isEpochNew = true
      if (!slices.isOver) continue
      await slices.next()
      listener.beforeRelease()
    }
    for (const tenant of trimmed) await loadBeginning(journal, tenant)
    if (isEpochNew) journal.epochs = await journal.loadEpochs()
  }

  /**
   * The rows in this range (default: all but `keys.replica`) as of the last commit. The caller must close the scan.
   * @throws StorageFailure `closed` while the store is being reopened
   */
  snapshot(range: Pick<ScanRange, 'after' | 'before'> = everyKey): Scan {
    return this.#options.journal.storage.scan({ ...range, hasValues: true })
  }

  /** Called by the system when a commit failed, or when this node stopped following a shared store. */
  readonly commitFailed = (error: unknown): void => {
    // The commit was sealed during the close: no caller waits for it, and there is nothing to recover.
    if (this.#isClosed()) return
    const failure =
      error instanceof StorageFailure ? error : new StorageFailure('io', 'a commit failed', { cause: error })
    this.#status = 'read_only'
    this.#cancelSweep?.()
    this.#publishedOffsets = new Map([...this.#options.journal.streams()].map((stream) => [stream.tenant, stream.last]))
    this.#retention.stop()
    this.#options.log.failed(failure)
    void this.#recover(failure)
  }

  /** Waits for running work and closes. */
  async close(): Promise<void> {
    this.#status = 'closed'
    this.#retention.stop()
    this.#cancelSweep?.()
    this.#cancelRetry?.()
    // First, so that a node that waits to become the owner stops waiting.
    if (this.#storage?.shared) await this.#storage.close()
    this.#firstOwned?.reject(new StorageFailure('closed', 'the store was closed'))
    await this.#reopening
    await this.#storage?.close()
  }

  async #read(storage: Storage): Promise<void> {
    const { journal } = this.#options
    journal.open(storage)
    const format = storage.get(keys.format)
    if (format) unpackRecord(keySpace, format)
    journal.epochs = await journal.loadEpochs()
    await loadStore(journal, this.#requireSystem(), this.#options.bulkActivation)
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

  /** Deletes unused shapes if at least `newMin` are new. Resolves to the number of deleted shapes. */
  sweepShapes(newMin?: number): Promise<number> {
    return sweepShapes(this.#options.journal, this.#requireSystem(), newMin)
  }

  async #recover(failure: StorageFailure): Promise<void> {
    const { journal, log } = this.#options
    if (!journal.storage.shared) await this.#serveOldHandle()
    if (this.#isClosed()) return
    log.readOnly(failure)
    if (failure.code !== 'io') this.#retryLater()
  }

  async #serveOldHandle(): Promise<void> {
    const { journal, log } = this.#options
    const system = this.#requireSystem()
    try {
      // The old handle still reads, so queries are answered from the stored state until the store is reopened.
      const storage = journal.storage
      journal.open(storage)
      await loadStore(journal, system, this.#options.bulkActivation)
      system.serveReadOnly()
    } catch (error) {
      log.stillFailing(error)
    }
  }

  #retryLater(): void {
    this.#cancelRetry?.()
    this.#cancelRetry = this.#options.world.after(roomEveryMs, () => {
      this.#reopening = this.#reopen().catch((error) => {
        this.#options.log.stillFailing(error)
        if (!this.#isClosed()) this.#retryLater()
      })
    })
  }

  async #reopen(): Promise<void> {
    const { backend, journal, log, reloaded } = this.#options
    const system = this.#requireSystem()
    if (!(await backend.hasRoom())) {
      if (!this.#isClosed()) this.#retryLater()
      return
    }
    if (this.#isClosed()) return
    system.forgetAll(new Problem('storage'))
    await this.#storage?.close()
    await backend.releaseHeadroom()
    await this.#openStore()
    if (this.#isClosed()) return
    const { shared } = journal.storage
    if (shared) await shared.own()
    if (this.#firstOwned) {
      this.#firstOwned.resolve()
      return
    }
    const isRewound =
      !shared && [...this.#publishedOffsets].some(([tenant, committed]) => journal.stream(tenant).last < committed)
    if (isRewound) await this.#beginEpoch()
    await backend.restoreHeadroom()
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
