import { mkdtempSync } from 'node:fs'
import { rm } from 'node:fs/promises'
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
