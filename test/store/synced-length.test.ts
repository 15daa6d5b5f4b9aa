import { mkdtempSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { readSyncedLength, recordSynced } from '#store/blob-parts'

let folder: string
let path: string
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'synced-length-'))
  path = join(folder, 'a.length')
})
afterAll(() => rmSync(folder, { recursive: true }))

test('nothing was said', async () => {
  expect(await readSyncedLength(join(folder, 'none'))).toBe(0)
})

test('for its owner only', async () => {
  await recordSynced(path, 7)
  expect(statSync(path).mode & 0o777).toBe(0o600)
})

const lengths = fc.integer({ min: 0, max: 2 ** 48 })
/** How the last row is left by a power loss: all of it, cut off, or as zeros. */
const losses = fc.tuple(lengths, fc.constantFrom('whole', 'cut', 'zeros'), fc.integer({ min: 0, max: 15 }))

test('the last that was said whole counts, whatever a power loss left behind it', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(losses, { maxLength: 100 }), async (said) => {
      rmSync(path, { force: true })
      let last = 0
      for (const [bytes, loss, left] of said) {
        const before = statSync(path, { throwIfNoEntry: false })?.size ?? 0
        await recordSynced(path, bytes)
        if (loss === 'cut') truncateSync(path, before - (before % 16) + left)
        else if (loss === 'zeros') writeFileSync(path, readFileSync(path).fill(0, before - (before % 16)))
        else last = bytes
        expect(await readSyncedLength(path)).toBe(last)
      }
    }),
    { numRuns: 30 },
  )
})
