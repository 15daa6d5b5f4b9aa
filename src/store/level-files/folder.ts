import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { imageFolder, keyFileName } from '#store/backup/format'
import { isMissing, statOf } from '#store/file-system'

/** The files in the folder of a database. */
export interface FolderFiles {
  /** Names of the files. */
  readonly names: readonly string[]
  /** Names that database files have, but that belong to a folder or a broken link. */
  readonly notFiles: readonly string[]
}

const needed = /^(CURRENT|LOCK|MANIFEST-\d+|\d+\.(ldb|sst|log))$/

/** Empty if the folder does not exist. @throws errors of the file system */
export async function filesIn(database: string): Promise<FolderFiles> {
  const names: string[] = []
  const notFiles: string[] = []
  try {
    for (const entry of await readdir(database, { withFileTypes: true })) {
      const { name } = entry
      const isFile = entry.isFile() || (entry.isSymbolicLink() && (await statOf(join(database, name)))?.isFile())
      if (isFile || !needed.test(name)) names.push(name)
      else notFiles.push(name)
    }
  } catch (error) {
    if (!isMissing(error)) throw error
  }
  return { names, notFiles }
}

/** @throws errors of the file system, which name the file */
export async function bytesOf(database: string, name: string): Promise<Buffer> {
  try {
    return await readFile(join(database, name))
  } catch (error) {
    throw ofFile(name, error)
  }
}

/** The error with the name of the file, which errors of a read lack. */
export function ofFile(name: string, error: unknown): unknown {
  if (!(error instanceof Error) || error.message.includes(name)) return error
  const { code } = error as NodeJS.ErrnoException
  return Object.assign(new Error(`${name}: ${error.message}`), { code })
}

/**
 * Whether the folder holds files that are only created after a database, but no database. A starting server would
 * create a new database there, and delete the images that it does not name. `isShared`: a new node of a cluster begins
 * with the key alone.
 *
 * @throws errors of the file system
 */
export async function isDatabaseMissing(folder: string, isShared: boolean): Promise<boolean> {
  const { names, notFiles } = await filesIn(join(folder, 'db'))
  if (names.length > 0 || notFiles.length > 0) return false
  if (!isShared && (await namesIn(folder)).includes(keyFileName)) return true
  return (await namesIn(join(folder, imageFolder))).some((name) => /^[0-9a-f]{64}$/.test(name))
}

/** The message for a missing database, with what to do. */
export function missingDatabaseText(folder: string): string {
  return (
    `${folder}: the database (db) is missing or empty, but the folder holds identity.key or images that ` +
    'belong to one. Restore a backup, or set DATA_DIR to an empty folder to begin with a new database'
  )
}

async function namesIn(folder: string): Promise<readonly string[]> {
  try {
    return await readdir(folder)
  } catch (error) {
    if (isMissing(error) || (error as NodeJS.ErrnoException).code === 'ENOTDIR') return []
    throw error
  }
}
