import {
  constants,
  copyFile,
  link,
  mkdir,
  open,
  readdir,
  readFile,
  rename,
  rm,
  rmdir,
  writeFile,
} from 'node:fs/promises'
import { join } from 'node:path'
import { Level } from 'level'
import { BackupError } from '#store/backup/format'
import { StagedRows } from '#store/backup/restore'
import { failureFrom } from '#store/failure'
import { syncFolder } from '#store/file-system'
import { keysBelow } from '#store/key-space'
import { damagedPrefix, levelPlace, repairingFolder } from '#store/level'
import { InvalidBytes } from '#store/level-files/byte-cursor'
import {
  checkDatabase,
  checkLogs,
  missingFiles,
  readManifest,
  tableFileIn,
  tablePattern,
} from '#store/level-files/database-check'
import { filesIn, isDatabaseMissing, missingDatabaseText } from '#store/level-files/folder'
import { damagedBlocks, invalidateBlock } from '#store/level-files/table-file'
import { type RebuildResult, RebuiltRows } from '#store/repair/rebuilt-rows'

export interface RepairResult extends RebuildResult {
  /** Each is a sentence. Empty: no damage was found. */
  readonly damage: readonly string[]
  /** The folder of the damaged database, in the data folder. Undefined: the repair changed nothing. */
  readonly keptIn: string | undefined
}

export interface RepairOptions {
  readonly folder: string
  /** For the name of the folder that keeps the damaged database. */
  readonly name: string
  /** Repairs even if no damage was found. */
  readonly isForced: boolean
}

/**
 * Makes a new database from a copy of the damaged one, and keeps the damaged one.
 *
 * - No byte of the damaged database changes. It gets another name once the new one is written and synced.
 * - Until then the folder holds `repairing`, and no server opens it. A server that has it open has its lock: then the
 *   repair fails.
 * - A new epoch: no client resumes from an earlier position, and no offset or device address is assigned twice.
 * - Every row is as it was once written. It may be an earlier version of itself, or one that was deleted.
 *
 * @throws BackupError, StorageFailure
 */
export async function repairFolder({ folder, name, isForced }: RepairOptions): Promise<RepairResult> {
  const staging = join(folder, repairingFolder)
  try {
    const names = await readdir(folder)
    // The last repair was interrupted between its two last steps.
    if (names.includes(repairingFolder) && !names.includes('db')) await takePlace(folder, staging)
    else if (names.includes(repairingFolder)) await rm(staging, { recursive: true, force: true })
    else if (!names.includes('db')) throw new BackupError(`${folder} holds no database: set DATA_DIR`)
    const database = join(folder, 'db')
    if (await isDatabaseMissing(folder, false))
      throw new BackupError(`${missingDatabaseText(folder)}; there is nothing to repair`)
    const { damage } = await checkDatabase(database, 'whole')
    if (damage.length === 0 && !isForced) return { damage, rows: 0, leftOut: [], missing: [], keptIn: undefined }
    await mkdir(join(staging, 'db'), { recursive: true, mode: 0o700 })
    const rebuilt = await rebuild(database, staging).catch(async (error) => {
      await rm(staging, { recursive: true, force: true })
      throw error
    })
    const keptIn = `${damagedPrefix}${name}`
    await rename(database, join(folder, keptIn))
    await takePlace(folder, staging)
    return { damage, ...rebuilt, keptIn }
  } catch (error) {
    if (error instanceof BackupError) throw error
    throw failureFrom(error, folder)
  }
}

async function rebuild(database: string, staging: string): Promise<RebuildResult> {
  // A lock belongs to a file and not to its name: opening the new database fails while a server has the damaged one.
  if ((await filesIn(database)).names.includes('LOCK')) await link(join(database, 'LOCK'), join(staging, 'db', 'LOCK'))
  const storage = await levelPlace({ folder: staging, headroomBytes: 0 }).open()
  try {
    const copy = join(staging, 'copy')
    await mkdir(copy, { mode: 0o700 })
    await copyWhole(database, copy)
    // Missing in its types.
    await (Level as unknown as { repair(location: string): Promise<void> }).repair(copy)
    const rebuilt = await copyRows(copy, new StagedRows(storage))
    await rm(copy, { recursive: true })
    return rebuilt
  } finally {
    await storage.close()
  }
}

/**
 * Copies only files that LevelDB's repair may read. The repair reads all files there are, so it would restore deleted
 * rows; it ignores checksums; and it continues after a fault in a log, though later writes may depend on the missing
 * ones.
 */
async function copyWhole(from: string, to: string): Promise<void> {
  const { names } = await filesIn(from)
  const found = names.includes('CURRENT') ? await readManifest(from, names) : ''
  const manifest = typeof found === 'string' || missingFiles(names, found).length > 0 ? undefined : found
  const tables = manifest
    ? manifest.tables.flatMap(({ number }) => tableFileIn(names, number) ?? [])
    : names.filter((name) => tablePattern.test(name))
  for (const name of tables) {
    await copyFile(join(from, name), join(to, name), constants.COPYFILE_FICLONE)
    if (!(await isReadable(join(to, name)))) await rm(join(to, name))
  }
  for (const [name, bytes] of (await checkLogs(from, names, manifest)).wholeBytes)
    await writeFile(join(to, name), (await readFile(join(from, name))).subarray(0, bytes))
}

async function isReadable(table: string): Promise<boolean> {
  const file = await open(table, 'r+')
  try {
    for (const block of await damagedBlocks(file, 'whole')) await invalidateBlock(file, block)
    return true
  } catch (error) {
    if (error instanceof InvalidBytes) return false
    throw error
  } finally {
    await file.close()
  }
}

/**
 * Copies row by row into another database. `get` can't be used on a repaired one: it takes the file with the highest
 * number, which may hold an older row than others. A scan compares sequence numbers.
 */
async function copyRows(copy: string, rows: StagedRows): Promise<RebuildResult> {
  const repaired = new Level<string, Uint8Array>(copy, { valueEncoding: 'view', createIfMissing: false })
  await repaired.open()
  try {
    const rebuilt = new RebuiltRows()
    const shapes = keysBelow('shape')
    for await (const [key, value] of repaired.iterator({ gt: shapes.after, lt: shapes.before }))
      rebuilt.addShape({ key, value })
    for await (const [key, value] of repaired.iterator()) if (rebuilt.isKept({ key, value })) await rows.put(key, value)
    const { added, ...found } = rebuilt.end()
    for (const { key, value } of added) await rows.put(key, value)
    await rows.end()
    return found
  } finally {
    await repaired.close()
  }
}

/** The staged database gets its name. */
async function takePlace(folder: string, staging: string): Promise<void> {
  await syncFolder(join(staging, 'db'))
  await rename(join(staging, 'db'), join(folder, 'db'))
  await syncFolder(folder)
  await rmdir(staging)
  await syncFolder(folder)
}
