import { readdir, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { imageFolder, keyFileName } from '#store/backup/form'
import { isMissing } from '#store/missing'

/** What lies in the folder of a database. */
export interface FolderFiles {
  /** Of files. */
  readonly names: readonly string[]
  /** Of what has the name of a file that a database needs, and is none: a folder, or a link that leads nowhere. */
  readonly odd: readonly string[]
}

const needed = /^(CURRENT|LOCK|MANIFEST-\d+|\d+\.(ldb|sst|log))$/

/** Nothing of a folder that is not there. @throws errors of the file system */
export async function filesIn(database: string): Promise<FolderFiles> {
  const names: string[] = []
  const odd: string[] = []
  try {
    for (const entry of await readdir(database, { withFileTypes: true })) {
      const { name } = entry
      const isFile = entry.isFile() || (entry.isSymbolicLink() && (await isFileBehind(join(database, name))))
      if (isFile || !needed.test(name)) names.push(name)
      else odd.push(name)
    }
  } catch (error) {
    if (!isMissing(error)) throw error
  }
  return { names, odd }
}

/** @throws errors of the file system, which name the file */
export async function bytesOf(database: string, name: string): Promise<Buffer> {
  try {
    return await readFile(join(database, name))
  } catch (error) {
    throw ofFile(name, error)
  }
}

/** The same error with the file's name: what the disk says of a read has none. */
export function ofFile(name: string, error: unknown): unknown {
  if (!(error instanceof Error) || error.message.includes(name)) return error
  const { code } = error as NodeJS.ErrnoException
  return Object.assign(new Error(`${name}: ${error.message}`), { code })
}

async function isFileBehind(link: string): Promise<boolean> {
  try {
    return (await stat(link)).isFile()
  } catch (error) {
    if (isMissing(error)) return false
    throw error
  }
}

/**
 * Whether the folder holds what is only made beside a database that is on the disk, and no database: a start would begin a
 * new one there, and take the images away that it does not name.
 *
 * @throws errors of the file system
 */
export async function isGone(folder: string): Promise<boolean> {
  const { names, odd } = await filesIn(join(folder, 'db'))
  if (names.length > 0 || odd.length > 0) return false
  if ((await namesIn(folder)).includes(keyFileName)) return true
  return (await namesIn(join(folder, imageFolder))).some((name) => /^[0-9a-f]{64}$/.test(name))
}

/** Said as it is, with what to do. */
export function goneText(folder: string): string {
  return (
    `${folder}: the database (db) is not there, or empty, beside identity.key or images that belong to one. ` +
    'Restore a backup, or, to begin anew, set DATA_DIR to an empty folder'
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
