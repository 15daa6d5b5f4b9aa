import type { Checkpoint, Projection, StreamChunk } from '#runtime/projection'
import type { World } from '#runtime/world'
import { headOf } from '#store/chunk'
import type { StoreJournal } from '#store/store-journal'

export interface StreamFollowerOptions {
  readonly world: World
  readonly journal: StoreJournal
  readonly projection: Projection
  /** The log receives what went wrong, and that the projection begins anew. */
  readonly failed: (error: unknown) => void
  readonly begunAnew: () => void
}

/** How often it looks for new chunks when it has all of them. */
const idleMs = 100
const failedMs = 5_000
/** The share of the loop from which on it is busy. */
const busyShare = 0.7
const confirmMsMax = 60_000
/** Copied at once: about a millisecond of the event loop. */
const batchBytes = 512 * 1024

/**
 * Gives stored chunks to a projection: from memory if they are there, otherwise from the store. Nothing in a turn or a
 * commit knows of it; it looks for new chunks again and again.
 */
export class StreamFollower {
  readonly #options: StreamFollowerOptions
  #positions = new Map<string, number>()
  #cancel: (() => void) | undefined
  /** Calls of the projection, one after the other. */
  #work: Promise<void> = Promise.resolve()
  #isRunning = false
  #isStopped = true
  /** Where to go on must be decided anew: after a failure, and when the store lost entries. */
  #isLost = true
  /** World.monotonic. */
  #confirmDueAt: number | undefined
  #waiting: { readonly tenant: string; readonly offset: number; readonly resolve: () => void }[] = []
  /** When the newest applied chunk of each tenant was stored. */
  readonly #times = new Map<string, number>()

  constructor(options: StreamFollowerOptions) {
    this.#options = options
  }

  get name(): string {
    return this.#options.projection.name
  }

  /** On a node of a cluster: each node has a projection of its own. */
  follow(): void {
    this.open()
  }

  /** The store is open. A projection that cannot be opened is tried again and again; the server does not wait. */
  open(): void {
    this.#isStopped = false
    this.#runAfter(0)
  }

  /** The store was read again after a failure; `isRewound`: it holds less than before. */
  reloaded(isRewound: boolean): void {
    if (isRewound) this.#isLost = true
  }

  stop(): void {
    this.#isStopped = true
    this.#cancel?.()
  }

  async close(): Promise<void> {
    this.stop()
    await this.#work
    await this.#options.projection.close()
  }

  tenantEnded(tenant: string): void {
    const { projection, journal, failed } = this.#options
    this.#work = this.#work
      .then(async () => {
        const { last } = journal.stream(tenant)
        await projection.removeTenant(tenant, last)
        this.#positions.set(tenant, last)
      })
      .catch(failed)
  }

  /** Entries of a tenant before this offset are not needed any more. */
  neededFrom(tenant: string): number {
    return this.positionOf(tenant) + 1
  }

  positionOf(tenant: string): number {
    return this.#positions.get(tenant) ?? 0
  }

  /** Entries that are stored and not applied yet, and the age of the oldest of them. */
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

  /** Resolves when this offset of a tenant is applied. */
  reached(tenant: string, offset: number): Promise<void> {
    if (this.positionOf(tenant) >= offset) return Promise.resolve()
    return new Promise((resolve) => {
      this.#waiting.push({ tenant, offset, resolve })
      if (!this.#isRunning) this.#runAfter(0)
    })
  }

  async #begin(): Promise<void> {
    const { projection, journal, begunAnew } = this.#options
    const checkpoints = await projection.open()
    const index = checkpoints.findIndex((checkpoint) => this.#isConfirmed(checkpoint))
    if (index < 0) begunAnew()
    await projection.resume(index < 0 ? undefined : index, journal.epoch)
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
      this.#isLost = true
      delayMs = failedMs
    }
    this.#isRunning = false
    this.#runAfter(delayMs)
  }

  /** Returns false if there is nothing to apply. */
  async #applyNext(): Promise<boolean> {
    const { journal, projection } = this.#options
    let isAny = false
    for (const { tenant, last } of [...journal.streams()]) {
      if (this.positionOf(tenant) >= last) continue
      isAny = true
      if (journal.retainedFrom(tenant) > this.positionOf(tenant) + 1) await this.#skip(tenant)
      // The bytes in memory are valid in this turn only, in which the projection copies them.
      const chunks = this.#recent(tenant) ?? (await this.#stored(tenant))
      const newest = chunks.at(-1)
      if (!newest) continue
      const applied = await projection.apply(chunks)
      this.#positions.set(tenant, newest.firstOffset + newest.count - 1)
      this.#times.set(tenant, newest.time)
      this.#waiting = this.#waiting.filter(({ tenant: of, offset, resolve }) => {
        if (this.positionOf(of) < offset) return true
        resolve()
        return false
      })
      if (!this.#mayConfirm(applied.isConfirmDue)) continue
      await journal.sync()
      await projection.confirm(applied.stored)
    }
    return isAny
  }

  /** What follows takes processors, so it waits while the loop is busy, but not for ever. */
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
    const [first] = await this.#stored(tenant, retainedFrom)
    await projection.skip(tenant, retainedFrom - 1, first?.time ?? world.now())
    this.#positions.set(tenant, retainedFrom - 1)
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

  #stored(tenant: string, from = this.positionOf(tenant) + 1): Promise<StreamChunk[]> {
    return this.#options.journal.storedChunks(tenant, from, batchBytes)
  }
}
