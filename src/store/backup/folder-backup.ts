import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { type BackupTurns, writeBackup } from '#store/backup/backup-writer'
import { historyDatabase, withCopyOf } from '#store/backup/database-copy'
import { BackupError, databaseFile, historyPrefix, imageFolder } from '#store/backup/format'
import { Inspection, type InspectionResult } from '#store/backup/inspection'
import { readBackup } from '#store/backup/records'
import { FileBlobs } from '#store/blobs'
import { failureFrom } from '#store/failure'
import { isMissing } from '#store/file-system'
import { readKeyFile } from '#store/key-file'
import { everyKey } from '#store/key-space'
import { interruptedRestoreText, levelStorage, restoringFolder } from '#store/level'
import { pagesOf } from '#store/pages'

/**
 * Makes a backup of a data folder that no server uses.
 * @throws BackupError, KeyFileDamaged; StorageFailure, `locked` if a server uses the folder; Problem `storage` if an
 * image can't be read; errors of the file system and of `turns`
 */
export async function* backupFolder(
  folder: string,
  { now, hasHistory }: { readonly now: number; readonly hasHistory: boolean },
  turns: BackupTurns,
): AsyncGenerator<Uint8Array> {
  await requireDatabase(folder)
  const storage = await levelStorage({ folder, headroomBytes: 0 }).open()
  try {
    const rows = storage.scan({ ...everyKey, hasValues: true })
    const images = imagesIn(folder, now)
    // No server writes to the history, so it can be read without a copy.
    const history = hasHistory ? await historyDatabase(folder) : undefined
    const sources = { rows, images, keyFile: () => readKeyFile(folder), now, ...(history !== undefined && { history }) }
    yield* writeBackup(sources, turns)
  } finally {
    await storage.close()
  }
}

/**
 * Inspects a data folder, whether a server uses it or not. It changes nothing in the folder: LevelDB writes into every
 * folder that it opens, so a copy in `temporary` is opened, and deleted afterwards.
 * @throws BackupError, StorageFailure
 */
export async function inspectFolder(folder: string, temporary: string): Promise<InspectionResult> {
  await requireDatabase(folder)
  const inspection = new Inspection()
  const images = imagesIn(folder, 0)
  for (const sha256 of await images.names()) {
    const size = await images.sizeOf(sha256)
    if (size !== undefined) inspection.file(`${imageFolder}/${sha256}`, size)
  }
  const history = await historyDatabase(folder)
  if (history !== undefined) {
    for (const name of (await readdir(history)).filter((each) => databaseFile.test(each))) {
      const found = await stat(join(history, name)).catch(() => undefined)
      if (found) inspection.file(historyPrefix + name, found.size)
    }
  }
  const keyFile = await readKeyFile(folder).catch(() => undefined)
  if (keyFile) inspection.file('identity.key', keyFile.byteLength)
  await withCopyOf(join(folder, 'db'), temporary, async (copy) => {
    const storage = await levelStorage({ folder: copy, headroomBytes: 0 }).open()
    try {
      for await (const page of pagesOf(storage, { ...everyKey, hasValues: true }))
        for (const { key, value } of page) inspection.row(key, value)
    } finally {
      await storage.close()
    }
  })
  return inspection.found
}

/** Reads a backup to its end and inspects it. @throws BackupError, StorageFailure; errors of the source */
export async function inspectBackup(
  bytes: AsyncIterable<Uint8Array>,
): Promise<InspectionResult & { readonly createdAt: number }> {
  const inspection = new Inspection()
  let createdAt = 0
  for await (const item of readBackup(bytes)) {
    if (item.kind === 'head') createdAt = item.head.createdAt
    else if (item.kind === 'row') inspection.row(item.key, item.value)
    else if (item.kind === 'file') inspection.file(item.name, item.size)
  }
  return { createdAt, ...inspection.found }
}

function imagesIn(folder: string, now: number) {
  return new FileBlobs({ folder, bytesMax: 0, headroomBytes: 0, now: () => now })
}

/** LevelDB would create a missing database. */
async function requireDatabase(folder: string): Promise<void> {
  let names: string[]
  try {
    names = await readdir(folder)
  } catch (error) {
    if (isMissing(error)) throw new BackupError(`${folder} is not there: set DATA_DIR`)
    throw failureFrom(error, folder)
  }
  if (names.includes(restoringFolder)) throw new BackupError(interruptedRestoreText(folder))
  if (!names.includes('db')) throw new BackupError(`${folder} holds no database: set DATA_DIR`)
}
