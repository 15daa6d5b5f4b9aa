import { mkdtempSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { readSyncedLength, recordSynced } from '#store/blob-parts'
import { forAllAsync } from '#test/kit/for-all'

let folder: string
let path: string
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'synced-length-'))
  path = join(folder, 'a.length')
})
afterAll(() => rmSync(folder, { recursive: true }))

test('a missing file has length 0', async () => {
  expect(await readSyncedLength(join(folder, 'none'))).toBe(0)
})

test('the file is readable by its owner only', async () => {
  await recordSynced(path, 7)
  expect(statSync(path).mode & 0o777).toBe(0o600)
})

const lengths = fc.integer({ min: 0, max: 2 ** 48 })
/** The last row after a power loss: complete, cut off, or zeros. */
const losses = fc.tuple(lengths, fc.constantFrom('whole', 'cut', 'zeros'), fc.integer({ min: 0, max: 15 }))

test('the last complete row counts, despite the remains of a power loss', async () => {
  await forAllAsync([fc.array(losses, { maxLength: 100 })], 30, async (rows) => {
    rmSync(path, { force: true })
    let last = 0
    for (const [bytes, loss, left] of rows) {
      const before = statSync(path, { throwIfNoEntry: false })?.size ?? 0
      await recordSynced(path, bytes)
      if (loss === 'cut') truncateSync(path, before - (before % 16) + left)
      else if (loss === 'zeros') writeFileSync(path, readFileSync(path).fill(0, before - (before % 16)))
      else last = bytes
      expect(await readSyncedLength(path)).toBe(last)
    }
  })
})
