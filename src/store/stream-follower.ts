import type { Applied, Checkpoint, Projection, StreamChunk } from '#runtime/projection'
import { StorageFailure } from '#runtime/storage'
import type { World } from '#runtime/world'
import { headOf } from '#store/chunk'
import type { StoreJournal } from '#store/store-journal'

export interface StreamFollowerOptions {
  readonly world: World
  readonly journal: StoreJournal
  readonly projection: Projection
  /** Called to log an error. */
  readonly failed: (error: unknown) => void
  /** Called to log that the projection starts empty. */
  readonly begunAnew: () => void
  /**
   * Gives the projection the present state whenever it begins or continues, and after a gap, because the projection may
   * lack earlier entries.
   */
  readonly prepare?: () => Promise<void>
}

interface Wait {
  readonly tenant: string
  readonly offset: number
  readonly reached: () => void
}

/** The interval at which the follower looks for new chunks while there are none. */
const idleMs = 100
const failedMs = 5_000
/** An event loop that works for at least this share of its time counts as busy. */
const busyShare = 0.7
const confirmMsMax = 60_000
/** The total size of the chunks that are copied at once: about a millisecond of the event loop. */
const batchBytes = 512 * 1024

/**
 * Gives stored chunks to a projection: from memory if they are there, otherwise from the store. Turns and commits do
 * not call it; it looks for new chunks at intervals.
 */
export class StreamFollower {
  readonly #options: StreamFollowerOptions
  #positions = new Map<string, number>()
  #cancel: (() => void) | undefined
  /** Calls of the projection, one after the other. */
  #work: Promise<void> = Promise.resolve()
  #isRunning = false
  #isStopped = true
  /** The next offset is unknown: at first, after a failure, and when the store lost entries. */
  #isLost = true
  /** When a confirmation became due, by `World.monotonic`. */
  #confirmDueAt: number | undefined
  readonly #waits = new Set<Wait>()
  /** After a batch failed, chunks are applied one by one to find the one that fails. */
  #isOneByOne = false
  /** A chunk that the projection cannot read: a gap takes its place. */
  #unreadable: { readonly tenant: string; readonly firstOffset: number } | undefined
  /** When the newest applied chunk of each tenant was stored. */
  readonly #times = new Map<string, number>()

  constructor(options: StreamFollowerOptions) {
    this.#options = options
  }

  get name(): string {
    return this.#options.projection.name
  }

  /** Called on a node of a cluster before it is the owner: each node has a projection of its own. */
  follow(): void {
    this.open()
  }

  /**
   * Called when the store is open. If the projection cannot be opened, the follower tries again every `failedMs`; the
   * server does not wait.
   */
  open(): void {
    this.#isStopped = false
    this.#runAfter(0)
  }

  /** Called when the store was read again after a failure. `isRewound`: the store holds less than before. */
  reloaded(isRewound: boolean): void {
    if (isRewound) this.#lose()
  }

  stop(): void {
    this.#isStopped = true
    this.#cancel?.()
  }

  async close(): Promise<void> {
    this.stop()
    const { projection, failed } = this.#options
    await this.#work
    // An error is only logged, because the server must still close its own store.
    await projection.close().catch(failed)
  }

  /** The projection does not need entries of the tenant before this offset any more. */
  neededFrom(tenant: string): number {
    return this.positionOf(tenant) + 1
  }

  positionOf(tenant: string): number {
    return this.#positions.get(tenant) ?? 0
  }

  /**
   * `entries`: stored entries that are not applied yet. `ms`: the age of the newest applied chunk of a tenant that has
   * such entries; the highest of all tenants.
   */
  get lag(): { readonly entries: number; readonly ms: number } {
    const { journal, world } = this.#options
    let entries = 0
    let ms = 0
    for (const { tenant, last } of journal.streams()) {
      const behind = Math.max(0, last - this.positionOf(tenant))
      entries += behind
      const time = this.#times.get(tenant)
      if (behind > 0 && time !== undefined) ms = Math.max(ms, world.now() - time)
    }
    return { entries, ms }
  }

  /** Calls `reached` as soon as this offset of a tenant is applied. Returns a function that ends the wait. */
  whenReached(tenant: string, offset: number, reached: () => void): () => void {
    if (this.positionOf(tenant) >= offset) {
      reached()
      return () => {}
    }
    const wait = { tenant, offset, reached }
    this.#waits.add(wait)
    // After a failure, the next attempt is already planned.
    if (!this.#isRunning && !this.#isLost) this.#runAfter(0)
    return () => this.#waits.delete(wait)
  }

  #lose(): void {
    this.#isLost = true
    this.#positions.clear()
  }

  async #begin(): Promise<void> {
    const { projection, journal, begunAnew } = this.#options
    const checkpoints = await projection.open()
    const index = checkpoints.findIndex((checkpoint) => this.#isConfirmed(checkpoint))
    if (index < 0) begunAnew()
    await projection.resume(index < 0 ? undefined : index, journal.epoch)
    await this.#options.prepare?.()
    this.#positions = new Map(checkpoints[index]?.offsets)
    this.#isLost = false
  }

