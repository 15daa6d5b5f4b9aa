import { rmSync } from 'node:fs'
import { lstat, mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir, userInfo } from 'node:os'
import { join } from 'node:path'
import { realWorld } from '#app/world'

const temporaryPrefix = 'device-data-inspect-'
/** No command works so long. */
const oldMs = 24 * 3_600_000

/**
 * Files and folders that are there only while a command works. They hold what is secret, so they go however it ends: done,
 * failed, by Ctrl-C, asked to end by somebody else; and of one that was killed a day later.
 */
export class Leftovers {
  readonly #paths = new Set<string>()

  /** Takes it away behind the work. */
  async while<T>(path: string, work: () => Promise<T>): Promise<T> {
    this.#paths.add(path)
    try {
      return await work()
    } finally {
      await rm(path, { recursive: true, force: true })
      this.#paths.delete(path)
    }
  }

  /** The same with a new folder for its owner alone, where such folders lie. @throws of the file system */
  async withFolder<T>(work: (folder: string) => Promise<T>): Promise<T> {
    const above = tmpdir()
    await removeOld(above)
    const folder = await mkdtemp(join(above, temporaryPrefix))
    return this.while(folder, () => work(folder))
  }

  /** Before the process ends in the middle of the work. */
  removeNow(): void {
    // What still writes there, on another thread, may stand in the way for a moment.
    for (const path of this.#paths) rmSync(path, { recursive: true, force: true, maxRetries: 5, retryDelay: 20 })
  }
}

/** Of one's own, by whatever was killed. */
async function removeOld(above: string): Promise<void> {
  const names = await readdir(above).catch(() => [])
  for (const name of names.filter((each) => each.startsWith(temporaryPrefix))) {
    const path = join(above, name)
    const found = await lstat(path).catch(() => undefined)
    if (!found?.isDirectory() || found.uid !== userInfo().uid) continue
    if (realWorld.now() - found.mtimeMs > oldMs) await rm(path, { recursive: true, force: true })
  }
}
