import { Problem } from '#model/problem'
import { type Scan, StorageFailure } from '#runtime/storage'
import type { World } from '#runtime/world'
import { type BackupSources, type BackupTurns, writeBackup } from '#store/backup/backup-writer'
import type { HistoryCopy } from '#store/backup/database-copy'
import { BackupError } from '#store/backup/format'
import { refuseWhileClosed } from '#store/store-listing'

/** During a backup, the store also keeps overwritten data, so a backup that never ends would fill the disk. */
export const backupMsMax = 3_600_000

export interface BackupsParts {
  readonly world: World
  /** @throws StorageFailure */
  snapshot(): Scan
  readonly images: BackupSources['images']
  keyFile(): Promise<Uint8Array | undefined>
  /** Keeps every image that the store names now, until the returned function is called. */
  keepImages(): () => void
  /** @throws BackupError, StorageFailure */
  copyHistory(): Promise<HistoryCopy | undefined>
  readonly log: BackupsLog
}

export interface BackupRequest {
  /** The user that asked for it, for the log. */
  readonly user: string
  readonly hasHistory: boolean
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
   * The caller must iterate to the end, or call `return`.
   * @throws Problem `conflict` while another backup is made; `storage` while the store is being reopened, if history
   * can't be copied, or if an image can't be read; `overloaded` after `backupMsMax`; StorageFailure if a row can't be
   * read; errors of `keyFile`, of the file system and of `turns`
   */
  async *make({ user, hasHistory }: BackupRequest, turns: BackupTurns): AsyncGenerator<Uint8Array> {
    const { world, images, keyFile, log } = this.#parts
    if (this.#isUnderWay) throw new Problem('conflict', 'another backup is under way')
    this.#isUnderWay = true
    // Before the snapshot, so that the images that it names are kept until the backup has read them.
    const releaseImages = this.#parts.keepImages()
    let bytes = 0
    let isDone = false
    let history: HistoryCopy | undefined
    try {
      // Copied before the snapshot, so that the stream in the snapshot contains all points that this copy lacks.
      if (hasHistory) history = await this.#parts.copyHistory().catch(refuseWithoutCopy)
      const sources = { rows: this.#snapshot(), images, keyFile, now: world.now() }
      log.begun(user)
      for await (const block of writeBackup(
        { ...sources, ...(history && { history: history.folder }) },
        withTimeLimit(turns, world),
      )) {
        yield block
        bytes += block.byteLength
        // A stopped backup gets no end mark.
        if (this.#isStopped) return
      }
      isDone = true
    } finally {
      this.#ended(user, bytes, isDone)
      releaseImages()
      this.#isUnderWay = false
      await history?.remove()
    }
  }

  /** Cuts off the running backup and every later one. Without an end mark, no reader accepts a backup as whole. */
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

/** @throws Problem `storage`; any other error unchanged */
function refuseWithoutCopy(error: unknown): never {
  if (!(error instanceof BackupError || error instanceof StorageFailure)) throw error
  throw new Problem('storage', `the history cannot be copied: ${error.message}. A backup without it is possible`)
}

/** Fails when the backup takes too long. */
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
