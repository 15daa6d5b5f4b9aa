import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { projectRoot } from '#bench/project-root'

const folder = join(projectRoot, 'dist/pages/dashboard')
/** The limit for all pages of the dashboard together, compressed. */
const bytesMax = 150 * 1024

test('the whole dashboard is at most 150 KiB compressed', () => {
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) =>
    /\.(html|js|css|svg)$/.test(name),
  )
  // There are at least the page, the script and the styles.
  expect(files.length).toBeGreaterThan(3)
  const bytes = files.reduce(
    (sum, name) => sum + gzipSync(readFileSync(join(folder, name)), { level: 9 }).byteLength,
    0,
  )
  expect(bytes).toBeLessThanOrEqual(bytesMax)
})
