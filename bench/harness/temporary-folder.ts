import { mkdtempSync } from 'node:fs'
import { copyFile, link, mkdir, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { removeAtExit } from '#bench/at-exit'

export interface TemporaryFolder {
  readonly path: string
  remove(): Promise<void>
}

/** What is still there when this process ends is removed then. */
export function temporaryFolder(prefix: string): TemporaryFolder {
  // In one go: a signal in between would leave it behind.
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

/** Written once and only ever deleted: two folders may share one. */
const tables = /\.(ldb|sst)$/
/** Of a process that holds the folder. */
const lock = 'LOCK'

/** A second data folder like a first one that no server has open; costs little, however much lies in it. */
export async function copyDataFolder(from: string, to: string): Promise<void> {
  await mkdir(to, { recursive: true, mode: 0o700 })
  for (const entry of await readdir(from, { withFileTypes: true })) {
    const [source, target] = [join(from, entry.name), join(to, entry.name)]
    if (entry.isDirectory()) await copyDataFolder(source, target)
    else if (tables.test(entry.name)) await link(source, target)
    else if (entry.name !== lock) await copyFile(source, target)
  }
}