  #isConfirmed({ epoch, offsets }: Checkpoint): boolean {
    const { journal } = this.#options
    return [...offsets].every(([tenant, offset]) => (journal.lastOffsetUnder(tenant, epoch) ?? -1) >= offset)
  }

  #runAfter(delayMs: number): void {
    if (this.#isStopped) return
    this.#cancel?.()
    this.#cancel = this.#options.world.after(delayMs, () => {
      this.#isRunning = true
      this.#work = this.#work.then(() => this.#run())
    })
  }

  async #run(): Promise<void> {
    let delayMs = idleMs
    try {
      // A new node of a cluster has no epoch until it has read the first commits.
      if (this.#isLost && this.#options.journal.epoch !== '') await this.#begin()
      while (!this.#isStopped && !this.#isLost && (await this.#applyNext()));
    } catch (error) {
      // A read fails if the store is closed meanwhile.
      if (!this.#isStopped) this.#options.failed(error)
      this.#lose()
      delayMs = failedMs
    }
    this.#isRunning = false
    this.#runAfter(delayMs)
  }

  /** Returns false if there is nothing to apply. */
  async #applyNext(): Promise<boolean> {
    const { journal, projection } = this.#options
    let isAny = false
    for (const { tenant, last, beginsAt } of [...journal.streams()]) {
      if (this.positionOf(tenant) >= last) continue
      if (this.positionOf(tenant) < beginsAt - 1) {
        await projection.removeTenant(tenant, beginsAt - 1)
        this.#move(tenant, beginsAt - 1)
        isAny = true
        continue
      }
      if (journal.retainedFrom(tenant) > this.positionOf(tenant) + 1) await this.#skip(tenant)
      // The bytes in memory are valid only until the next `await`; the projection copies them before that.
      const found = this.#recent(tenant) ?? (await this.#readStoredChunks(tenant))
      const chunks = this.#isOneByOne ? found.slice(0, 1) : found
      const newest = chunks.at(-1)
      if (!newest) continue
      isAny = true
      if (this.#unreadable?.tenant === tenant && this.#unreadable.firstOffset === newest.firstOffset) {
        await this.#leaveOut(newest)
        continue
      }
      const applied = await this.#apply(chunks)
      this.#times.set(tenant, newest.time)
      this.#move(tenant, newest.firstOffset + newest.count - 1)
      if (!this.#mayConfirm(applied.isConfirmDue)) continue
      this.#confirmDueAt = undefined
      await journal.sync()
      await projection.confirm(applied.stored)
    }
    return isAny
  }

  async #apply(chunks: readonly StreamChunk[]): Promise<Applied> {
    try {
      return await this.#options.projection.apply(chunks)
    } catch (error) {
      if (!(error instanceof StorageFailure)) {
        this.#unreadable = this.#isOneByOne ? chunks[0] : undefined
        this.#isOneByOne = true
      }
      throw error
    }
  }

  async #leaveOut({ tenant, firstOffset, count, time }: StreamChunk): Promise<void> {
    const last = firstOffset + count - 1
    await this.#options.projection.skip(tenant, last, time + 1)
    this.#move(tenant, last)
    this.#isOneByOne = false
    this.#unreadable = undefined
  }

  #move(tenant: string, offset: number): void {
    this.#positions.set(tenant, offset)
    for (const wait of this.#waits) {
      if (wait.tenant !== tenant || wait.offset > offset) continue
      this.#waits.delete(wait)
      wait.reached()
    }
  }

  /** A confirmation takes processor time, so it waits while the loop is busy, but at most `confirmMsMax`. */
  #mayConfirm(isDue: boolean): boolean {
    const { world } = this.#options
    if (!isDue) {
      this.#confirmDueAt = undefined
      return false
    }
    this.#confirmDueAt ??= world.monotonic()
    return world.loopShare() < busyShare || world.monotonic() - this.#confirmDueAt >= confirmMsMax
  }

  async #skip(tenant: string): Promise<void> {
    const { journal, projection, world } = this.#options
    const retainedFrom = journal.retainedFrom(tenant)
    const [first] = await this.#readStoredChunks(tenant, retainedFrom)
    await projection.skip(tenant, retainedFrom - 1, first?.time ?? world.now())
    await this.#options.prepare?.()
    this.#move(tenant, retainedFrom - 1)
  }

  #recent(tenant: string): StreamChunk[] | undefined {
    const chunks: StreamChunk[] = []
    const { journal } = this.#options
    let bytes = 0
    for (let next = this.positionOf(tenant) + 1; bytes < batchBytes; ) {
      const chunk = journal.stream(tenant).recent(next)
      if (!chunk) break
      chunks.push({ tenant, ...chunk, time: headOf(chunk.bytes).time })
      bytes += chunk.bytes.length
      next = chunk.firstOffset + chunk.count
    }
    return chunks.length > 0 ? chunks : undefined
  }

  #readStoredChunks(tenant: string, from = this.positionOf(tenant) + 1): Promise<StreamChunk[]> {
    return this.#options.journal.storedChunks(tenant, from, batchBytes)
  }
}
