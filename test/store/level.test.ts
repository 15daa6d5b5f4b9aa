import { spawn, spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { cp, mkdir, mkdtemp, readdir, rm, stat, truncate, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { failureFrom } from '#store/failure'
import { levelStorage } from '#store/level'
import { memoryStorage } from '#test/store/memory'
import { put, rowsOf, storageSuite } from '#test/store/storage-suite'

const soft = { sync: false } as const
const MIB = 1024 * 1024

storageSuite('LevelDB', async () => {
  const root = await mkdtemp(join(tmpdir(), 'store-'))
  return {
    backend: levelStorage({ folder: join(root, 'data'), headroomBytes: 1 * MIB, roomBytes: 1 * MIB }),
    remove: () => rm(root, { recursive: true }),
  }
})

storageSuite('memory', async () => ({ backend: memoryStorage() }))

let root: string
let folder: string

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'store-'))
  folder = join(root, 'deep', 'data')
})
afterEach(() => rm(root, { recursive: true }))

const placeIn = (folder: string) => levelStorage({ folder, headroomBytes: 0 })

describe('a missing table', () => {
  const every = { after: '', before: 'x', hasValues: true } as const
  const keyOf = (index: number) => `k${String(index).padStart(5, '0')}`

  /** Opens a database of several tables and then removes one that was not read yet. */
  async function openWithout(place: 'first' | 'last') {
    const storage = await placeIn(folder).open()
    // Random values do not compress, so they exceed the log of LevelDB and fill tables.
    for (let index = 0; index < 60; index++)
      await storage.write([put(keyOf(index), randomBytes(MIB / 2).toString('hex'))], soft)
    await storage.close()
    await (await placeIn(folder).open()).close()
    const opened = await placeIn(folder).open()
    const tables = (await readdir(join(folder, 'db'))).filter((name) => name.endsWith('.ldb')).sort()
    expect(tables.length).toBeGreaterThan(3)
    const gone = place === 'first' ? tables[0] : tables.at(-1)
    await rm(join(folder, 'db', gone ?? ''))
    return opened
  }

  it.each([
    [false, 'first'],
    [false, 'last'],
    [true, 'first'],
    [true, 'last'],
  ] as const)('fails a scan at its rows (reverse: %s, the %s table)', async (isReverse, place) => {
    const storage = await openWithout(place)
    const scan = storage.scan({ ...every, isReverse })
    const found: string[] = []
    const read = async () => {
      for (let page = await scan.next(3); page.length > 0; page = await scan.next(3)) {
        found.push(...page.map(({ key }) => key))
      }
    }
    await expect(read()).rejects.toMatchObject({ name: 'StorageFailure', code: 'io' })
    await scan.close()
    // No earlier row is missing.
    const all = Array.from({ length: 60 }, (_, index) => keyOf(index))
    if (isReverse) all.reverse()
    expect(found).toEqual(all.slice(0, found.length))
    // A scan from that end does not return the next row instead of the missing one.
    const near = storage.scan({ ...every, isReverse: place === 'last' })
    await expect(near.next(1)).rejects.toMatchObject({ name: 'StorageFailure', code: 'io' })
    await near.close()
    await storage.close()
  })
})

