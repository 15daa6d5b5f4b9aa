import { mkdtempSync } from 'node:fs'
import { copyFile, link, mkdir, readdir, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { removeAtExit } from '#bench/exit-cleanup'

export interface TemporaryFolder {
  readonly path: string
  remove(): Promise<void>
}

/** A folder that is removed when this process exits, if it still exists. */
export function temporaryFolder(prefix: string): TemporaryFolder {
  // Synchronous: a signal in between would leave the folder behind.
  const path = mkdtempSync(join(tmpdir(), prefix))
  const isRemoved = removeAtExit(path)
  return {
    path,
    async remove() {
      await rm(path, { recursive: true, force: true, maxRetries: 5, retryDelay: 50 })
      isRemoved()
    },
  }
}

/** The size of all files in a folder, in bytes. */
export async function folderBytes(folder: string): Promise<number> {
  const files = await readdir(folder, { recursive: true, withFileTypes: true })
  const sizes = files.map(async (file) => (file.isFile() ? (await stat(join(file.parentPath, file.name))).size : 0))
  return (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0)
}

/** The database never changes a table after it is written, so two folders can share the file. */
const tables = /\.(ldb|sst)$/
const lock = 'LOCK'

/** Copies a data folder that no server has open. Cheap, because large files are linked. */
export async function copyDataFolder(from: string, to: string): Promise<void> {
  await mkdir(to, { recursive: true, mode: 0o700 })
  for (const entry of await readdir(from, { withFileTypes: true })) {
    const [source, target] = [join(from, entry.name), join(to, entry.name)]
    if (entry.isDirectory()) await copyDataFolder(source, target)
    else if (tables.test(entry.name)) await link(source, target)
    else if (entry.name !== lock) await copyFile(source, target)
  }
}
