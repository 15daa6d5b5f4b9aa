import { Problem } from '#model/problem'
import type { Scan } from '#runtime/storage'
import type { World } from '#runtime/world'
import { type BackupSources, type BackupTurns, writeBackup } from '#store/backup/write'
import { refuseWhileClosed } from '#store/store-listing'

/** As long as one is made the store keeps all that is overwritten meanwhile: the disk must not fill for want of an end. */
export const backupMsMax = 3_600_000

export interface BackupsParts {
  readonly world: World
  /** @throws StorageFailure */
  snapshot(): Scan
  readonly images: BackupSources['images']
  keyFile(): Promise<Uint8Array | undefined>
  /** Keeps every image that the store names now until the answer is called. */
  keepImages(): () => void
  readonly log: BackupsLog
}

interface BackupsLog {
  begun(user: string): void
  done(user: string, bytes: number): void
  brokenOff(user: string, bytes: number): void
}

/**
 * Backups of a store that goes on meanwhile: one at a time, each of one moment, and none for longer than an hour.
 */
export class Backups {
  readonly #parts: BackupsParts
  readonly counts = { done: 0, broken_off: 0 }
  /** When this process made the last whole one, Unix ms; undefined: none yet. */
  lastDoneAt: number | undefined
  #isUnderWay = false
  #isStopped = false

  constructor(parts: BackupsParts) {
    this.#parts = parts
  }

  /**
   * To be iterated to its end, or returned. `user`: who asked for it, for the log.
   * @throws Problem `conflict` while another one is made, `storage` while the store is opened anew; StorageFailure for what
   * can't be read; what `turns` throws
   */
  async *make(user: string, turns: BackupTurns): AsyncGenerator<Uint8Array> {
    const { world, images, keyFile, log } = this.#parts
    if (this.#isUnderWay) throw new Problem('conflict', 'another backup is under way')
    this.#isUnderWay = true
    // Before the snapshot: whatever is taken away behind it is kept.
    const letGo = this.#parts.keepImages()
    let bytes = 0
    let isDone = false
    try {
      const sources = { rows: this.#snapshot(), images, keyFile, now: world.now() }
      log.begun(user)
      for await (const block of writeBackup(sources, limited(turns, world))) {
        yield block
        bytes += block.byteLength
        // Without its end mark.
        if (this.#isStopped) return
      }
      isDone = true
    } finally {
      this.#ended(user, bytes, isDone)
      letGo()
      this.#isUnderWay = false
    }
  }

  /** The one under way ends where it is: whoever takes it will not take it for whole. */
  stop(): void {
    this.#isStopped = true
  }

  #ended(user: string, bytes: number, isDone: boolean): void {
    const { world, log } = this.#parts
    this.counts[isDone ? 'done' : 'broken_off']++
    if (isDone) this.lastDoneAt = world.now()
    if (isDone) log.done(user, bytes)
    else log.brokenOff(user, bytes)
  }

  #snapshot(): Scan {
    try {
      const scan = this.#parts.snapshot()
      return { next: (countMax) => scan.next(countMax).catch(refuseWhileClosed), close: () => scan.close() }
    } catch (error) {
      return refuseWhileClosed(error)
    }
  }
}

/** What asks for more turns than there is time for is broken off. */
function limited(turns: BackupTurns, world: World): BackupTurns {
  const end = world.monotonic() + backupMsMax
  return {
    get isOver() {
      return turns.isOver
    },
    async next() {
      await turns.next()
      if (world.monotonic() > end) throw new Problem('overloaded', 'the backup took longer than an hour')
    },
  }
}
