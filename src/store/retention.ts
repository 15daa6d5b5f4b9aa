import type { World } from '#runtime/world'
import { headOf } from '#store/chunk'
import { keys, numberOf } from '#store/keys'
import type { StoreJournal } from '#store/store-journal'
import type { TenantStream } from '#store/tenant-stream'

export interface RetentionLimits {
  /** Of each tenant's stream. */
  readonly bytesMax: number
  readonly ageMsMax: number
}

const everyMs = 1_000
/** Chunks deleted with one commit, so that none grows by it. */
const chunksAtATime = 64

/**
 * Shortens streams that are too big or too old, from their beginning, never past what a start has to apply again. The
 * chunks go with an ordinary commit; `commitSoon` makes sure there is one.
 */
export class Retention {
  readonly #world: World
  readonly #journal: StoreJournal
  readonly #limits: RetentionLimits
  readonly #commitSoon: (tenant: string) => void
  #cancel: (() => void) | undefined
  #isLooking = false

  constructor(world: World, journal: StoreJournal, limits: RetentionLimits, commitSoon: (tenant: string) => void) {
    this.#world = world
    this.#journal = journal
    this.#limits = limits
    this.#commitSoon = commitSoon
  }

  start(): void {
    this.stop()
    this.#cancel = this.#world.after(everyMs, () => {
      void this.#look().then(() => {
        if (this.#cancel) this.start()
      })
    })
  }

  stop(): void {
    this.#cancel?.()
    this.#cancel = undefined
  }

  async #look(): Promise<void> {
    if (this.#isLooking || this.#journal.isTrimming) return
    this.#isLooking = true
    try {
      for (const stream of [...this.#journal.streams()]) await this.#trim(stream)
    } catch {
      // The handle was closed under us, or failed: whoever wrote to it says so. We look again in a second.
    } finally {
      this.#isLooking = false
    }
  }

  async #trim(stream: TenantStream): Promise<void> {
    const bytesOver = stream.bytes - this.#limits.bytesMax
    const oldest = this.#world.now() - this.#limits.ageMsMax
    const scan = this.#journal.storage.scan({
      after: keys.chunk(stream.tenant, stream.retainedFrom - 1),
      before: keys.chunk(stream.tenant, Math.min(stream.redoFrom, stream.last + 1)),
      hasValues: true,
    })
    const doomed: string[] = []
    let retainedFrom = stream.retainedFrom
    let bytesStart = stream.bytesStart
    try {
      for (const { key, value } of await scan.next(chunksAtATime)) {
        const head = headOf(value)
        const next = numberOf(key) + head.count
        const isOver = head.bytesBefore < stream.bytesStart + bytesOver || head.time < oldest
        if (!isOver || next > stream.redoFrom) break
        doomed.push(key)
        retainedFrom = next
        bytesStart = head.bytesBefore + value.length
      }
    } finally {
      await scan.close()
    }
    if (doomed.length === 0) return
    this.#journal.trim(stream, doomed, retainedFrom, bytesStart)
    this.#commitSoon(stream.tenant)
  }
}
