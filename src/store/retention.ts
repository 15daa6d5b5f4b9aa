import { partitionPoint } from '#model/partition-point'
import { StorageFailure } from '#runtime/storage'
import type { World } from '#runtime/world'
import { type ChunkHead, chunkEntriesMax, headOf } from '#store/chunk'
import { keys, numberOf } from '#store/key-space'
import type { StoreJournal } from '#store/store-journal'
import type { TenantStream } from '#store/tenant-stream'

export interface RetentionLimits {
  /** The limit for the stream of each tenant. */
  readonly bytesMax: number
  readonly ageMsMax: number
}

interface RetentionParts {
  readonly world: World
  readonly journal: StoreJournal
  readonly limits: RetentionLimits
  readonly commitSoon: (tenant: string) => void
  readonly neededFrom: (tenant: string) => number
}

const everyMs = 1_000
/** The next check follows after this time while there is more to delete. */
const againMs = 20
/** The limit of chunks of one stream that one commit deletes, so that no commit grows too large. */
const chunksAtATime = 1_024

/**
 * Deletes the beginning of streams that are too big or too old, but never entries that a restarted server must apply
 * again. The chunks are deleted in an ordinary commit; `commitSoon` makes sure there is one. Entries from `neededFrom`
 * on, which a projection still has to read, stay until the stream is twice as big as it may be.
 */
export class Retention {
  readonly #parts: RetentionParts
  #cancel: (() => void) | undefined

  constructor(parts: RetentionParts) {
    this.#parts = parts
  }

  start(): void {
    this.#checkAfter(everyMs)
  }

  stop(): void {
    this.#cancel?.()
    this.#cancel = undefined
  }

  #checkAfter(delayMs: number): void {
    this.stop()
    this.#cancel = this.#parts.world.after(delayMs, () => {
      void this.#check().then((isMore) => {
        if (this.#cancel) this.#checkAfter(isMore ? againMs : everyMs)
      })
    })
  }

  /** Resolves to true when there may be more to delete. */
  async #check(): Promise<boolean> {
    if (this.#parts.journal.isTrimming) return true
    let isMore = false
    try {
      for (const stream of [...this.#parts.journal.streams()]) if (await this.#trim(stream)) isMore = true
    } catch {
      // Most likely the handle was closed or failed during the check, which the code that wrote to it reports. The next
      // check tries again.
    }
    return isMore
  }

  async #trim(stream: TenantStream): Promise<boolean> {
    const bytesFrom = stream.bytesEnd - this.#parts.limits.bytesMax
    const timeFrom = this.#parts.world.now() - this.#parts.limits.ageMsMax
    const neededFrom = this.#parts.neededFrom(stream.tenant)
    const isOver = (key: string) => {
      const { bytesBefore, time } = this.#headOf(key)
      // A chunk stays if it may hold the first entry that is needed.
      if (numberOf(key) + chunkEntriesMax <= neededFrom) return bytesBefore < bytesFrom || time < timeFrom
      return bytesBefore < bytesFrom - this.#parts.limits.bytesMax
    }
    const scan = this.#parts.journal.storage.scan({
      after: keys.chunk(stream.tenant, stream.storedFrom - 1),
      // The chunk that holds redoFrom stays, and so does the last one.
      before: keys.chunk(stream.tenant, Math.min(stream.redoFrom, stream.last) + 1),
      hasValues: false,
    })
    const found: string[] = []
    try {
      while (found.length < chunksAtATime) {
        const page = await scan.next(chunksAtATime - found.length)
        for (const { key } of page) found.push(key)
        const last = page.at(-1)
        if (!last || !isOver(last.key)) break
      }
    } finally {
      await scan.close()
    }
    // The last of these chunks stays, so that the stream can begin with it.
    const count = partitionPoint(found.length - 1, (index) => isOver(found[index] as string))
    const first = found[count]
    if (count === 0 || first === undefined) return false
    this.#parts.journal.trim(stream, found.slice(0, count), numberOf(first), this.#headOf(first).bytesBefore)
    this.#parts.commitSoon(stream.tenant)
    return found.length >= chunksAtATime
  }

  #headOf(key: string): ChunkHead {
    const bytes = this.#parts.journal.storage.get(key)
    if (!bytes) throw new StorageFailure('damaged', 'a chunk of the stream is missing')
    return headOf(bytes)
  }
}
