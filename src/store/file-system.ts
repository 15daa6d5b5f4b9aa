import type { Stats } from 'node:fs'
import { open, readdir, rename, stat } from 'node:fs/promises'
import { join } from 'node:path'

/** When the promise is fulfilled, the names in the folder survive a power failure. */
export async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}

/** Whether an error of the file system means that the file does not exist. */
export function isMissing(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ENOENT'
}

/** Undefined if the file does not exist. */
export async function statOf(path: string): Promise<Stats | undefined> {
  try {
    return await stat(path)
  } catch (error) {
    if (isMissing(error)) return undefined
    throw error
  }
}

/** Bytes of the files in a folder. A file that is deleted meanwhile does not count. */
export async function sizeOfFiles(folder: string): Promise<number> {
  const found = await Promise.all((await readdir(folder)).map((name) => statOf(join(folder, name))))
  return found.reduce((sum, file) => sum + (file?.size ?? 0), 0)
}

/** Renames a folder to make room for a new one, and keeps it for analysis. */
export async function moveFolderAside(folder: string, now: number): Promise<void> {
  const time = new Date(now).toISOString().replaceAll(/[:.]/g, '-')
  try {
    await rename(folder, `${folder}-set-aside-${time}`)
  } catch (error) {
    if (!isMissing(error)) throw error
  }
}
