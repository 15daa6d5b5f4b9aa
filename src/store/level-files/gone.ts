import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { imageFolder, keyFileName } from '#store/backup/form'
import { filesIn } from '#store/level-files/folder'
import { isMissing } from '#store/missing'

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
