import { mkdtempSync } from 'node:fs'
import { chmod, mkdir, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { backupFolder, inspectBackup, inspectFolder } from '#store/backup/folder-backup'
import { restoreBackup } from '#store/backup/restore'
import { Epochs, epochFormat } from '#store/epochs'
import { keySpace, keys } from '#store/key-space'
import { levelStorage } from '#store/level'
import { packRecord } from '#store/record-codec'
import { redoFormat } from '#store/store-journal'
import { bytesOfBackup, type Content, imageOf, inPieces, readWhole } from '#test/store/backup/backup-bytes'

const unhurried = { isOver: false, next: async () => undefined }
const key = Buffer.from(`${'k'.repeat(43)}\n`)
const image = Uint8Array.from({ length: 150_000 }, (_, at) => (at * 7) & 0xff)

const content: Content = {
  createdAt: 1_790_000_000_000,
  keySpace: 1,
  rows: [
    ['actor/device/default/A', Buffer.from('a')],
    ['actor/device/default/B', Buffer.alloc(100_000, 'b')],
    [keys.epoch(1), packRecord(epochFormat, { name: 'first', heads: {} })],
    [keys.epoch(2), packRecord(epochFormat, { name: 'second', heads: { default: 7 } })],
    [keys.format, packRecord(keySpace, null)],
    ['part/account/default/ann/', Buffer.from('1')],
    ['part/account/default/ann/totp', Buffer.from('2')],
    ['part/account/default/ben/', Buffer.from('3')],
    [keys.redo('default'), packRecord(redoFormat, 9)],
    ['shape/abc', Buffer.from('shape')],
    [keys.tell(1), Buffer.from('tell')],
  ],
  files: [['identity.key', key], imageOf(image)],
}

describe('restoring a backup', () => {
  let home: string
  let folder: string

  beforeEach(() => {
    home = mkdtempSync(join(tmpdir(), 'restore-'))
    folder = join(home, 'data')
  })
  afterEach(() => rm(home, { recursive: true, force: true }))

  const restore = (bytes: Uint8Array) => restoreBackup(inPieces(bytes), folder)
  const modeOf = async (path: string) => (await stat(join(folder, path))).mode & 0o777

  test('creates a folder whose backup has the same bytes', async () => {
    const bytes = bytesOfBackup(content)
    const { head, end } = await restore(bytes)
    expect([head.createdAt, end.rows, end.files]).toEqual([content.createdAt, 11, 2])
    expect((await readdir(folder)).sort()).toEqual(['db', 'identity.key', 'images'])
    const again: Uint8Array[] = []
    for await (const block of backupFolder(folder, { now: content.createdAt ?? 0, hasHistory: true }, unhurried))
      again.push(block)
    expect(Buffer.compare(Buffer.concat(again), bytes)).toBe(0)
  })

  test('sets modes that only the owner can read', async () => {
    await restore(bytesOfBackup(content))
    expect([await modeOf(''), await modeOf('identity.key'), await modeOf('images')]).toEqual([0o700, 0o600, 0o700])
    expect(await modeOf(imageOf(image)[0])).toBe(0o600)
  })

  test('restores the epochs, so that the next one follows them', async () => {
    await restore(bytesOfBackup(content))
    const storage = await levelStorage({ folder, headroomBytes: 0 }).open()
    const epochs = await Epochs.load(storage)
    await epochs.begin(storage, 'third', new Map([['default', 12]]))
    expect(['first', 'second', 'third'].map((name) => epochs.lastUnder(name, 'default', 20))).toEqual([7, 12, 20])
    // An epoch that began after the backup is unknown.
    expect(epochs.lastUnder('behind', 'default', 20)).toBeUndefined()
    await storage.close()
  })

  test.each(['db', 'identity.key', 'another file'])(
    'refuses a folder that holds %s, and leaves it unchanged',
    async (name) => {
      await mkdir(folder)
      await writeFile(join(folder, name), 'mine')
      await expect(restore(bytesOfBackup(content))).rejects.toThrow(/is not empty \(.*move the folder/)
      expect(await readdir(folder)).toEqual([name])
      expect(await readFile(join(folder, name), 'utf8')).toBe('mine')
    },
  )

  test('accepts an empty folder, or one with lost+found, and keeps its mode', async () => {
    await mkdir(join(folder, 'lost+found'), { recursive: true })
    await chmod(folder, 0o750)
    await restore(bytesOfBackup(content))
    expect((await readdir(folder)).sort()).toEqual(['db', 'identity.key', 'images', 'lost+found'])
    expect(await modeOf('')).toBe(0o750)
  })

  const whole = bytesOfBackup(content)
  const harmed = Buffer.from(whole)
  const withWrongHash = bytesOfBackup({ ...content, files: [[imageOf(image)[0], Buffer.from('other')]] })
  harmed.writeUInt8(harmed.readUInt8(harmed.length - 40) ^ 1, harmed.length - 40)
  test.each<[string, Uint8Array, RegExp]>([
    ['cut off before its end mark', whole.subarray(0, whole.length - 1), /cut off at byte/],
    ['cut off between rows', whole.subarray(0, 80_000), /cut off at byte 80000/],
    ['damaged', harmed, /damaged at byte/],
    ['not a backup', Buffer.from('another format'), /not a backup/],
    ['of a newer key space', bytesOfBackup({ ...content, keySpace: 2 }), /of a newer release \(key space 2/],
    ['holding an image with a wrong hash', withWrongHash, /was damaged before it was backed up/],
  ])('leaves no files after a backup that is %s', async (_, bytes, message) => {
    await expect(restore(bytes)).rejects.toThrow(message)
    await expect(readdir(folder)).rejects.toThrow('ENOENT')
    await mkdir(folder)
    await expect(restore(bytes)).rejects.toThrow(message)
    expect(await readdir(folder)).toEqual([])
    await restore(whole)
    expect((await readdir(folder)).length).toBe(3)
  })

  test('that was interrupted blocks the server and further restores until an operator clears the folder', async () => {
    await mkdir(join(folder, 'restoring', 'db'), { recursive: true })
    const message = /a restore is under way here, or was interrupted/
    await expect(restore(whole)).rejects.toThrow(message)
    await expect(levelStorage({ folder, headroomBytes: 0 }).open()).rejects.toMatchObject({ code: 'damaged' })
    await expect(inspectFolder(folder, home)).rejects.toThrow(message)
    expect(await readdir(folder)).toEqual(['restoring'])
  })
})

const backedUp = (folder: string) => readWhole(backupFolder(folder, { now: 0, hasHistory: true }, unhurried))

describe('inspecting', () => {
  let home: string
  let folder: string

  beforeEach(async () => {
    home = mkdtempSync(join(tmpdir(), 'inspect-'))
    folder = join(home, 'data')
    await restoreBackup(inPieces(bytesOfBackup(content)), folder)
  })
  afterEach(() => rm(home, { recursive: true, force: true }))

  const found = {
    keySpace: 1,
    rows: 11,
    epochs: [
      { number: 1, name: 'first', heads: {} },
      { number: 2, name: 'second', heads: { default: 7 } },
    ],
    shapes: { count: 1, bytes: 14 },
    tells: 1,
    images: { count: 1, bytes: image.length },
    hasIdentityKey: true,
    tenants: [
      {
        ...{
          tenant: 'default',
          actors: { device: { count: 2 }, account: { count: 2 } },
          indexEntries: 0,
          reminders: 0,
        },
        stream: { from: null, to: null, redoFrom: 9, chunks: 0 },
      },
    ],
  }

  test('a backup and its folder finds the same content', async () => {
    const inspected = await inspectBackup(inPieces(bytesOfBackup(content)))
    expect(inspected).toMatchObject({ createdAt: content.createdAt, ...found })
    expect(await inspectFolder(folder, home)).toMatchObject(found)
  })

  test('counts rows with unknown keys', async () => {
    const keys = ['/', '__proto__/x', 'constructor/x', 'toString', 'hasOwnProperty/a/b', 'index/a/__proto__/b']
    const odd = keys.map((key) => [key, Buffer.from('x')] as const)
    const rows = [...odd, ...content.rows].sort(([a], [b]) => (a < b ? -1 : 1))
    const inspection = await inspectBackup(inPieces(bytesOfBackup({ ...content, rows })))
    expect(inspection.rows).toBe(content.rows.length + keys.length)
    expect(inspection.tenants.map(({ tenant }) => tenant)).toEqual(['__proto__', 'default'])
    expect(Object.prototype).not.toHaveProperty('indexEntries')
  })

  test('changes no file in a folder', async () => {
    const listFiles = async () =>
      Promise.all(
        (await readdir(folder, { recursive: true })).sort().map(async (name) => {
          const { size, mtimeMs, ino } = await stat(join(folder, name))
          return [name, size, mtimeMs, ino]
        }),
      )
    const before = await listFiles()
    await inspectFolder(folder, home)
    expect(await listFiles()).toEqual(before)
    expect(await readdir(home)).toEqual(['data'])
  })

  test.each([
    ['that is not there', 'nowhere', /is not there: set DATA_DIR/],
    ['without a database', 'empty', /holds no database/],
  ])('a folder %s fails with an error that names the reason, and creates no file', async (_, name, message) => {
    await mkdir(join(home, 'empty'))
    const before = (await readdir(home)).sort()
    await expect(inspectFolder(join(home, name), home)).rejects.toThrow(message)
    await expect(backedUp(join(home, name))).rejects.toThrow(message)
    expect((await readdir(home)).sort()).toEqual(before)
    expect(await readdir(join(home, 'empty'))).toEqual([])
  })

  test('a folder whose database is open is not backed up', async () => {
    const storage = await levelStorage({ folder, headroomBytes: 0 }).open()
    await expect(backedUp(folder)).rejects.toMatchObject({ code: 'locked' })
    await storage.close()
  })
})
