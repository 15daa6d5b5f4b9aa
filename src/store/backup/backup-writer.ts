import { createReadStream } from 'node:fs'
import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { BlobStore } from '#runtime/blobs'
import type { Row, Scan } from '#runtime/storage'
import { databaseFile, historyPrefix, imageFolder, keyFileName } from '#store/backup/format'
import { BlockWriter, RecordWriter } from '#store/backup/records'
import { keySpace } from '#store/key-space'
import { pagesOfScan } from '#store/pages'

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
