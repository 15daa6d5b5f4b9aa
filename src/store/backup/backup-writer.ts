import { createReadStream } from 'node:fs'
import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { Problem } from '#model/problem'
import type { BlobStore } from '#runtime/blobs'
import { type Row, type Scan, StorageFailure } from '#runtime/storage'
import type { World } from '#runtime/world'
import type { HistoryCopy } from '#store/backup/database-copy'
import { BackupError, databaseFile, historyPrefix, imageFolder, keyFileName } from '#store/backup/format'
import { BlockWriter, RecordWriter } from '#store/backup/records'
import { keySpace } from '#store/key-space'
import { pagesOfScan } from '#store/pages'
import { refusingScan } from '#store/store-listing'

/** The data that a backup contains. */
export interface BackupSources {
  /** All rows at one moment. The scan is closed after the backup, also after a failure. */
  readonly rows: Scan
  /** Images. All images that the rows name must stay until the backup is complete. */
  readonly images: Pick<BlobStore, 'names' | 'sizeOf' | 'read'>
  /** The content of the key file; undefined if there is none. */
  keyFile(): Promise<Uint8Array | undefined>
  /** The folder of the history's database, or of a copy of it; absent for a backup without history. */
  readonly history?: string
  /** Unix ms. */
  readonly now: number
}

/** Interrupts the work, so that the event loop can do other work. */
export interface BackupTurns {
  /** True when other work should run. */
  readonly isOver: boolean
  /** Waits while other work runs. @throws if the backup must stop */
  next(): Promise<void>
}

/**
 * Writes a backup block by block. At most two pages of rows and a piece of a file are in memory; the next page is read
 * while the previous one is written. Other work runs when `turns.isOver`, and before each page and each piece of a
 * file.
 */
export async function* writeBackup(sources: BackupSources, turns: BackupTurns): AsyncGenerator<Uint8Array> {
  const { rows, now } = sources
  try {
    const blocks = new BlockWriter()
    const records = new RecordWriter(blocks)
    await turns.next()
    yield blocks.start()
    yield* records.putHead({ createdAt: now, keySpace: keySpace.version })
    for await (const page of pagesOfScan(rows)) {
      await turns.next()
      yield* inTurns(rowBlocks(records, page), turns)
    }
    yield* files(sources, records, turns)
    yield* records.putEnd()
  } finally {
    await rows.close()
  }
}

function* rowBlocks(records: RecordWriter, page: readonly Row[]): Generator<Uint8Array | undefined> {
  for (const { key, value } of page) {
    yield* records.putRow(key, value)
    yield undefined
  }
}

async function* files(
  { images, keyFile, history }: BackupSources,
  records: RecordWriter,
  turns: BackupTurns,
): AsyncGenerator<Uint8Array> {
  if (history !== undefined) yield* databaseFiles(history, records, turns)
  const key = await keyFile()
  if (key) {
    yield* records.putFile(keyFileName, key.byteLength)
    yield* records.putPiece(key)
  }
  for (const sha256 of await images.names()) {
    const size = await images.sizeOf(sha256)
    // Deleted since the listing, so no row names it.
    if (size === undefined) continue
    yield* records.putFile(`${imageFolder}/${sha256}`, size)
    for await (const piece of images.read(sha256, 0, size)) {
      await turns.next()
      yield* inTurns(records.putPiece(piece), turns)
    }
  }
}

async function* databaseFiles(folder: string, records: RecordWriter, turns: BackupTurns): AsyncGenerator<Uint8Array> {
  for (const name of (await readdir(folder)).filter((each) => databaseFile.test(each)).sort()) {
    const path = join(folder, name)
    yield* records.putFile(historyPrefix + name, (await stat(path)).size)
    for await (const piece of createReadStream(path)) {
      await turns.next()
      yield* inTurns(records.putPiece(piece), turns)
    }
  }
}

async function* inTurns(blocks: Iterable<Uint8Array | undefined>, turns: BackupTurns): AsyncGenerator<Uint8Array> {
  for (const block of blocks) {
    if (block) yield block
    if (turns.isOver) await turns.next()
  }
}

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
      const sources = { rows: refusingScan(() => this.#parts.snapshot()), images, keyFile, now: world.now() }
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
