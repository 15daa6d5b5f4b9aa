import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmdirSync } from 'node:fs'
import { link, mkdir, open, readdir, rm, stat, truncate, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished, type TestContext, test, vi } from 'vitest'
import { fileBlobs } from '#store/blobs'
import { blobSuite, bytesMax, bytesOf, hashOf, piecesOf } from '#test/store/blob-suite'

const MIB = 1024 * 1024

async function stageIn(folder: string) {
  let waitedMs = 0
  const open = () => fileBlobs({ folder, bytesMax, headroomBytes: 0, now: () => Date.now() + waitedMs })
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

blobSuite('as files', () => stageIn(newFolder()))

describe('files', () => {
  test('are for their owner only, and lie under their hash', async () => {
    const folder = newFolder()
    const { store } = await stageIn(folder)
    await store.open()
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
    await rm(folder, { recursive: true })
  })

  test.each(['', '..', '../uploads', 'A'.repeat(64), `${'a'.repeat(63)}/`])('%j is no image', async (sha256) => {
    const folder = newFolder()
    const { store, close } = await stageIn(folder)
    await store.open()
    await expect(store.sizeOf(sha256)).rejects.toMatchObject({ code: 'not_found' })
    await expect(store.remove(sha256)).rejects.toMatchObject({ code: 'not_found' })
    await close()
  })

  test('an image that was changed to be shorter is not handed out as whole', async () => {
    const folder = newFolder()
    const failures: Error[] = []
    const failed = (error: Error) => failures.push(error)
    const store = fileBlobs({ folder, bytesMax, headroomBytes: 0, now: Date.now, failed })
    await store.open()
    const sha256 = hashOf(bytesOf(1000))
    await store.receive('a', { from: 0, size: null }, piecesOf(bytesOf(1000)))
    await writeFile(join(folder, 'images', sha256), bytesOf(10))
    const read = async () => {
      for await (const _ of store.read(sha256, 0, 1000));
    }
    await expect(read()).rejects.toMatchObject({ code: 'storage' })
    expect(failures).toMatchObject([{ message: expect.stringContaining(`the image ${sha256} ends before 1000`) }])
    await rm(folder, { recursive: true })
  })

  test('a folder of the name of an image is none, and is swept by nobody', async () => {
    const folder = newFolder()
    const { store, close } = await stageIn(folder)
    await store.open()
    const sha256 = hashOf(bytesOf(1000))
    await mkdir(join(folder, 'images', sha256))
    await writeFile(join(folder, 'images', 'z'.repeat(64)), '')
    expect(await store.sizeOf(sha256)).toBeUndefined()
    await store.sweep(
      () => false,
      () => [],
    )
    expect(await readdir(join(folder, 'images'))).toEqual([sha256])
    await close()
  })

  test.each(['images', 'uploads'])('are not opened where %s is no folder, and it is said', async (name) => {
    const folder = newFolder()
    await writeFile(join(folder, name), '')
    const { store, close } = await stageIn(folder)
    await expect(store.open()).rejects.toMatchObject({ name: 'StorageFailure', message: expect.stringContaining(name) })
    await close()
  })

  test.each([
    ['linked and not renamed yet', 'link'],
    ['renamed where it was the same file', 'image'],
  ])('%s, when the process died, the part stays and the other name of it goes', async (_, died) => {
    const folder = newFolder()
    const { store, restart, close } = await stageIn(folder)
    await store.open()
    const bytes = bytesOf(9000)
    await store.receive('a', { from: 0, size: 9001 }, piecesOf(bytes))
    const parts = (await readdir(join(folder, 'uploads'))).sort()
    const file = join(folder, 'uploads', parts[0] ?? '')
    await link(file, `${file}.whole`)
    if (died === 'image') await link(file, join(folder, 'images', hashOf(bytes)))
    const next = await restart()
    await next.sweep(
      () => true,
      () => [],
    )
    expect((await readdir(join(folder, 'uploads'))).sort()).toEqual(parts)
    expect(await next.receivedOf('a')).toBe(9000)
    await close()
  })

  test('what was being written when the power failed counts for nothing, and what was kept is gone on with', async () => {
    const folder = newFolder()
    const { store, restart, close } = await stageIn(folder)
    await store.open()
    const bytes = bytesOf(20_000)
    await store.receive('a', { from: 0, size: 20_000 }, piecesOf(bytes.subarray(0, 9000)))
    const [part] = (await readdir(join(folder, 'uploads'))).sort()
    // As long as all of it, and nothing but zeros where it was not there yet.
    await truncate(join(folder, 'uploads', part ?? ''), 20_000)
    const next = await restart()
    expect(await next.receivedOf('a')).toBe(9000)
    const come = await next.receive('a', { from: 9000, size: 20_000 }, piecesOf(bytes.subarray(9000, 12_000)))
    expect(come).toEqual({ received: 12_000 })
    const { image } = await next.receive('a', { from: 12_000, size: 20_000 }, piecesOf(bytes.subarray(12_000)))
    expect(image?.sha256).toBe(hashOf(bytes))
    await close()
  })

  test('a part that is shorter than it is said to be counts for nothing', async () => {
    const folder = newFolder()
    const { store, restart, close } = await stageIn(folder)
    await store.open()
    await store.receive('a', { from: 0, size: 20_000 }, piecesOf(bytesOf(9000)))
    const [part] = (await readdir(join(folder, 'uploads'))).sort()
    await truncate(join(folder, 'uploads', part ?? ''), 8999)
    const next = await restart()
    expect(await next.receivedOf('a')).toBe(0)
    expect((await next.receive('a', { from: 0, size: null }, piecesOf(bytesOf(10)))).image?.size).toBe(10)
    expect(await readdir(join(folder, 'uploads'))).toEqual([])
    await close()
  })

  test('old parts go when the next one comes', async () => {
    const folder = newFolder()
    const { store, wait, close } = await stageIn(folder)
    await store.open()
    await store.receive('a', { from: 0, size: 20 }, piecesOf(bytesOf(10)))
    wait(25 * 3_600_000)
    await store.receive('b', { from: 0, size: null }, piecesOf(bytesOf(10)))
    expect(await readdir(join(folder, 'uploads'))).toEqual([])
    await close()
  })
})

/** A disk of its own, so small. */
async function onDisk(size: string, context: TestContext, work: (disk: string) => Promise<void>): Promise<void> {
  const disk = newFolder()
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

test.each([
  ['is written', 'write'],
  ['is to be on the disk', 'datasync'],
])('where it fails that more %s, there is what was answered, and it goes on', async (_, step) => {
  const folder = newFolder()
  const { store, close } = await stageIn(folder)
  await store.open()
  const bytes = bytesOf(30_000)
  const said = (from: number) => ({ from, size: bytes.length })
  expect(await store.receive('a', said(0), piecesOf(bytes.subarray(0, 9000)))).toEqual({ received: 9000 })
  const file = await open(join(folder, 'other'), 'w')
  const spy = vi.spyOn(Object.getPrototypeOf(file), step as 'write')
  onTestFinished(() => spy.mockRestore())
  await file.close()
  async function* failing() {
    yield bytes.subarray(9000, 20_000)
    spy.mockRejectedValueOnce(Object.assign(new Error('too many open files'), { code: 'EMFILE' }))
    yield bytes.subarray(20_000)
  }
  await expect(store.receive('a', said(9000), failing())).rejects.toMatchObject({ code: 'storage' })
  expect(await store.receivedOf('a')).toBe(9000)
  const [part] = (await readdir(join(folder, 'uploads'))).sort()
  expect((await stat(join(folder, 'uploads', part ?? ''))).size).toBe(9000)
  const { image } = await store.receive('a', said(9000), piecesOf(bytes.subarray(9000)))
  expect(image?.sha256).toBe(hashOf(bytes))
  await close()
})

describe('a disk without room', () => {
  test('refuses before it takes anything, and keeps what there is', async () => {
    const folder = newFolder()
    const roomy = fileBlobs({ folder, bytesMax, headroomBytes: 0, now: Date.now })
    await roomy.open()
    await roomy.receive('a', { from: 0, size: 20 }, piecesOf(bytesOf(10)))
    const failures: Error[] = []
    const narrow = fileBlobs({
      folder,
      bytesMax,
      headroomBytes: Number.MAX_SAFE_INTEGER / 2,
      now: Date.now,
      failed: (error) => failures.push(error),
    })
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

  test('with room for an image is asked without what it begins anew', async (context) => {
    await onDisk('100m', context, async (disk) => {
      const store = fileBlobs({ folder: disk, bytesMax: 200 * MIB, headroomBytes: 0, now: Date.now })
      await store.open()
      const image = new Uint8Array(30 * MIB)
      const whole = { from: 0, size: image.length }
      expect(await store.receive('a', whole, piecesOf(image.subarray(MIB * 10), MIB))).toEqual({ received: 20 * MIB })
      expect((await store.receive('a', whole, piecesOf(image, MIB))).image?.size).toBe(image.length)
    })
  })

  test('that fills up meanwhile: of the part nothing is kept, and others go on', async (context) => {
    await onDisk('100m', context, async (disk) => {
      const store = fileBlobs({ folder: disk, bytesMax: 200 * MIB, headroomBytes: 0, now: Date.now })
      await store.open()
      async function* endless() {
        for (;;) yield new Uint8Array(MIB)
      }
      await expect(store.receive('a', { from: 0, size: null }, endless())).rejects.toMatchObject({ code: 'storage' })
      expect(await readdir(join(disk, 'uploads'))).toEqual([])
      async function* filling() {
        // Somebody else takes the rest of the disk, between two questions for room.
        yield bytesOf(1000)
        await writeFile(join(disk, 'other'), new Uint8Array(110 * MIB)).catch(() => undefined)
        yield new Uint8Array(MIB)
      }
      await expect(store.receive('a', { from: 0, size: null }, filling())).rejects.toMatchObject({ code: 'storage' })
      expect(await readdir(join(disk, 'uploads'))).toEqual([])
      await rm(join(disk, 'other'))
      // Of one whose size was said neither: it would keep others from coming.
      const said = { from: 0, size: 2 * MIB }
      const rest = { ...said, from: 1 }
      expect(await store.receive('b', said, piecesOf(bytesOf(1)))).toEqual({ received: 1 })
      await expect(store.receive('b', rest, filling())).rejects.toMatchObject({ code: 'storage' })
      expect(await readdir(join(disk, 'uploads'))).toEqual([])
      await rm(join(disk, 'other'))
      const { image } = await store.receive('a', { from: 0, size: null }, piecesOf(bytesOf(10)))
      expect(image?.sha256).toBe(hashOf(bytesOf(10)))
    })
  })
})