describe('a LevelDB folder', () => {
  it('is readable by its owner only', async () => {
    const storage = await placeIn(folder).open()
    expect((await stat(folder)).mode & 0o777).toBe(0o700)
    expect(await readdir(folder)).toEqual(['db'])
    await storage.close()
  })

  it('has all acknowledged rows after a crash', async () => {
    const storage = await placeIn(folder).open()
    for (let index = 0; index < 300; index += 1) await storage.write([put(`k/${index}`, 'v'.repeat(index * 10))], soft)
    // A copy of the files is what a killed process leaves. Without LOCK: see `foldersOpen`.
    const left = join(root, 'left')
    await cp(folder, left, { recursive: true, filter: (path) => !path.endsWith('LOCK') })
    await storage.close()
    const reopened = await placeIn(left).open()
    expect(await rowsOf(reopened)).toHaveLength(300)
    expect(reopened.get('k/299')).toHaveLength(2990)
    await reopened.close()
  })

  it.each(['identity.key', `images/${'a'.repeat(64)}`])('is not created again next to %s', async (file) => {
    await mkdir(join(folder, 'images'), { recursive: true })
    await writeFile(join(folder, file), 'x')
    const refusal = { code: 'damaged', message: expect.stringContaining('the database (db) is missing or empty') }
    await expect(placeIn(folder).open()).rejects.toMatchObject(refusal)
    await mkdir(join(folder, 'db'), { recursive: true })
    await expect(placeIn(folder).open()).rejects.toMatchObject(refusal)
  })

  it.each([
    ['CURRENT is missing', /^CURRENT$/, rm],
    ['CURRENT is empty', /^CURRENT$/, truncate],
    ['a table is missing', /\.ldb$/, rm],
  ])('is refused as damaged, and left unchanged, if %s', async (_, pattern, damage) => {
    const backend = placeIn(folder)
    const storage = await backend.open()
    await storage.write([put('a', '1')], soft)
    await storage.close()
    await (await backend.open()).close()
    const names = async () =>
      (await readdir(join(folder, 'db'))).filter((name) => /ldb$|^CURRENT$|^MANIFEST/.test(name))
    for (const name of (await names()).filter((name) => pattern.test(name))) await damage(join(folder, 'db', name))
    const left = await names()
    for (let attempt = 0; attempt < 2; attempt += 1) {
      await expect(backend.open()).rejects.toMatchObject({ name: 'StorageFailure', code: 'damaged' })
    }
    expect(await names()).toEqual(left)
  })

  it('is refused as damaged if a table is overwritten, before or after opening', async () => {
    const backend = placeIn(folder)
    let storage = await backend.open()
    await storage.write([put('a', '1')], soft)
    await storage.close()
    await (await backend.open()).close()
    storage = await backend.open()
    for (const name of await readdir(join(folder, 'db'))) {
      const file = join(folder, 'db', name)
      if (name.endsWith('.ldb')) await writeFile(file, new Uint8Array((await stat(file)).size).fill(7))
    }
    const damaged = expect.objectContaining({ name: 'StorageFailure', code: 'damaged' })
    expect(() => storage.get('a')).toThrow(damaged)
    await expect(storage.scan({ after: '', before: 'z', hasValues: true }).next(1)).rejects.toEqual(damaged)
    await storage.close()
    await expect(backend.open()).rejects.toEqual(damaged)
  })

  it('reports the memory of its cache and its tables', async () => {
    const storage = await placeIn(folder).open()
    const before = storage.memoryBytes()
    await storage.write([{ key: 'large', value: new Uint8Array(1e6) }], { sync: false })
    expect(storage.memoryBytes() - before).toBeGreaterThan(1e6 - 1)
    expect(storage.memoryBytes() - before).toBeLessThan(3e6)
    await storage.close()
  })

  it('grows its pages with the length of the scan', async () => {
    const storage = await placeIn(folder).open()
    const operations = Array.from({ length: 1_000 }, (_, row) => put(String(row).padStart(4, '0'), 'there'))
    await storage.write(operations, { sync: false })
    const scan = storage.scan({ after: '', before: 'z', hasValues: false })
    const counts: number[] = []
    do counts.push((await scan.next(700)).length)
    while (counts.at(-1) !== 0)
    await scan.close()
    expect(counts).toEqual([32, 128, 512, 328, 0])
    await storage.close()
  })

  it('is refused as io when its path is a file', async () => {
    await writeFile(join(root, 'file'), '')
    await expect(placeIn(join(root, 'file')).open()).rejects.toMatchObject({ name: 'StorageFailure', code: 'io' })
  })
})

describe('the lock of a LevelDB folder', () => {
  const opening = `
    import { Level } from 'level'
    const database = new Level(process.argv[1])
    await database.open().then(() => console.log('open'), (error) => console.log(error.cause.code))
    if (process.argv[2]) await new Promise((resolve) => process.stdin.once('data', resolve))
    process.exit()`
  const script = ['--input-type=module', '-e', opening]

  it('refuses another process, even after a second open in this one', async () => {
    const storage = await placeIn(folder).open()
    const askOther = () => `${spawnSync(process.execPath, [...script, join(folder, 'db')]).stdout}`.trim()
    expect(askOther()).toBe('LEVEL_LOCKED')
    await expect(placeIn(folder).open()).rejects.toMatchObject({ code: 'locked' })
    await expect(placeIn(`${folder}/../data/`).open()).rejects.toMatchObject({ code: 'locked' })
    expect(askOther()).toBe('LEVEL_LOCKED')
    await storage.close()
    expect(askOther()).toBe('open')
  })

  it('of another process is named in the error', async () => {
    await (await placeIn(folder).open()).close()
    const other = spawn(process.execPath, [...script, join(folder, 'db'), 'wait'])
    await once(other.stdout, 'data')
    const message = expect.stringContaining(`${folder}: another process uses this folder`)
    await expect(placeIn(folder).open()).rejects.toMatchObject({ code: 'locked', message })
    other.stdin.write('\n')
    await once(other, 'exit')
    await (await placeIn(folder).open()).close()
  })
})

