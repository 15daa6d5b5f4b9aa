import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { projectRoot } from '#bench/project-root'

const folder = join(projectRoot, 'dist/pages/dashboard')
/** What the whole dashboard may weigh on its way, with every page of it. */
const bytesMax = 150 * 1024

test('the whole dashboard is 150 KiB at most, as it is sent', () => {
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) =>
    /\.(html|js|css|svg)$/.test(name),
  )
  // The page, its script and its looks at least.
  expect(files.length).toBeGreaterThan(3)
  const bytes = files.reduce(
    (sum, name) => sum + gzipSync(readFileSync(join(folder, name)), { level: 9 }).byteLength,
    0,
  )
  expect(bytes).toBeLessThanOrEqual(bytesMax)
})
