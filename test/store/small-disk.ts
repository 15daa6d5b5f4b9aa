import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmdirSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'vitest'

type Work = (disk: string) => Promise<void>

/** Mounts a small disk for a test; skips the test where mounting is not permitted, except in CI, where it fails. */
export async function onSmallDisk(size: string, context: TestContext, work: Work): Promise<void> {
  const disk = mkdtempSync(join(tmpdir(), 'small-disk-'))
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${size}`, 'tmpfs', disk], { stdio: 'pipe' })
  } catch (error) {
    rmdirSync(disk)
    if (process.env.CI) throw error
    context.skip('a small disk could not be mounted (needs root)')
  }
  try {
    await work(disk)
  } finally {
    execFileSync('umount', ['--lazy', disk])
    rmdirSync(disk)
  }
}
