import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { cp, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { repairedText } from '#cli/repaired'
import { keys } from '#store/keys'
import { levelPlace } from '#store/level'
import { packRecord, unpack } from '#store/record-codec'
import { repairFolder } from '#store/repair/repair'
import { redoFormat } from '#store/store-journal'
import { packChunk } from '#test/store/pack-chunk'

const soft = { sync: false } as const
const format = { name: 'any', version: 1, upgrades: {} }
const device = (id: string) => ({ kind: 'device', tenant: 'default', id })

/** Of a device with this flake address, at this offset of its stream, with services of these shapes. */
const snapshot = (flake: number, offset: number, shapes: readonly string[]) =>
  packRecord(format, {
    offset,
    state: [flake, 'online', 1, 1, 1, '', 0, null, [], true, {}, shapes.map((shape) => [shape, [], [], []])],
  })

describe('a database that is damaged', () => {
  let root: string
  let folder: string

  beforeEach(async () => {
    root = await mkdtemp(join(tmpdir(), 'repair-'))
    folder = join(root, 'data')
  })
  afterEach(() => rm(root, { recursive: true }))

  const db = (name = '') => join(folder, 'db', name)
  const opened = () => levelPlace({ folder, headroomBytes: 0 }).open()
  const repaired = (isForced = false) => repairFolder({ folder, name: 'now', isForced })
  const fileLike = async (pattern: RegExp) => (await readdir(db())).filter((name) => pattern.test(name)).at(-1) ?? ''
  const storedIn = (bytes: Uint8Array | undefined) => bytes && (unpack(bytes) as [number, unknown])[1]

  /** As a killed process leaves it: a table of what was there before, and a log of ten commits. */
  async function leave(
    commit: (at: number) => readonly { key: string; value: Uint8Array }[],
    before: readonly { key: string; value: Uint8Array }[] = [],
  ): Promise<void> {
    const live = join(root, 'live')
    const place = levelPlace({ folder: live, headroomBytes: 0 })
    let storage = await place.open()
    const rows = [
      { key: keys.redo('default'), value: packRecord(redoFormat, 1) },
      { key: keys.epoch(1), value: packRecord(format, { name: 'one', heads: { default: 0 } }) },
      { key: keys.shape('known'), value: packRecord(format, {}) },
      ...Array.from({ length: 400 }, (_, at) => ({
        key: keys.part(device(`D${String(at).padStart(4, '0')}`), 'secret'),
        value: Buffer.from(Array.from({ length: 9 }, (_, place) => Math.sin(at * 9 + place)).join()),
      })),
      ...before,
    ]
    await storage.write(rows, soft)
    await storage.close()
    storage = await place.open()
    for (let at = 0; at < 10; at++) await storage.write(commit(at), soft)
    await cp(live, folder, { recursive: true, filter: (path) => !path.endsWith('LOCK') })
    await storage.close()
  }

  /** Two entries each. */
  const chunks = (at: number) => {
    const entry = { kind: 'meta_set', device: 'D', at: 1, meta: { at } } as const
    const value = packChunk([entry, entry], 1, 0)
    return [{ key: keys.chunk('default', 1 + 2 * at), value }]
  }

  async function flip(name: string, at: number): Promise<void> {
    const bytes = await readFile(db(name))
    const place = at < 0 ? bytes.length + at : at
    bytes[place] = (bytes[place] ?? 0) ^ 4
    await writeFile(db(name), bytes)
  }

  test.each([false, true])(
    'names images that are not there whole, and the releases that name them (forced: %s)',
    async (isForced) => {
      const image = (text: string) => createHash('sha256').update(text).digest('hex')
      const release = (name: string, sha256: string) => ({
        key: keys.part({ kind: 'project', tenant: 'default', id: 'boiler' }, `release/0//${name}`),
        value: packRecord(format, {
          firmware: name,
          hardware: null,
          index: 0,
          sha256,
          size: 1,
          createdAt: 1,
          createdBy: '',
        }),
      })
      const wanted = { whole: image('whole'), gone: image('gone'), cut: image('cut'), folder: image('folder') }
      await leave((at) => Object.entries(wanted).map(([name, sha256]) => release(`${name}-${at % 2}`, sha256)))
      const images = join(folder, 'images')
      await mkdir(images)
      await writeFile(join(images, wanted.whole), 'whole')
      await writeFile(join(images, wanted.cut), 'cu')
      await mkdir(join(images, wanted.folder))
      const nameless = image('nobody')
      await writeFile(join(images, nameless), 'some')
      const found = await repaired(isForced)
      const fault = (name: keyof typeof wanted, isThere: boolean) => ({
        sha256: wanted[name],
        isThere,
        releases: [`default/boiler/0//${name}-0`, `default/boiler/0//${name}-1`],
      })
      expect(new Set(found.images)).toEqual(
        new Set([
          fault('gone', false),
          fault('cut', true),
          fault('folder', true),
          { sha256: nameless, isThere: true, releases: [] },
        ]),
      )
      const said = repairedText(folder, found)
      expect(said).toContain(
        `the image ${wanted.gone}, of release gone-0 of project boiler of tenant default and release gone-1 of project boiler of tenant default, is not there: upload it again`,
      )
      expect(said).toContain(`the image ${nameless}, which no release names, is damaged`)
      await rm(images, { recursive: true })
      await writeFile(images, '')
      expect((await repaired()).images).toHaveLength(4)
    },
  )

  test.each([
    ['taken away', (path: string) => rm(path, { recursive: true })],
    ['emptied', async (path: string) => rm(path, { recursive: true }).then(() => mkdir(path))],
  ])('is not begun anew where it was %s beside what belongs to it', async (_, damage) => {
    for (const [file, text] of [
      ['identity.key', 'k'],
      [`images/${'a'.repeat(64)}`, 'i'],
    ] as const) {
      await leave(chunks)
      await mkdir(join(folder, 'images'))
      await writeFile(join(folder, file), text)
      await damage(db())
      const message = expect.stringContaining('the database (db) is not there, or empty, beside identity.key or images')
      await expect(opened()).rejects.toMatchObject({ code: 'damaged', message })
      if ((await readdir(folder)).includes('db')) await expect(repaired()).rejects.toMatchObject({ message })
      else await expect(repaired()).rejects.toThrow('holds no database')
      await rm(root, { recursive: true })
      await mkdir(root)
    }
  })

  test('is left alone when nothing is wrong, unless it is forced', async () => {
    await leave(chunks)
    expect(await repaired()).toMatchObject({ damage: [], keptIn: undefined })
    expect(await readdir(folder)).toEqual(['db'])
    expect(await repaired(true)).toMatchObject({ damage: [], keptIn: 'damaged-now' })
  })

  test('in the middle of its log: it goes on up to there, and offsets and positions behind it are given up', async () => {
    await leave(chunks)
    const log = await fileLike(/\.log$/)
    const { length } = await readFile(db(log))
    await flip(log, Math.floor(length / 2))
    await expect(opened()).rejects.toMatchObject({
      code: 'damaged',
      message: expect.stringContaining('admin -- repair'),
    })
    const found = await repaired()
    expect(found.damage).toEqual([expect.stringContaining(`${log} is damaged at byte`)])
    const [stream] = found.streams
    const [[from, to] = []] = stream?.gaps ?? []
    expect([from, to]).toEqual([expect.any(Number), 20])
    expect((from as number) % 2).toBe(1)
    expect(stream).toMatchObject({ tenant: 'default', wholeFrom: 1_000_021 })
    expect(await readdir(folder)).toEqual(['damaged-now', 'db'])
    const storage = await opened()
    expect(storage.get(keys.chunk('default', (from as number) - 2))).toBeDefined()
    expect(storage.get(keys.chunk('default', from as number))).toBeUndefined()
    expect(storage.get(keys.epoch(1))).toBeUndefined()
    expect(storedIn(storage.get(keys.whole('default')))).toBe(1_000_021)
    expect(storage.get(keys.part(device('D0399'), 'secret'))).toBeDefined()
    await storage.close()
  })

  test('in a block of a table: the rows between its neighbours are named, and all others are there', async () => {
    await leave(chunks)
    await flip(await fileLike(/\.ldb$/), 100)
    // It lies far from the end of the table: nobody notices at a start.
    await (await opened()).close()
    const found = await repaired()
    expect(found.losses).toEqual([
      {
        said: expect.stringMatching(/\.ldb: its block at byte 0 is damaged/),
        from: keys.epoch(1),
        upTo: expect.any(String),
      },
    ])
    const upTo = found.losses[0]?.upTo ?? ''
    const storage = await opened()
    const there = (at: number) => storage.get(keys.part(device(`D${String(at).padStart(4, '0')}`), 'secret'))
    for (let at = 0; at < 400; at++) {
      const isLost = keys.part(device(`D${String(at).padStart(4, '0')}`), 'secret') <= upTo
      expect(there(at) === undefined, `device ${at}`).toBe(isLost)
    }
    expect(there(399)).toBeDefined()
    await storage.close()
  })

  test.each<[string, RegExp, (path: string) => Promise<void>]>([
    ['CURRENT is gone', /^CURRENT$/, (path) => rm(path)],
    ['the manifest is gone', /^MANIFEST/, (path) => rm(path)],
    ['the manifest is something else', /^MANIFEST/, (path) => writeFile(path, Buffer.alloc(300, 9))],
    ['the foot of a table is damaged', /\.ldb$/, (path) => flip(path.split('/').at(-1) ?? '', -3)],
  ])('is put together from its files when %s', async (_, pattern, damage) => {
    await leave(chunks)
    await damage(db(await fileLike(pattern)))
    await expect(opened()).rejects.toMatchObject({ code: 'damaged' })
    const { streams, losses } = await repaired()
    // What a table holds is known, and all of it is there; which files there were is not.
    expect(losses).toHaveLength(pattern.test('1.ldb') ? 0 : 1)
    expect(streams).toMatchObject([{ tenant: 'default', gaps: [], wholeFrom: 1_000_021 }])
    const storage = await opened()
    for (const at of [0, 200, 399]) {
      expect(storage.get(keys.part(device(`D${String(at).padStart(4, '0')}`), 'secret')), `device ${at}`).toBeDefined()
    }
    expect(storage.get(keys.chunk('default', 19))).toBeDefined()
    await storage.close()
  })

  describe.each<[string, (path: string, bytes: Buffer) => Promise<void>, number]>([
    ['is gone', (path) => rm(path), 400],
    ['was cut off', (path, bytes) => writeFile(path, bytes.subarray(0, bytes.length >> 1)), 100],
    ['was cut off in front', (path, bytes) => writeFile(path, bytes.subarray(bytes.length >> 1)), 100],
    ['lost its middle', (path, bytes) => writeFile(path, bytes.fill(0, bytes.length >> 2, bytes.length >> 1)), 20],
    [
      'lost its middle and its foot',
      (path, bytes) => writeFile(path, bytes.fill(0, bytes.length >> 2, bytes.length >> 1).fill(1, bytes.length - 30)),
      20,
    ],
    ['is empty', (path) => writeFile(path, ''), 400],
  ])('of which a table %s', (_, damage, lostMin) => {
    test('names all that is lost with it, also events that nothing lies before', async () => {
      const early = Array.from({ length: 10 }, (_, at) => chunks(at)).flat()
      const late = (at: number) => chunks(10 + at)
      await leave(late, early)
      const table = await fileLike(/\.ldb$/)
      await damage(db(table), await readFile(db(table)))
      const found = await repaired()
      const storage = await opened()
      const secrets = Array.from({ length: 400 }, (_, at) =>
        keys.part(device(`D${String(at).padStart(4, '0')}`), 'secret'),
      )
      const stored = [...secrets, keys.shape('known'), ...[...early, ...late(0), ...late(9)].map(({ key }) => key)]
      const lost = stored.filter((key) => storage.get(key) === undefined)
      await storage.close()
      expect(lost.length).toBeGreaterThanOrEqual(lostMin)
      for (const key of lost) {
        const isNamed = found.losses.some(
          ({ from, after, upTo = '' }) => (from === undefined ? key > (after ?? '~') : key >= from) && key <= upTo,
        )
        expect(isNamed, key).toBe(true)
      }
      const said = repairedText(folder, found)
      if (!lost.includes(early[0]?.key ?? '')) return
      expect(said).toMatch(/^ {2}events.* up to 19 of tenant default$/m)
      expect(said).toMatch(/^ {2}credentials of devices/m)
    })
  })

  test('has a name for the records of every kind of actor', async () => {
    const files = (await readdir('actors', { recursive: true })).filter((name) => name.endsWith('.ts'))
    const texts = await Promise.all(files.map((name) => readFile(join('actors', name), 'utf8')))
    const found = texts.flatMap((text) =>
      [...text.matchAll(/\bkind: '(\w+)',\n\s+rest: /g)].map(([, kind = '']) => kind),
    )
    expect(found.length).toBeGreaterThan(10)
    for (const kind of found) {
      const [from, upTo] = [`part/${kind}/default/a/x`, `part/${kind}/default/b/x`]
      const losses = [{ said: '', from, upTo }]
      const nothing = { damage: [], givenUp: { devices: [], chunks: 0 }, streams: [], rows: 0, images: [] }
      const said = repairedText('data', { ...nothing, losses, keptIn: 'damaged' })
      expect(said, kind).toMatch(/ from a of tenant default up to b of tenant default/)
      expect(said, kind).not.toContain('other records')
    }
  })

  test('gives up a device whose declaration is lost, names it, and gives no address twice', async () => {
    await leave((at) => [
      { key: keys.snapshot(device(`S${at}`)), value: snapshot(at + 5, 30 + at, [at === 3 ? 'lost' : 'known']) },
    ])
    await flip(await fileLike(/^CURRENT$/), 0)
    const { givenUp, streams } = await repaired()
    expect(givenUp).toEqual({ devices: [{ tenant: 'default', device: 'S3' }], chunks: 0 })
    // Its snapshots are newer than its stream: no entry of then is applied to them, and none of now gets such an offset.
    expect(streams).toMatchObject([{ gaps: [], wholeFrom: 1_000_040 }])
    const storage = await opened()
    expect(storage.get(keys.snapshot(device('S3')))).toBeUndefined()
    const counters = { kind: 'tenant', tenant: 'default', id: 'default' }
    expect(storedIn(storage.get(keys.part(counters, 'counters')))).toEqual({ lastFlakeAddress: 1_000_014, devices: 10 })
    await storage.close()
  })

  test('is not touched while another process has it', async () => {
    await (await opened()).close()
    const holding = `
      import { Level } from 'level'
      await new Level(process.argv[1]).open()
      console.log('open')
      process.stdin.once('data', () => process.exit())`
    const other = spawn(process.execPath, ['--input-type=module', '-e', holding, db()])
    await once(other.stdout, 'data')
    const before = await readdir(db())
    await expect(repaired(true)).rejects.toMatchObject({ code: 'locked' })
    expect(await readdir(db())).toEqual(before)
    other.stdin.write('\n')
    await once(other, 'exit')
    expect(await repaired(true)).toMatchObject({ keptIn: 'damaged-now' })
    await (await opened()).close()
  })

  test('is not opened while it is repaired; a repair that died is begun again, or ended', async () => {
    await leave(chunks)
    await cp(db(), join(folder, 'repairing', 'db'), { recursive: true })
    await expect(opened()).rejects.toMatchObject({ code: 'damaged', message: expect.stringContaining('run it again') })
    await repaired(true)
    expect(await readdir(folder)).toEqual(['damaged-now', 'db'])
    // Between its last two steps.
    await cp(db(), join(folder, 'repairing', 'db'), { recursive: true })
    await rm(db(), { recursive: true })
    expect(await repaired()).toMatchObject({ damage: [], keptIn: undefined })
    expect(await readdir(folder)).toEqual(['damaged-now', 'db'])
    await (await opened()).close()
  })
})
