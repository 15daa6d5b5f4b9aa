import { mkdtempSync } from 'node:fs'
import { link, mkdir, open, readdir, rm, stat, truncate, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import type { BlobStore } from '#runtime/blobs'
import { FileBlobs } from '#store/blobs'
import { blobSuite, bytesMax, bytesOf, hashOf, noOwners, piecesOf } from '#test/store/blob-suite'
import { memoryBlobs } from '#test/store/memory-blobs'
import { onSmallDisk } from '#test/store/small-disk'

const MIB = 1024 * 1024

async function openBlobs(folder: string) {
  let waitedMs = 0
  const open = () => new FileBlobs({ folder, bytesMax, headroomBytes: 0, now: () => Date.now() + waitedMs })
  return {
    store: open(),
    async restart() {
      const store = open()
      await store.open()
      return store
    },
    wait(ms: number) {
      waitedMs += ms
    },
    close: () => rm(folder, { recursive: true }),
  }
}

const newFolder = () => mkdtempSync(join(tmpdir(), 'blobs-'))

blobSuite('as files', () => openBlobs(newFolder()))
blobSuite('in memory', async () => {
  let now = 0
  const store = memoryBlobs({ bytesMax, now: () => now })
  const restart = () => store.open().then(() => store)
  const wait = (ms: number) => {
    now += ms
  }
  return { store, restart, wait, close: async () => {} }
})

describe('files', () => {
  let folder: string
  let fixture: Awaited<ReturnType<typeof openBlobs>>
  let store: BlobStore

  beforeEach(async () => {
    folder = newFolder()
    fixture = await openBlobs(folder)
    store = fixture.store
    await store.open()
  })
  afterEach(() => fixture.close())

  test('are readable by their owner only, and named by their hash', async () => {
    await store.receive('a', { from: 0, size: 20 }, piecesOf(bytesOf(10)))
    const { image } = await store.receive('../b', { from: 0, size: null }, piecesOf(bytesOf(10)))
    const modes = ['', 'images', 'uploads'].map(async (name) => (await stat(join(folder, name))).mode & 0o777)
    expect(await Promise.all(modes)).toEqual([0o700, 0o700, 0o700])
    expect(await readdir(join(folder, 'images'))).toEqual([image?.sha256])
    const parts = await readdir(join(folder, 'uploads'))
    expect(parts.sort()).toEqual(['part', 'part.length'].map((end) => expect.stringMatching(`^[0-9a-f]{64}\\.${end}$`)))
    for (const file of [join('images', image?.sha256 ?? ''), ...parts.map((part) => join('uploads', part))]) {
      expect((await stat(join(folder, file))).mode & 0o777).toBe(0o600)
    }
  })

  test.each(['', '..', '../uploads', 'A'.repeat(64), `${'a'.repeat(63)}/`])(
    'an image with the invalid name %j is not found',
    async (sha256) => {
      await expect(store.sizeOf(sha256)).rejects.toMatchObject({ code: 'not_found' })
      await expect(store.remove(sha256)).rejects.toMatchObject({ code: 'not_found' })
    },
  )

  test('an image that was truncated on disk cannot be read', async () => {
    const failures: Error[] = []
    const failed = (error: Error) => failures.push(error)
    const store = new FileBlobs({ folder, bytesMax, headroomBytes: 0, now: Date.now, failed })
    await store.open()
    const sha256 = hashOf(bytesOf(1000))
    await store.receive('a', { from: 0, size: null }, piecesOf(bytesOf(1000)))
    await writeFile(join(folder, 'images', sha256), bytesOf(10))
    const read = async () => {
      for await (const _ of store.read(sha256, 0, 1000));
    }
    await expect(read()).rejects.toMatchObject({ code: 'storage' })
    expect(failures).toMatchObject([{ message: expect.stringContaining(`the image ${sha256} ends before 1000`) }])
  })

  test('a folder with the name of an image is not an image, and is not swept', async () => {
    const sha256 = hashOf(bytesOf(1000))
    await mkdir(join(folder, 'images', sha256))
    await writeFile(join(folder, 'images', 'z'.repeat(64)), '')
    expect(await store.sizeOf(sha256)).toBeUndefined()
    await store.sweep(() => false, noOwners)
    expect(await readdir(join(folder, 'images'))).toEqual([sha256])
  })

  test.each(['images', 'uploads'])('are not opened if %s is not a folder, and the error names it', async (name) => {
    await rm(join(folder, name), { recursive: true })
    await writeFile(join(folder, name), '')
    await expect(store.open()).rejects.toMatchObject({ name: 'StorageFailure', message: expect.stringContaining(name) })
  })

  test.each([
    ['before the rename', 'link'],
    ['after a rename onto the same file', 'image'],
  ])('a crash %s keeps the part and removes its other name', async (_, died) => {
    const bytes = bytesOf(9000)
    await store.receive('a', { from: 0, size: 9001 }, piecesOf(bytes))
    const parts = (await readdir(join(folder, 'uploads'))).sort()
    const file = join(folder, 'uploads', parts[0] ?? '')
    await link(file, `${file}.whole`)
    if (died === 'image') await link(file, join(folder, 'images', hashOf(bytes)))
    const next = await fixture.restart()
    await next.sweep(() => true, noOwners)
    expect((await readdir(join(folder, 'uploads'))).sort()).toEqual(parts)
    expect(await next.receivedOf('a')).toBe(9000)
  })

  test('unsynced bytes do not count after a power loss, and the upload continues', async () => {
    const bytes = bytesOf(20_000)
    await store.receive('a', { from: 0, size: 20_000 }, piecesOf(bytes.subarray(0, 9000)))
    const [part] = (await readdir(join(folder, 'uploads'))).sort()
    // The file has its full length, with zeros where nothing was synced.
    await truncate(join(folder, 'uploads', part ?? ''), 20_000)
    const next = await fixture.restart()
    expect(await next.receivedOf('a')).toBe(9000)
    const received = await next.receive('a', { from: 9000, size: 20_000 }, piecesOf(bytes.subarray(9000, 12_000)))
    expect(received).toEqual({ received: 12_000 })
    const { image } = await next.receive('a', { from: 12_000, size: 20_000 }, piecesOf(bytes.subarray(12_000)))
    expect(image?.sha256).toBe(hashOf(bytes))
  })

  test('a part that is shorter than its recorded length does not count', async () => {
    await store.receive('a', { from: 0, size: 20_000 }, piecesOf(bytesOf(9000)))
    const [part] = (await readdir(join(folder, 'uploads'))).sort()
    await truncate(join(folder, 'uploads', part ?? ''), 8999)
    const next = await fixture.restart()
    expect(await next.receivedOf('a')).toBe(0)
    expect((await next.receive('a', { from: 0, size: null }, piecesOf(bytesOf(10)))).image?.size).toBe(10)
    expect(await readdir(join(folder, 'uploads'))).toEqual([])
  })

  test('old parts are removed by the next upload', async () => {
    await store.receive('a', { from: 0, size: 20 }, piecesOf(bytesOf(10)))
    fixture.wait(25 * 3_600_000)
    await store.receive('b', { from: 0, size: null }, piecesOf(bytesOf(10)))
    expect(await readdir(join(folder, 'uploads'))).toEqual([])
  })
})

test.each([
  ['write', 'write'],
  ['sync', 'datasync'],
])('a failed %s keeps the acknowledged bytes, and the upload continues', async (_, step) => {
  const folder = newFolder()
  const { store, close } = await openBlobs(folder)
  await store.open()
  const bytes = bytesOf(30_000)
  const announced = (from: number) => ({ from, size: bytes.length })
  expect(await store.receive('a', announced(0), piecesOf(bytes.subarray(0, 9000)))).toEqual({ received: 9000 })
  const file = await open(join(folder, 'other'), 'w')
  const spy = vi.spyOn(Object.getPrototypeOf(file), step as 'write')
  onTestFinished(() => spy.mockRestore())
  await file.close()
  async function* failing() {
    yield bytes.subarray(9000, 20_000)
    spy.mockRejectedValueOnce(Object.assign(new Error('too many open files'), { code: 'EMFILE' }))
    yield bytes.subarray(20_000)
  }
  await expect(store.receive('a', announced(9000), failing())).rejects.toMatchObject({ code: 'storage' })
  expect(await store.receivedOf('a')).toBe(9000)
  const [part] = (await readdir(join(folder, 'uploads'))).sort()
  expect((await stat(join(folder, 'uploads', part ?? ''))).size).toBe(9000)
  const { image } = await store.receive('a', announced(9000), piecesOf(bytes.subarray(9000)))
  expect(image?.sha256).toBe(hashOf(bytes))
  await close()
})

describe('a full disk', () => {
  test('refuses an upload before its first byte, and keeps existing parts', async () => {
    const folder = newFolder()
    const roomy = new FileBlobs({ folder, bytesMax, headroomBytes: 0, now: Date.now })
    await roomy.open()
    await roomy.receive('a', { from: 0, size: 20 }, piecesOf(bytesOf(10)))
    const failures: Error[] = []
    const failed = (error: Error) => failures.push(error)
    const headroomBytes = Number.MAX_SAFE_INTEGER / 2
    const narrow = new FileBlobs({ folder, bytesMax, headroomBytes, now: Date.now, failed })
    let asked = 0
    async function* pieces() {
      asked++
      yield bytesOf(10)
    }
    await expect(narrow.receive('a', { from: 10, size: 20 }, pieces())).rejects.toMatchObject({ code: 'storage' })
    expect([asked, await narrow.receivedOf('a')]).toEqual([0, 10])
    expect(failures).toMatchObject([{ name: 'StorageFailure', code: 'full' }])
    await rm(folder, { recursive: true })
  })

  test('does not count the part that an upload replaces', async (context) => {
    await onSmallDisk('100m', context, async (disk) => {
      const store = new FileBlobs({ folder: disk, bytesMax: 200 * MIB, headroomBytes: 0, now: Date.now })
      await store.open()
      const image = new Uint8Array(30 * MIB)
      const whole = { from: 0, size: image.length }
      expect(await store.receive('a', whole, piecesOf(image.subarray(MIB * 10), MIB))).toEqual({ received: 20 * MIB })
      expect((await store.receive('a', whole, piecesOf(image, MIB))).image?.size).toBe(image.length)
    })
  })

  test('that fills up during an upload discards the part, and other uploads continue', async (context) => {
    await onSmallDisk('100m', context, async (disk) => {
      const store = new FileBlobs({ folder: disk, bytesMax: 200 * MIB, headroomBytes: 0, now: Date.now })
      await store.open()
      async function* endless() {
        for (;;) yield new Uint8Array(MIB)
      }
      await expect(store.receive('a', { from: 0, size: null }, endless())).rejects.toMatchObject({ code: 'storage' })
      expect(await readdir(join(disk, 'uploads'))).toEqual([])
      async function* filling() {
        // Another file fills the disk between two checks for space.
        yield bytesOf(1000)
        await writeFile(join(disk, 'other'), new Uint8Array(110 * MIB)).catch(() => undefined)
        yield new Uint8Array(MIB)
      }
      await expect(store.receive('a', { from: 0, size: null }, filling())).rejects.toMatchObject({ code: 'storage' })
      expect(await readdir(join(disk, 'uploads'))).toEqual([])
      await rm(join(disk, 'other'))
      // A part of known size is discarded too: it would block other uploads.
      const announced = { from: 0, size: 2 * MIB }
      const rest = { ...announced, from: 1 }
      expect(await store.receive('b', announced, piecesOf(bytesOf(1)))).toEqual({ received: 1 })
      await expect(store.receive('b', rest, filling())).rejects.toMatchObject({ code: 'storage' })
      expect(await readdir(join(disk, 'uploads'))).toEqual([])
      await rm(join(disk, 'other'))
      const { image } = await store.receive('a', { from: 0, size: null }, piecesOf(bytesOf(10)))
      expect(image?.sha256).toBe(hashOf(bytesOf(10)))
    })
  })
})
