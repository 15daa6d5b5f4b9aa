import { Problem } from '#model/problem'
import type { Scan } from '#runtime/storage'
import type { World } from '#runtime/world'
import { type BackupSources, type BackupTurns, writeBackup } from '#store/backup/backup-writer'
import { refuseWhileClosed } from '#store/store-listing'

/** During a backup the store keeps all data that is overwritten, so a backup that never ends would fill the disk. */
export const backupMsMax = 3_600_000

export interface BackupsParts {
  readonly world: World
  /** @throws StorageFailure */
  snapshot(): Scan
  readonly images: BackupSources['images']
  keyFile(): Promise<Uint8Array | undefined>
  /** Keeps every image that the store names now, until the returned function is called. */
  keepImages(): () => void
  readonly log: BackupsLog
}

interface BackupsLog {
  begun(user: string): void
  done(user: string, bytes: number): void
  aborted(user: string, bytes: number): void
}

/**
 * Makes backups while the store stays in use: one at a time, each a snapshot of one moment, and none longer than an
 * hour.
 */
export class Backups {
  readonly #parts: BackupsParts
  readonly counts = { done: 0, broken_off: 0 }
  /** The time at which this process made its last whole backup, Unix ms; undefined: none yet. */
  lastDoneAt: number | undefined
  #isUnderWay = false
  #isStopped = false

  constructor(parts: BackupsParts) {
    this.#parts = parts
  }

  /**
   * The caller must iterate to the end, or call `return`. `user` requested the backup; the name goes to the log.
   * @throws Problem `conflict` while another backup is made, `storage` while the store is being reopened;
   * StorageFailure if a row or file can't be read; errors of `turns`
   */
  async *make(user: string, turns: BackupTurns): AsyncGenerator<Uint8Array> {
    const { world, images, keyFile, log } = this.#parts
    if (this.#isUnderWay) throw new Problem('conflict', 'another backup is under way')
    this.#isUnderWay = true
    // Before the snapshot, so that images deleted after it are kept.
    const releaseImages = this.#parts.keepImages()
    let bytes = 0
    let isDone = false
    try {
      const sources = { rows: this.#snapshot(), images, keyFile, now: world.now() }
      log.begun(user)
      for await (const block of writeBackup(sources, withTimeLimit(turns, world))) {
        yield block
        bytes += block.byteLength
        // Then the backup has no end mark.
        if (this.#isStopped) return
      }
      isDone = true
    } finally {
      this.#ended(user, bytes, isDone)
      releaseImages()
      this.#isUnderWay = false
    }
  }

  /** Cuts off the running backup. It has no end mark, so no reader accepts it as whole. */
  stop(): void {
    this.#isStopped = true
  }

  #ended(user: string, bytes: number, isDone: boolean): void {
    const { world, log } = this.#parts
    this.counts[isDone ? 'done' : 'broken_off']++
    if (isDone) this.lastDoneAt = world.now()
    if (isDone) log.done(user, bytes)
    else log.aborted(user, bytes)
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

/** Fails when the backup takes longer than the limit. */
function withTimeLimit(turns: BackupTurns, world: World): BackupTurns {
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
