import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import files from 'node:fs/promises'
import { syncBuiltinESMExports } from 'node:module'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { writeBackup } from '#cli/backup-file'
import { TemporaryFiles } from '#cli/temporary-files'
import { bytesOfBackup, inPieces } from '#test/store/backup/backup-bytes'
import { folderOfTest } from '#test/temporary-folder'

const backup = bytesOfBackup({ rows: [['a', Buffer.from('1')]], files: [] })

let folder: string
let path: string

beforeEach(() => {
  folder = folderOfTest()
  path = join(folder, 'backup')
})
afterEach(() => {
  vi.restoreAllMocks()
  syncBuiltinESMExports()
})

/** Writes a backup while `during` runs. */
function write(during: () => void): Promise<unknown> {
  return writeBackup(path, new TemporaryFiles(), async () => {
    during()
    return inPieces(backup)
  })
}

function failCalls(name: 'link' | 'rename', code: string): void {
  vi.spyOn(files, name).mockRejectedValue(Object.assign(new Error(code), { code }))
  syncBuiltinESMExports()
}

describe.each([true, false])('on a file system with hard links: %s', (hasLinks) => {
  beforeEach(() => {
    if (!hasLinks) failCalls('link', 'EPERM')
  })

  test('the finished backup gets its name, and no other file remains', async () => {
    await write(() => {})
    expect(readFileSync(path)).toEqual(backup)
    expect(readdirSync(folder)).toEqual(['backup'])
  })

  test('a file that was created meanwhile is not overwritten', async () => {
    await expect(write(() => writeFileSync(path, 'other'))).rejects.toThrow('already exists')
    expect(readFileSync(path, 'utf8')).toBe('other')
    expect(readdirSync(folder)).toEqual(['backup'])
  })
})

test('a rename that fails leaves no file', async () => {
  failCalls('link', 'EPERM')
  failCalls('rename', 'EIO')
  await expect(write(() => {})).rejects.toThrow('EIO')
  expect(readdirSync(folder)).toEqual([])
})
