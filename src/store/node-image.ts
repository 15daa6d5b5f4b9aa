import { readdir, rename, rm, rmdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { BlobStore } from '#runtime/blobs'
import { Slices } from '#runtime/slices'
import type { Scan } from '#runtime/storage'
import type { World } from '#runtime/world'
import { writeBackup } from '#store/backup/backup-writer'
import { copyHistory, removeHistoryCopies } from '#store/backup/database-copy'
import { restoreBackup } from '#store/backup/restore'
import { statOf, syncFolder } from '#store/file-system'

/**
 * The image of a node: a backup of its store, of its firmware images and of the database of its history, without
 * `identity.key`. A new node starts with it, and reads the log from the image's position on. Contract 11, Joining.
 */

/** The image while it is received, and the whole image while it is moved into its place. */
const receivingFolder = 'joining'
const receivedFolder = 'joined'

export interface ImageSources {
  readonly world: World
  readonly folder: string
  /** All rows, at the moment of the call. @throws StorageFailure */
  snapshot(): Scan
  readonly images: Pick<BlobStore, 'names' | 'sizeOf' | 'read'>
}

/** @throws BackupError, StorageFailure; Problem if a firmware image can't be read; errors of the file system */
export async function* makeImage({ world, folder, snapshot, images }: ImageSources): AsyncGenerator<Uint8Array> {
  const history = await copyHistory(folder)
  try {
    const sources = { rows: snapshot(), images, keyFile: async () => undefined, now: world.now() }
    yield* writeBackup({ ...sources, ...(history && { history: history.folder }) }, new Slices(world))
  } finally {
    await history?.remove()
  }
}

/** Replaces the data in the folder by an image. Until the whole image is received, the folder stays as it is. */
export async function receiveImage(folder: string, bytes: AsyncIterable<Uint8Array>): Promise<void> {
  const receiving = join(folder, receivingFolder)
  await rm(receiving, { recursive: true, force: true })
  try {
    await restoreBackup(bytes, receiving)
    await rename(receiving, join(folder, receivedFolder))
  } finally {
    await rm(receiving, { recursive: true, force: true })
  }
  await syncFolder(folder)
  await install(folder)
}

/**
 * Cleans up after a process that died: removes copies of the history, and moves a completely received image into its
 * place.
 */
export async function finishImages(folder: string): Promise<void> {
  await removeHistoryCopies(folder)
  await install(folder)
}

async function install(folder: string): Promise<void> {
  const received = join(folder, receivedFolder)
  if (!(await statOf(received))) return
  // Each step can be repeated, because a crash may interrupt it.
  for (const name of await readdir(received)) {
    await rm(join(folder, name), { recursive: true, force: true })
    await rename(join(received, name), join(folder, name))
  }
  await syncFolder(folder)
  await rmdir(received)
}
