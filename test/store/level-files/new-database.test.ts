import { mkdir, mkdtemp, readdir, readFile, rm, truncate } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { levelStorage } from '#store/level'
import { checkDatabase, readManifest } from '#store/level-files/database-check'
import { createDatabase } from '#store/level-files/manifest'
import { put, rowsOf } from '#test/store/storage-suite'

let folder: string
const db = (name = '') => join(folder, 'db', name)
const open = () => levelStorage({ folder, headroomBytes: 0 }).open()

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'begun-'))
})

afterEach(() => rm(folder, { recursive: true, force: true }))

describe('a new database', () => {
  it('has no rows, and LevelDB opens it', async () => {
    await createDatabase(db())
    expect((await readdir(db())).sort()).toEqual(['CURRENT', 'MANIFEST-000001'])
    expect(await readManifest(db(), await readdir(db()))).toEqual({
      ...{
        name: 'MANIFEST-000001',
        tornAt: undefined,
        logNumber: 0,
        previousLogNumber: 0,
        lastSequence: 0,
        tables: [],
      },
    })
    expect(await checkDatabase(db(), 'whole')).toEqual({ damage: [], torn: [] })
    const storage = await open()
    expect(await rowsOf(storage)).toEqual([])
    await storage.write([put('a', '1')], { sync: true })
    await storage.close()
    const again = await open()
    expect(await rowsOf(again)).toHaveLength(1)
    await again.close()
  })

  it('is not created over an existing one', async () => {
    const storage = await open()
    await storage.write([put('a', '1')], { sync: true })
    const [names, current] = [await readdir(db()), await readFile(db('CURRENT'))]
    await createDatabase(db())
    expect(await readdir(db())).toEqual(names)
    expect(await readFile(db('CURRENT'))).toEqual(current)
    await storage.close()
  })

  const createManifest = () => createDatabase(db()).then(() => rm(db('CURRENT')))
  it.each([
    ['a draft of the manifest', (): Promise<unknown> => mkdir(db('first-a1B2c3'))],
    ['the manifest alone', createManifest],
    ['the manifest cut off', () => createManifest().then(() => truncate(db('MANIFEST-000001'), 9))],
  ])('is created again if an interrupted start left only %s', async (_, leave) => {
    await mkdir(db())
    await leave()
    const storage = await open()
    await storage.write([put('a', '1')], { sync: true })
    await storage.close()
    expect(await checkDatabase(db(), 'whole')).toEqual({ damage: [], torn: [] })
  })

  it('is created once, even by concurrent calls', async () => {
    await Promise.all(Array.from({ length: 8 }, () => createDatabase(db())))
    expect((await readdir(db())).sort()).toEqual(['CURRENT', 'MANIFEST-000001'])
    expect(await checkDatabase(db(), 'whole')).toEqual({ damage: [], torn: [] })
  })
})
