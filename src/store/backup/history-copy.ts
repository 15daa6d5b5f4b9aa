import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { linkDatabase } from '#store/backup/database-copy'
import { BackupError } from '#store/backup/format'
import { failureFrom } from '#store/failure'
import { isMissing, statOf } from '#store/file-system'

/** The folder of the history, in the data folder. */
export const historyFolder = 'history'

/** Prefix of the name of a folder that holds a copy of the history while it is sent. */
const copyPrefix = '.copy-'

export interface HistoryCopy {
  /** The folder of the database. */
  readonly folder: string
  remove(): Promise<void>
}

/**
 * Copies the history's database as it is on the disk, while history stays in use. Undefined if there is no database.
 * The store must be copied after the history: history that is behind the store reads the rest from the stream.
 *
 * @throws BackupError, StorageFailure
 */
export async function copyHistory(dataFolder: string): Promise<HistoryCopy | undefined> {
  const database = await historyDatabase(dataFolder)
  if (database === undefined) return undefined
  const temporary = await mkdtemp(join(dataFolder, copyPrefix)).catch((error) => {
    throw failureFrom(error, dataFolder)
  })
  const remove = () => rm(temporary, { recursive: true, force: true })
  try {
    const folder = join(temporary, 'db')
    await linkDatabase(database, folder)
    return { folder, remove }
  } catch (error) {
    await remove()
    throw error instanceof BackupError ? error : failureFrom(error, dataFolder)
  }
}

/** The folder of the history's database; undefined if there is none. */
export async function historyDatabase(dataFolder: string): Promise<string | undefined> {
  const database = join(dataFolder, historyFolder, 'db')
  const found = await statOf(database).catch((error) => {
    throw failureFrom(error, dataFolder)
  })
  return found && database
}

/** Removes the copies of a process that died. */
export async function removeHistoryCopies(dataFolder: string): Promise<void> {
  const names = await readdir(dataFolder).catch((error) => {
    if (isMissing(error)) return []
    throw error
  })
  for (const name of names.filter((each) => each.startsWith(copyPrefix))) {
    await rm(join(dataFolder, name), { recursive: true, force: true })
  }
}
