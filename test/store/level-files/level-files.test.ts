import { cp, mkdir, mkdtemp, readdir, readFile, rm, symlink, truncate, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Level } from 'level'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { levelStorage } from '#store/level'
import { crc32c } from '#store/level-files/crc32c'
import { checkDatabase } from '#store/level-files/database-check'
import { ofFile } from '#store/level-files/folder'
import { readLog } from '#store/level-files/log-file'
import { put } from '#test/store/storage-suite'

test('CRC-32C matches RFC 3720, whole and in parts', () => {
  const bytes = (count: number, byteAt: (at: number) => number) =>
    Uint8Array.from({ length: count }, (_, at) => byteAt(at))
  expect(crc32c(bytes(32, () => 0))).toBe(0x8a9136aa)
  expect(crc32c(bytes(32, () => 0xff))).toBe(0x62a8ab43)
  expect(crc32c(bytes(32, (at) => at))).toBe(0x46dd794e)
  const text = Buffer.from('123456789')
  expect(crc32c(text)).toBe(0xe3069283)
  expect(crc32c(text.subarray(4), crc32c(text.subarray(0, 4)))).toBe(0xe3069283)
})

describe('files that LevelDB wrote', () => {
  let root: string
  let folder: string

  const db = (name = '') => join(folder, 'db', name)
  const filesLike = async (pattern: RegExp) => (await readdir(db())).filter((name) => pattern.test(name))

  /** Tables of many blocks, compressed and not, and a log, as a killed process leaves them. */
  beforeAll(async () => {
    root = await mkdtemp(join(tmpdir(), 'files-'))
    const live = join(root, 'live')
    for (const life of [1, 2, 3]) {
      const storage = await levelStorage({ folder: live, headroomBytes: 0 }).open()
      for (let commit = 0; commit < 60; commit++) {
        const value = Array.from({ length: 40 }, (_, at) => Math.sin(life * 1e4 + commit * 40 + at)).join(' ')
        const plain = put(`plain/${commit}`, 'v'.repeat(commit * 30))
        await storage.write([put(`row/${commit % 50}/${life}`, value), plain], { sync: false })
      }
      if (life < 3) await storage.close()
      else {
        folder = join(root, 'left')
        await cp(live, folder, { recursive: true, filter: (path) => !path.endsWith('LOCK') })
        await storage.close()
      }
    }
  })
  afterAll(() => rm(root, { recursive: true }))

  /** Checks a copy in which one file is changed. */
  async function damaged(name: string, change: (path: string, bytes: Buffer) => Promise<void>) {
    const copy = await mkdtemp(join(root, 'copy-'))
    await cp(db(), copy, { recursive: true })
    const path = join(copy, name)
    await change(path, await readFile(path))
    return { ends: await checkDatabase(copy, 'ends'), whole: await checkDatabase(copy, 'whole') }
  }

  test('pass the check', async () => {
    expect(await checkDatabase(db(), 'whole')).toEqual({ damage: [], torn: [] })
    expect(await checkDatabase(join(root, 'not there'), 'whole')).toEqual({ damage: [], torn: [] })
  })

  test('a log that is cut off is torn or ends between two writes, never damaged', async () => {
    const [name = ''] = await filesLike(/\.log$/)
    const { length } = await readFile(db(name))
    for (const cut of [1, 5, 100, 1000, 40_000, length - 3, length]) {
      const { ends } = await damaged(name, (path) => truncate(path, length - cut))
      expect(ends.damage, `${cut} bytes`).toEqual([])
      expect(ends.torn.length, `${cut} bytes`).toBeLessThanOrEqual(1)
    }
    const { ends } = await damaged(name, (path) => truncate(path, length - 5))
    expect(ends.torn).toEqual([expect.stringMatching(`^${name} ends in the middle of a write: \\d+ bytes$`)])
    const zeros = await damaged(name, (path, bytes) => writeFile(path, Buffer.concat([bytes, Buffer.alloc(9000)])))
    expect(zeros.ends).toMatchObject({ damage: [], torn: [expect.stringContaining('9000 bytes')] })
  })

  test('a changed byte of a log is reported: as damaged if records follow, otherwise as torn', async () => {
    const [name = ''] = await filesLike(/\.log$/)
    const { length } = await readFile(db(name))
    for (const at of [0, 4, 6, 7, 33, 5_000, 32_768, 50_000, length - 2, length - 1]) {
      const { ends } = await damaged(name, async (path, bytes) => {
        bytes[at] = (bytes[at] ?? 0) ^ 0x10
        await writeFile(path, bytes)
      })
      expect(ends.damage.length + ends.torn.length, `byte ${at}`).toBe(1)
      if (at < 50_000)
        expect(ends.damage, `byte ${at}`).toEqual([expect.stringContaining(`${name} is damaged at byte`)])
    }
  })

  test('the check reports writes that are missing between two logs', async () => {
    const [name = ''] = await filesLike(/\.log$/)
    const later = `${String(Number.parseInt(name, 10) + 1).padStart(6, '0')}.log`
    const { ends } = await damaged(name, async (path, bytes) => {
      // The first block becomes one log, and everything after the second block another.
      await writeFile(path, bytes.subarray(0, 32_768))
      await writeFile(path.replace(name, later), bytes.subarray(65_536))
    })
    expect(ends.damage).toEqual([expect.stringMatching(`${later} (lacks the writes from|is damaged at byte)`)])
  })

  test('a table is checked at its end by default, and whole on request', async () => {
    for (const name of await filesLike(/\.ldb$/)) {
      const { length } = await readFile(db(name))
      const flip = (at: number) => async (path: string, bytes: Buffer) => {
        bytes[at] = (bytes[at] ?? 0) ^ 1
        await writeFile(path, bytes)
      }
      const expected = [expect.stringContaining(name)]
      for (const at of [length - 1, length - 48, length - 60, length - 150]) {
        expect((await damaged(name, flip(at))).ends.damage, `byte ${at}`).toEqual(expected)
      }
      for (const at of [0, 100, Math.floor(length / 3)]) {
        expect((await damaged(name, flip(at))).whole.damage, `byte ${at}`).toEqual(expected)
      }
      expect((await damaged(name, (path) => truncate(path, length - 1))).ends.damage).toEqual(expected)
      expect((await damaged(name, (path) => rm(path))).ends.damage).toEqual([expect.stringContaining('is not there')])
    }
  })

  const cut = (path: string, { length }: Buffer) => truncate(path, length - 1)
  const nameMissing = (path: string) => writeFile(path, 'MANIFEST-000099\n')
  test.each<[string, RegExp, (path: string, bytes: Buffer) => Promise<void>, RegExp]>([
    ['CURRENT missing', /^CURRENT$/, (path) => rm(path), /^CURRENT is missing/],
    ['CURRENT cut off', /^CURRENT$/, cut, /^CURRENT does not name a manifest/],
    ['CURRENT of a missing manifest', /^CURRENT$/, nameMissing, /not there, and CURRENT.*; MANIFEST-\d+ is there$/],
    ['the manifest missing', /^MANIFEST/, (path) => rm(path), /is not there, and CURRENT names it/],
    ['the manifest emptied', /^MANIFEST/, (path) => truncate(path, 0), /holds no valid record/],
    ['the log missing', /\.log$/, (path) => rm(path), /^log \d+ is not there/],
  ])('%s is damage', async (_, pattern, change, expected) => {
    const [name = ''] = await filesLike(pattern)
    expect((await damaged(name, change)).ends.damage[0]).toMatch(expected)
  })

  test('a manifest without its end is reported under its own name', async () => {
    const [name = ''] = await filesLike(/^MANIFEST/)
    const { length } = await readFile(db(name))
    const reasons = "holds no valid record|can't be read|ends in the middle of a record|seems to lack its end"
    const expected = new RegExp(`^${name} (${reasons})`)
    for (let cut = 1; cut <= length; cut++) {
      const { ends } = await damaged(name, (path) => truncate(path, length - cut))
      expect(ends.damage[0], `${cut} bytes`).toMatch(expected)
    }
  })

  /** A compacted database whose manifest lost the record of the compaction. */
  test.each<[string, number, readonly RegExp[]]>([
    ['between two records', 0, [/^MANIFEST-\d+ seems to lack its end: it does not name \d+\.ldb/, /^table \d+ is not/]],
    ['in the middle of one', 3, [/^MANIFEST-\d+ ends in the middle of a record, at byte \d+$/, /^table \d+ is not/]],
  ])('a manifest cut off %s is reported before the tables it wrongly names', async (_, more, expected) => {
    const live = join(root, `compacted-${more}`)
    const level = new Level<string, string>(live, { writeBufferSize: 64 * 1024 })
    await level.open()
    for (let at = 0; at < 400; at++) await level.put(`row/${at % 90}`, String(Math.sin(at)).repeat(40))
    // The type of `Level` lacks `compactRange`, which exists on Node only.
    await (level as unknown as { compactRange(start: string, end: string): Promise<void> }).compactRange('a', 'z')
    const copy = await mkdtemp(join(root, 'copy-'))
    await cp(live, copy, { recursive: true, filter: (path) => !path.endsWith('LOCK') })
    await level.close()
    const name = (await readdir(copy)).find((each) => each.startsWith('MANIFEST')) ?? ''
    const { ends } = readLog(await readFile(join(copy, name)))
    await truncate(join(copy, name), (ends.at(-2) ?? 0) + more)
    const { damage } = await checkDatabase(copy, 'ends')
    for (const [at, pattern] of expected.entries()) expect(damage[at]).toMatch(pattern)
  })

  test('a missing table is not blamed on a manifest that names all other tables', async () => {
    const [name = ''] = await filesLike(/\.ldb$/)
    const { ends } = await damaged(name, (path) => rm(path))
    expect(ends.damage).toEqual([
      expect.stringMatching(`^table ${Number.parseInt(name, 10)} is not there, and MANIFEST-\\d+ names it$`),
    ])
  })

  test.each<[string, (path: string) => Promise<unknown>]>([
    ['a folder', (path) => mkdir(path)],
    ['a dangling symbolic link', (path) => symlink('/not/there', path)],
  ])('%s in place of a file is reported with the name of the file', async (_, put) => {
    for (const name of await filesLike(/^(CURRENT|MANIFEST-\d+|\d+\.(ldb|log))$/)) {
      const copy = await mkdtemp(join(root, 'copy-'))
      await cp(db(), copy, { recursive: true })
      await rm(join(copy, name))
      await put(join(copy, name))
      const { damage } = await checkDatabase(copy, 'ends')
      expect(damage[0]).toBe(`${name} is not a file`)
    }
  })

  test('an error of the disk names the file', () => {
    const expected = Object.assign(new Error('EIO: i/o error, read'), { code: 'EIO' })
    expect(ofFile('000007.log', expected)).toMatchObject({ message: '000007.log: EIO: i/o error, read', code: 'EIO' })
    const named = new Error("EACCES: permission denied, open '/data/db/000007.log'")
    expect(ofFile('000007.log', named)).toBe(named)
  })
})
