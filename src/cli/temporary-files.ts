import { rmSync } from 'node:fs'
import { lstat, mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir, userInfo } from 'node:os'
import { join } from 'node:path'
import { realWorld } from '#app/world'

const temporaryPrefix = 'device-data-inspect-'
/** Longer than any command takes. */
const oldMs = 24 * 3_600_000

/**
 * Temporary files and folders of a command. They contain secrets, so they are removed after success, failure and
 * signals. `withFolder` also removes folders that a SIGKILL left at least a day before.
 */
export class TemporaryFiles {
  readonly #paths = new Set<string>()

  /** Removes the path after the work. */
  async while<T>(path: string, work: () => Promise<T>): Promise<T> {
    this.#paths.add(path)
    try {
      return await work()
    } finally {
      await rm(path, { recursive: true, force: true })
      this.#paths.delete(path)
    }
  }

  /** Creates a temporary folder for the owner only, and removes it after the work. @throws errors of the file system */
  async withFolder<T>(work: (folder: string) => Promise<T>): Promise<T> {
    const above = tmpdir()
    await removeOld(above)
    const folder = await mkdtemp(join(above, temporaryPrefix))
    return this.while(folder, () => work(folder))
  }

  /** Must be called when the process ends during the work. */
  removeNow(): void {
    // Another thread may still write there for a moment.
    for (const path of this.#paths) rmSync(path, { recursive: true, force: true, maxRetries: 5, retryDelay: 20 })
  }
}

/** Removes old folders of this user. */
async function removeOld(above: string): Promise<void> {
  const names = await readdir(above).catch(() => [])
  for (const name of names.filter((each) => each.startsWith(temporaryPrefix))) {
    const path = join(above, name)
    const found = await lstat(path).catch(() => undefined)
    if (!found?.isDirectory() || found.uid !== userInfo().uid) continue
    if (realWorld.now() - found.mtimeMs > oldMs) await rm(path, { recursive: true, force: true })
  }
}
