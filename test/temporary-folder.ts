import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, onTestFinished } from 'vitest'

/** A new folder, which is removed after the test. */
export function folderOfTest(): string {
  return temporaryFolder(onTestFinished)
}

/** A new folder for a file or a block of tests, which is removed after the last one. */
export function folderOfSuite(): string {
  return temporaryFolder(afterAll)
}

function temporaryFolder(afterwards: (remove: () => void) => void): string {
  const folder = mkdtempSync(join(tmpdir(), 'test-'))
  afterwards(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}
