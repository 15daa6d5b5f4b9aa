import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeEach, describe, expect, test } from 'vitest'
import { type Storage, StorageFailure } from '#runtime/storage'
import { Backups, type BackupsParts, backupMsMax } from '#store/backup/backup-writer'
import { everyKey } from '#store/key-space'
import { ManualWorld } from '#test/runtime/manual-world'
import { readWhole, sha256Of } from '#test/store/backup/backup-bytes'
import { type MemoryBackend, memoryStorage } from '#test/store/memory'
import { memoryBlobs } from '#test/store/memory-blobs'

const keyFile = Buffer.from(`${'k'.repeat(43)}\n`)
const ann = { user: 'ann', hasHistory: true }
const ben = { user: 'ben', hasHistory: false }

/** A counter of turns, each of which is over at once, so that a backup yields after every block. */
function countedTurns() {
  const turns = { count: 0, isOver: true, next: async () => void turns.count++ }
  return turns
}

describe('backups', () => {
  let world: ManualWorld
  let backend: MemoryBackend
  let storage: Storage
  let images: ReturnType<typeof memoryBlobs>
  let logged: string[]
  let imageHolds: number
  let snapshots: number

  beforeEach(async () => {
    world = new ManualWorld()
    backend = memoryStorage()
    storage = await backend.open()
    images = memoryBlobs({ bytesMax: 1_000_000 })
    await images.open()
    logged = []
    imageHolds = 0
    snapshots = 0
  })

  const put = (...rows: readonly (readonly [string, string])[]) => {
    const operations = rows.map(([key, value]) => ({ key, value: Buffer.from(value) }))
    return storage.write(operations, { sync: false })
  }
  const rowKey = (number: number) => `row/${String(number).padStart(6, '0')}`
  const putMany = (value: string) => put(...Array.from({ length: 2_000 }, (_, at) => [rowKey(at), value] as const))

  const backups = (more: Partial<BackupsParts> = {}) =>
    new Backups({
      world,
      snapshot() {
        const scan = storage.scan({ ...everyKey, hasValues: true })
        const closed = new Set<unknown>()
        snapshots++
        return {
          next: (countMax) => scan.next(countMax),
          async close() {
            if (!closed.has(scan)) snapshots--
            closed.add(scan)
            await scan.close()
          },
        }
      },
      images,
      keyFile: async () => keyFile,
      keepImages() {
        imageHolds++
        return () => void imageHolds--
      },
      copyHistory: async () => undefined,
      log: {
        begun: (user) => logged.push(`begun ${user}`),
        done: (user) => logged.push(`done ${user}`),
        aborted: (user) => logged.push(`broken off ${user}`),
      },
      ...more,
    })

  test.each([
    ['closed', { name: 'Problem', code: 'storage' }],
    ['io', { name: 'StorageFailure', code: 'io', message: 'a block is damaged' }],
  ] as const)('of a store that fails with %s end with an error', async (code, expected) => {
    const failing = () => Promise.reject(new StorageFailure(code, 'a block is damaged'))
    const made = backups({ snapshot: () => ({ next: failing, close: async () => {} }) })
    const all = async () => {
      for await (const block of made.make(ann, countedTurns())) void block
    }
    await expect(all()).rejects.toMatchObject(expected)
    expect([logged.at(-1), made.counts, imageHolds]).toEqual(['broken off ann', { done: 0, broken_off: 1 }, 0])
  })

  async function image(bytes: Uint8Array): Promise<string> {
    async function* pieces() {
      yield bytes
    }
    await images.receive('part', { from: 0, size: null }, pieces())
    return `images/${sha256Of(bytes)}`
  }

  test('contain every row, the key file and every image', async () => {
    await put(['format', 'f'], ['actor/device/default/A', 'a'], ['stream/default/00000000000001', 's'])
    const one = Uint8Array.from({ length: 200_000 }, (_, at) => at & 0xff)
    const names = [await image(one), await image(new Uint8Array(0))]
    const turns = countedTurns()
    const read = await readWhole(backups().make(ann, turns))
    expect(read.rows.map(([key, value]) => [key, Buffer.from(value).toString()])).toEqual([
      ['actor/device/default/A', 'a'],
      ['format', 'f'],
      ['stream/default/00000000000001', 's'],
    ])
    expect(read.files.map(([name]) => name)).toEqual(['identity.key', ...names.sort()])
    expect(Buffer.from(read.files[0]?.[1] ?? [])).toEqual(keyFile)
    expect([read.createdAt, read.ended]).toEqual([world.now(), true])
    expect([imageHolds, snapshots, logged]).toEqual([0, 0, ['begun ann', 'done ann']])
    expect(turns.count).toBeGreaterThan(3)
  })

  test('show the store at the moment they begin, despite later writes', async () => {
    await putMany('old')
    const turns = {
      isOver: true,
      async next() {
        await put([rowKey(1), 'new'], ['row/new', 'new'], ['zeal/late', 'new'])
        await storage.write([{ key: rowKey(1_999), value: null }], { sync: false })
      },
    }
    // The first turn comes after the snapshot is taken and before its first read.
    const read = await readWhole(backups().make(ann, turns))
    expect(read.rows.length).toBe(2_000)
    expect(new Set(read.rows.map(([, value]) => Buffer.from(value).toString()))).toEqual(new Set(['old']))
  })

  test('run one at a time', async () => {
    await put(['format', 'f'])
    const maker = backups()
    const first = maker.make(ann, countedTurns())
    await first.next()
    await expect(maker.make(ben, countedTurns()).next()).rejects.toMatchObject({ code: 'conflict' })
    expect(imageHolds).toBe(1)
    await first.return(undefined)
    expect([imageHolds, snapshots]).toEqual([0, 0])
    expect([maker.counts, maker.lastDoneAt]).toEqual([{ done: 0, broken_off: 1 }, undefined])
    expect((await readWhole(maker.make(ben, countedTurns()))).ended).toBe(true)
    expect([maker.counts, maker.lastDoneAt]).toEqual([{ done: 1, broken_off: 1 }, world.now()])
    expect(logged).toEqual(['begun ann', 'broken off ann', 'begun ben', 'done ben'])
  })

  test('stop when the server stops, and read as cut off', async () => {
    await putMany('x'.repeat(500))
    const maker = backups()
    let turn = 0
    const turns = { isOver: true, next: async () => (++turn === 5 ? maker.stop() : undefined) }
    await expect(readWhole(maker.make(ann, turns))).rejects.toThrow('cut off at byte')
    expect([imageHolds, snapshots, logged]).toEqual([0, 0, ['begun ann', 'broken off ann']])
  })

  test('yield to the event loop after each block, even within a large row', async () => {
    await put(['row/large', 'x'.repeat(2_000_000)], ['row/small', 'x'])
    let since = 0
    let most = 0
    const turns = {
      isOver: true,
      async next() {
        since = 0
      },
    }
    for await (const block of backups().make(ann, turns)) {
      since += block.byteLength
      most = Math.max(most, since)
    }
    expect(most).toBeGreaterThan(60_000)
    expect(most).toBeLessThanOrEqual(2 * (64 * 1024 + 8))
  })

  test('hold neither images nor a snapshot before their first block', async () => {
    const maker = backups()
    void maker.make(ann, countedTurns())
    expect([imageHolds, snapshots]).toEqual([0, 0])
    expect((await readWhole(maker.make(ben, countedTurns()))).ended).toBe(true)
  })

  test.each<[string, () => void | Promise<void>]>([
    ['the user loses the permission', () => Promise.reject(new Error('signed out'))],
    ['they take more than an hour', () => world.spend(backupMsMax + 1)],
    ['the store closes', () => storage.close()],
  ])('end when %s, and release the images and the snapshot', async (_, happen) => {
    await putMany('x')
    let turn = 0
    const turns = { isOver: false, next: async () => (++turn === 3 ? happen() : undefined) }
    await expect(readWhole(backups().make(ann, turns))).rejects.toThrow()
    expect([imageHolds, snapshots, logged]).toEqual([0, 0, ['begun ann', 'broken off ann']])
  })

  test('are refused while the store reopens', async () => {
    await storage.close()
    await expect(readWhole(backups().make(ann, countedTurns()))).rejects.toMatchObject({ code: 'storage' })
    expect([imageHolds, snapshots]).toEqual([0, 0])
  })

  test.each([
    ['contain', true, ['history/db/000005.ldb', 'history/db/CURRENT', 'identity.key']],
    ['leave out', false, ['identity.key']],
  ])('%s the history, which is copied before the snapshot (the caller wants it: %s)', async (_, hasHistory, names) => {
    const folder = mkdtempSync(join(tmpdir(), 'history-copy-'))
    for (const name of ['CURRENT', '000005.ldb', 'LOG']) writeFileSync(join(folder, name), name)
    const remove = async () => rmSync(folder, { recursive: true })
    await put(['format', 'f'])
    const copyHistory = async () => {
      expect(snapshots).toBe(0)
      return { folder, remove }
    }
    const read = await readWhole(backups({ copyHistory }).make({ user: 'ann', hasHistory }, countedTurns()))
    expect(read.files.map(([name]) => name)).toEqual(names)
    expect(existsSync(folder)).toBe(!hasHistory)
    rmSync(folder, { recursive: true, force: true })
  })

  test('are refused if the history cannot be copied, and release everything', async () => {
    const maker = backups({ copyHistory: () => Promise.reject(new StorageFailure('full', 'no space is left')) })
    const made = readWhole(maker.make(ann, countedTurns()))
    await expect(made).rejects.toMatchObject({ code: 'storage', message: expect.stringContaining('no space is left') })
    expect([imageHolds, snapshots]).toEqual([0, 0])
    expect((await readWhole(maker.make(ben, countedTurns()))).ended).toBe(true)
  })

  test('omit an image that is removed meanwhile, because no row names it any more', async () => {
    const name = await image(Uint8Array.of(1))
    const gone = await image(Uint8Array.of(2))
    const names = [name, gone].map((path) => path.slice('images/'.length)).sort()
    const sizeOf = async (sha256: string) => (gone.endsWith(sha256) ? undefined : images.sizeOf(sha256))
    const own = { names: async () => names, sizeOf, read: images.read.bind(images) }
    const read = await readWhole(backups({ images: own }).make(ann, countedTurns()))
    expect(read.files.map(([file]) => file)).toEqual(['identity.key', name])
  })
})
