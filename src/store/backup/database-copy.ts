import { constants, copyFile, link, mkdir, mkdtemp, readdir, readFile, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { BackupError } from '#store/backup/format'
import { failureFrom } from '#store/failure'
import { isMissing, sizeOfFiles, statOf } from '#store/file-system'
import { freeBytes } from '#store/headroom'
import { draftPattern } from '#store/level-files/manifest'

/** The limit of attempts to copy a database that another process writes to all the time. */
const triesMax = 10

/**
 * Copies a LevelDB folder, which another process may be writing to, and calls `use` with the folder that holds the copy
 * as `db`.
 *
 * LevelDB appends each addition and removal of a table to the manifest. So a copy is consistent if the manifest is the
 * same before and after the copying: the copy has all tables that the manifest names, and the log up to some moment.
 * Opening the copy drops a record that was being written at that moment. The files are copied, not linked: a process
 * that opens the copy may overwrite a table that it does not know, and through a link it would overwrite the original.
 * Where the file system supports it, blocks are shared until they change. `LOCK` is not copied: a process that closes
 * any descriptor of its lock file loses the lock.
 *
 * @throws BackupError, StorageFailure; errors of `use`
 */
export async function withCopyOf<Value>(
  database: string,
  temporary: string,
  use: (folder: string) => Promise<Value>,
): Promise<Value> {
  let folder: string
  try {
    folder = await mkdtemp(join(temporary, 'device-data-inspect-'))
  } catch (error) {
    throw failureFrom(error, temporary)
  }
  try {
    await requireSpace(database, temporary)
    await makeConsistent(database, join(folder, 'db'), copyBlocks)
    return await use(folder)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

type CopyOfFile = (source: string, target: string) => Promise<void>

const copyBlocks: CopyOfFile = (source, target) => copyFile(source, target, constants.COPYFILE_FICLONE)

/**
 * For a copy that is only read. Tables never change, so they are linked if the file system has links, and only the other
 * files are copied. This takes little time and space.
 */
const linkTables: CopyOfFile = async (source, target) => {
  if (!source.endsWith('.ldb')) return copyBlocks(source, target)
  await link(source, target).catch((error) => {
    if (isMissing(error)) throw error
    // Not every file system has links.
    return copyBlocks(source, target)
  })
}

async function makeConsistent(from: string, to: string, copy: CopyOfFile): Promise<void> {
  for (let tries = 0; tries < triesMax; tries++) {
    await rm(to, { recursive: true, force: true })
    await mkdir(to, { mode: 0o700 })
    if (await tryCopy(from, to, copy)) return
  }
  throw new BackupError(
    `${from} could not be copied: its files changed or were missing in ${triesMax} attempts; try again when the server has less to do`,
  )
}

/** False if tables were added or removed during the copy. */
async function tryCopy(from: string, to: string, copy: CopyOfFile): Promise<boolean> {
  try {
    const before = await manifestOf(from)
    for (const name of await readdir(from)) {
      if (name !== 'LOCK' && !draftPattern.test(name)) await copy(join(from, name), join(to, name))
    }
    const after = await manifestOf(from)
    return before.name === after.name && before.size === after.size
  } catch (error) {
    // LevelDB deleted a file meanwhile, for example a table after a compaction.
    if (isMissing(error)) return false
    throw failureFrom(error, from)
  }
}

async function manifestOf(database: string): Promise<{ readonly name: string; readonly size: number }> {
  const name = (await readFile(join(database, 'CURRENT'), 'latin1')).trim()
  return { name, size: (await stat(join(database, name))).size }
}

async function requireSpace(from: string, temporary: string): Promise<void> {
  try {
    const bytes = await sizeOfFiles(from)
    if ((await freeBytes(temporary)) > bytes) return
    throw new BackupError(
      `${temporary} has no room for a copy of ${from} (${Math.ceil(bytes / 1e6)} MB): set TMPDIR to a folder with enough room`,
    )
  } catch (error) {
    throw error instanceof BackupError ? error : failureFrom(error, from)
  }
}

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
    await makeConsistent(database, folder, linkTables)
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
