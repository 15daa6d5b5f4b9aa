import { chmod, mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { KeyFileDamaged, KeyFileFailure, KeyFileMissing, readOrMakeKeyFile } from '#store/key-file'
import { ManualWorld } from '#test/runtime/manual-world'

let root: string
let folder: string
let file: string

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'key-'))
  folder = join(root, 'deep', 'data')
  file = join(folder, 'identity.key')
})
afterEach(() => rm(root, { recursive: true }))

const world = new ManualWorld({ seed: 9 })
const open = (isNeeded = false) => readOrMakeKeyFile(folder, { random: (count) => world.random(count), isNeeded })
const modeOf = async (path: string) => (await stat(path)).mode & 0o777

/** Leaves a file for the next start. */
async function leave(text: string | Uint8Array, mode = 0o600, path = file): Promise<void> {
  await mkdir(folder, { recursive: true })
  await writeFile(path, text)
  await chmod(path, mode)
}

describe('the first start', () => {
  test('creates a key and a folder that only the owner can read', async () => {
    const { bytes, isNew, warning } = await open()
    expect(bytes).toHaveLength(32)
    expect({ isNew, warning }).toEqual({ isNew: true, warning: undefined })
    expect(await readFile(file, 'utf8')).toBe(`${Buffer.from(bytes).toString('base64url')}\n`)
    expect(await modeOf(file)).toBe(0o600)
    expect(await modeOf(folder)).toBe(0o700)
    expect(await readdir(folder)).toEqual(['identity.key'])
  })

  test('creates a different key each time', async () => {
    const first = await open()
    await rm(file)
    expect((await open()).bytes).not.toEqual(first.bytes)
  })

  test('of several processes at once creates one key for all', async () => {
    const opened = await Promise.all(Array.from({ length: 20 }, () => open()))
    const stored = await readFile(file, 'utf8')
    for (const { bytes } of opened) expect(`${Buffer.from(bytes).toString('base64url')}\n`).toBe(stored)
    expect(opened.filter(({ isNew }) => isNew)).toHaveLength(1)
    expect(await readdir(folder)).toEqual(['identity.key'])
  })

  test('does not use the file of an interrupted start', async () => {
    await leave('half of a k', 0o600, `${file}.abcdefgh`)
    const { bytes, isNew } = await open()
    expect(isNew).toBe(true)
    expect(await readFile(file, 'utf8')).toBe(`${Buffer.from(bytes).toString('base64url')}\n`)
  })

  test.each([0o000, 0o077, 0o022])('sets the mode despite the umask %o', async (mask) => {
    const before = process.umask(mask)
    try {
      await open()
    } finally {
      process.umask(before)
    }
    expect((await modeOf(file)) & 0o077).toBe(0)
  })
})

describe('a later start', () => {
  test.each([true, false])('reads the same key (needed: %s)', async (isNeeded) => {
    const first = await open()
    const second = await open(isNeeded)
    expect(second).toEqual({ bytes: first.bytes, isNew: false })
  })

  test.each(['', '\n', '\r\n'])('accepts a key that ends with %j', async (end) => {
    await leave(`${'A'.repeat(42)}E${end}`)
    expect((await open(true)).bytes).toEqual(Uint8Array.from({ length: 32 }, (_, index) => (index === 31 ? 1 : 0)))
  })

  test.each([0o644, 0o640, 0o604, 0o660, 0o666, 0o777, 0o601])(
    'restricts mode %o to the owner, and warns',
    async (mode) => {
      const { bytes } = await open()
      await chmod(file, mode)
      const again = await open(true)
      expect(again.bytes).toEqual(bytes)
      expect(again.warning).toContain(`mode ${mode.toString(8)}`)
      expect(again.warning).toContain(file)
      expect(await modeOf(file)).toBe(0o600)
      expect((await open(true)).warning).toBeUndefined()
    },
  )

  test('leaves a read-only key unchanged', async () => {
    await open()
    await chmod(file, 0o400)
    expect((await open(true)).warning).toBeUndefined()
    expect(await modeOf(file)).toBe(0o400)
  })

  test('does not replace a missing key', async () => {
    await expect(open(true)).rejects.toBeInstanceOf(KeyFileMissing)
    await expect(open(true)).rejects.toBeInstanceOf(KeyFileFailure)
    await expect(open(true)).rejects.toThrow(`${file} is missing`)
    expect(await readdir(folder)).toEqual([])
  })

  test.each([
    ['nothing', ''],
    ['half a key', 'A'.repeat(20)],
    ['too much', 'A'.repeat(44)],
    ['two lines', `${'A'.repeat(43)}\n\n`],
    ['other letters', `${'A'.repeat(42)}+\n`],
    ['a space in front', ` ${'A'.repeat(42)}\n`],
    ['bytes', new Uint8Array(32)],
  ])('refuses a file with %s and leaves it unchanged', async (_, found) => {
    await leave(found)
    for (const isNeeded of [true, false]) {
      const failure = await open(isNeeded).catch((error: unknown) => error)
      expect(failure).toBeInstanceOf(KeyFileDamaged)
      expect(failure).toBeInstanceOf(KeyFileFailure)
      if (typeof found === 'string' && found !== '') expect(String(failure)).not.toContain(found.trim())
    }
    expect(await readFile(file)).toEqual(Buffer.from(found))
  })
})

test('an error of the disk is a storage failure', async () => {
  await mkdir(join(root, 'deep'))
  await writeFile(folder, 'a file where the folder should be')
  await expect(open()).rejects.toMatchObject({ name: 'StorageFailure', code: 'io' })
  await rm(folder)
})

test('a folder in place of the key is refused by name', async () => {
  await mkdir(file, { recursive: true })
  for (const isNeeded of [true, false]) await expect(open(isNeeded)).rejects.toThrow(`${file} is not a valid key`)
})