describe('the headroom', () => {
  const fileIn = (folder: string) => stat(join(folder, 'headroom'))

  it('is allocated on disk, completed if truncated, and released', async () => {
    const backend = levelStorage({ folder, headroomBytes: 3 * MIB + 5, roomBytes: 1 })
    await (await backend.open()).close()
    for (let round = 0; round < 2; round += 1) {
      await backend.restoreHeadroom()
      const { size, blocks, mode } = await fileIn(folder)
      expect(size).toBe(3 * MIB + 5)
      expect(blocks * 512).toBeGreaterThanOrEqual(size)
      expect(mode & 0o777).toBe(0o600)
      await truncate(join(folder, 'headroom'), 1000)
    }
    await backend.releaseHeadroom()
    expect(await readdir(folder)).toEqual(['db'])
  })

  it('follows a smaller configuration, down to nothing', async () => {
    for (const [headroomBytes, expected] of [
      [2 * MIB, 2 * MIB],
      [1 * MIB, 1 * MIB],
      [0, undefined],
    ] as const) {
      const backend = levelStorage({ folder, headroomBytes, roomBytes: 1 })
      await (await backend.open()).close()
      await backend.restoreHeadroom()
      expect((await fileIn(folder).catch(() => undefined))?.size).toBe(expected)
    }
  })

  it('is not created if that would leave no room', async () => {
    const backend = levelStorage({ folder, headroomBytes: 1 * MIB, roomBytes: 2 ** 60 })
    expect(await backend.hasRoom()).toBe(false)
    await (await backend.open()).close()
    await backend.restoreHeadroom()
    expect(await readdir(folder)).toEqual(['db'])
  })

  it('does not reject if it cannot be written', async () => {
    await writeFile(join(root, 'file'), '')
    await levelStorage({ folder: join(root, 'file'), headroomBytes: 1 * MIB, roomBytes: 1 }).restoreHeadroom()
  })

  it('checks for space before the folder exists', async () => {
    expect(await levelStorage({ folder, headroomBytes: 1, roomBytes: 1 }).hasRoom()).toBe(true)
  })
})

const leveled = (code: string, message: string) => Object.assign(new Error(message), { code })
const opened = (cause: Error) => Object.assign(leveled('LEVEL_DATABASE_NOT_OPEN', 'Failed to open'), { cause })

it.each([
  ['full', leveled('LEVEL_IO_ERROR', 'IO error: /d/000003.log: No space left on device')],
  ['full', leveled('LEVEL_IO_ERROR', 'IO error: /d/000003.log: Disk quota exceeded')],
  ['full', leveled('ENOSPC', "ENOSPC: no space left on device, mkdir '/d'")],
  ['full', opened(leveled('LEVEL_IO_ERROR', 'IO error: /d/MANIFEST-000004: No space left on device'))],
  ['io', leveled('LEVEL_IO_ERROR', 'IO error: /d/000003.log: Input/output error')],
  ['io', opened(leveled('LEVEL_IO_ERROR', 'IO error: /d/LOCK: Permission denied'))],
  ['io', 'a string'],
  ['io', undefined],
  ['locked', opened(leveled('LEVEL_LOCKED', 'IO error: lock /d/LOCK: Resource temporarily unavailable'))],
  ['damaged', leveled('LEVEL_CORRUPTION', 'Corruption: block checksum mismatch')],
  ['damaged', opened(leveled('LEVEL_IO_ERROR', 'IO error: /d/MANIFEST-000004: No such file or directory'))],
  ['closed', leveled('LEVEL_DATABASE_NOT_OPEN', 'Database is not open')],
  ['closed', leveled('LEVEL_ITERATOR_NOT_OPEN', 'Iterator is not open: cannot read after close()')],
])('failureFrom reads %s from %s', (code, error) => {
  const failure = failureFrom(error, '/d')
  expect(failure).toMatchObject({ name: 'StorageFailure', code, cause: error })
  expect(failureFrom(failure, '/elsewhere')).toBe(failure)
})
