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

/** Bytes of the files in a folder. A file that is deleted meanwhile does not count. */
export async function sizeOfFiles(folder: string): Promise<number> {
  const sizes = (await readdir(folder)).map((name) =>
    stat(join(folder, name)).then(
      ({ size }) => size,
      (error) => {
        if (isMissing(error)) return 0
        throw error
      },
    ),
  )
  return (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0)
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
