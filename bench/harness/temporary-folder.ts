import { rmSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export interface TemporaryFolder {
  readonly path: string
  remove(): Promise<void>
}

/** What is still there when this process ends, however it does, is removed then: it may be gigabytes. */
const present = new Set<string>()

process.once('exit', () => {
  for (const path of present) rmSync(path, { recursive: true, force: true, maxRetries: 5, retryDelay: 50 })
})

export async function temporaryFolder(prefix: string): Promise<TemporaryFolder> {
  const path = await mkdtemp(join(tmpdir(), prefix))
  present.add(path)
  return {
    path,
    async remove() {
      await rm(path, { recursive: true, force: true, maxRetries: 5, retryDelay: 50 })
      present.delete(path)
    },
  }
}
