import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { cp, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { repairText } from '#cli/folder-actions'
import type { Operation } from '#runtime/storage'
import { keys } from '#store/key-space'
import { levelStorage } from '#store/level'
import { packRecord, unpack } from '#store/record-codec'
import { RebuiltRows, type RepairResult, repairFolder } from '#store/repair/repair'
import { redoFormat } from '#store/store-journal'
import { packChunk } from '#test/store/pack-chunk'
import { rowsOf } from '#test/store/storage-suite'
import { storedSamples } from '#test/store/stored-samples'

const format = { name: 'any', version: 1, upgrades: {} }
const commits = 150
/** Events in a commit. */
const events = 2
let root: string
let left: string
/** All values that each key has had. */
const written = new Map<string, Set<string>>()
/** The rows after each commit, without the rows that a repair writes. */
const states: ReadonlyMap<string, string>[] = []
const ofRepairs = /^(whole|redo|epoch|part\/tenant)/
const hex = (value: Uint8Array) => Buffer.from(value).toString('hex')

/** Incompressible, so that tables have many blocks. */
const noise = (seed: number) => Array.from({ length: 30 }, (_, at) => Math.sin(seed * 31 + at)).join()
const device = (at: number) => ({ kind: 'device', tenant: 'default', id: `D${at % 120}` })

function commitOf(at: number): readonly Operation[] {
  const entry = { kind: 'meta_set', device: 'D', at: 1, meta: { at } } as const
  const state = [at % 120, 'online', 1, 1, 1, noise(at), 0, null, [], true, {}, [['known', [], [], []]]]
  return [
    { key: keys.part(device(at), 'secret'), value: at % 7 === 6 ? null : packRecord(format, noise(at)) },
    { key: keys.part(device(at * 3), 'other'), value: packRecord(format, noise(-at)) },
    { key: keys.snapshot(device(at * 11)), value: packRecord(format, { offset: at * events, state }) },
    { key: keys.chunk('default', 1 + at * events), value: packChunk(Array(events).fill(entry), 1, 0) },
  ]
}

/**
 * Leaves the database of a killed process: tables of several runs, in which newer rows replace older ones, and a log.
 */
beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'repair-'))
  const live = join(root, 'live')
  const backend = levelStorage({ folder: live, headroomBytes: 0 })
  let storage = await backend.open()
  const shape = packRecord(format, ['Motor', [[1, 'UINT8', 'r']]])
  const first: readonly Operation[] = [
    { key: keys.redo('default'), value: packRecord(redoFormat, 1) },
    { key: keys.epoch(1), value: packRecord(format, { name: 'one', heads: { default: 0 } }) },
    { key: keys.shape('known'), value: shape },
  ]
  let state = new Map<string, string>()
  for (let at = -1; at < commits; at++) {
    if (at > 0 && at % 50 === 0) {
      await storage.close()
      storage = await backend.open()
    }
    const operations = at < 0 ? first : commitOf(at)
    await storage.write(operations, { sync: false })
    state = new Map(state)
    for (const { key, value } of operations.filter(({ key }) => !ofRepairs.test(key))) {
      if (value === null) state.delete(key)
      else {
        state.set(key, hex(value))
        written.set(key, (written.get(key) ?? new Set()).add(hex(value)))
      }
    }
    states.push(state)
  }
  left = join(root, 'left')
  await cp(live, left, { recursive: true, filter: (path) => !path.endsWith('LOCK') })
  await storage.close()
})
afterAll(() => rm(root, { recursive: true }))

async function copyOfLeft(): Promise<string> {
  const folder = await mkdtemp(join(root, 'copy-'))
  await cp(left, folder, { recursive: true })
  return folder
}

interface After {
  readonly found: RepairResult
  readonly rows: ReadonlyMap<string, string>
  readonly folder: string
}

/** Damages one file, repairs, and checks what holds of every repair. */
async function repaired(file: RegExp, change: (bytes: Buffer) => Buffer | undefined): Promise<After> {
  const folder = await copyOfLeft()
  const name = (await readdir(join(folder, 'db'))).filter((each) => file.test(each)).at(-1) ?? ''
  const path = join(folder, 'db', name)
  const bytes = change(await readFile(path))
  await (bytes ? writeFile(path, bytes) : rm(path))
  const before = await contentsOf(join(folder, 'db'))
  const found = await repairFolder({ folder, name: 'now', isForced: true })
  expect(await readdir(folder)).toEqual(['damaged-now', 'db'])
  expect(await contentsOf(join(folder, 'damaged-now'))).toEqual(before)

  const storage = await levelStorage({ folder, headroomBytes: 0 }).open()
  const all = await rowsOf(storage)
  const [chunks, snapshots] = ['stream/', 'actor/'].map((place) => all.filter(({ key }) => key.startsWith(place)))
  // No position is known any more, and no offset that a row has is assigned again.
  expect(all.filter(({ key }) => key.startsWith('epoch/'))).toEqual([])
  const [, wholeFrom] = unpack(storage.get(keys.whole('default')) ?? Buffer.alloc(0)) as [number, number]
  if (chunks?.length || snapshots?.length) expect(wholeFrom).toBeGreaterThan(1_000_000)
  const ofReads = new Map(all.map(({ key }) => [key, hex(storage.get(key) ?? Buffer.alloc(0))]))
  await storage.close()
  const rows = new Map(all.filter(({ key }) => !ofRepairs.test(key)).map(({ key, value }) => [key, hex(value)]))
  for (const [key, value] of rows) {
    expect(written.get(key)?.has(value), `${key} never had this value`).toBe(true)
    expect(ofReads.get(key)).toBe(value)
  }
  // A repair that gives less than the last state reports the file.
  const last = states.at(-1)
  const isAsBefore = rows.size === last?.size && [...rows].every(([key, value]) => last.get(key) === value)
  if (!isAsBefore && !isLogCut(name, found)) expect(found.damage).toEqual([expect.stringContaining(nameIn(name))])
  return { found, rows, folder }
}

const isLogCut = (name: string, { damage }: RepairResult) => name.endsWith('.log') && damage.length === 0
/** A missing table is named by its number. */
const nameIn = (name: string) => (name.endsWith('.ldb') ? String(Number.parseInt(name, 10)) : name)
const flip = (share: number) => (bytes: Buffer) => {
  const at = Math.floor(bytes.length * share)
  bytes[at] = (bytes[at] ?? 0) ^ 4
  return bytes
}
const shares = Array.from({ length: 8 }, (_, at) => (at + 0.5) / 8)

async function contentsOf(folder: string): Promise<ReadonlyMap<string, string>> {
  const names = (await readdir(folder)).filter((name) => name !== 'LOCK')
  return new Map(await Promise.all(names.map(async (name) => [name, hex(await readFile(join(folder, name)))] as const)))
}

test.each([
  ['CURRENT is missing', /^CURRENT$/, () => undefined],
  ['the manifest is missing', /^MANIFEST/, () => undefined],
  ['the manifest holds other bytes', /^MANIFEST/, () => Buffer.alloc(300, 9)],
  ['the manifest is cut', /^MANIFEST/, (bytes: Buffer) => bytes.subarray(0, bytes.length >> 1)],
])('a repair keeps every row if %s', async (_, file, change) => {
  expect((await repaired(file, change)).rows).toEqual(states.at(-1))
})

test('the repair of a damaged log keeps exactly the commits before the damage', async () => {
  const inLog = states.slice(-50)
  for (const share of shares) {
    for (const change of [flip(share), (bytes: Buffer) => bytes.subarray(0, bytes.length * share)]) {
      const { rows } = await repaired(/\.log$/, change)
      expect(inLog, `at ${share}`).toContainEqual(rows)
    }
  }
})

test('the repair of a damaged table keeps rows as written, and reports the table', async () => {
  // Index, filter and footer are at the end.
  const ends = Array.from({ length: 12 }, (_, at) => 0.99995 - at * 0.003)
  for (const share of [...shares, ...ends]) {
    const { found } = await repaired(/\.ldb$/, flip(share))
    expect(found.damage, `at ${share}`).toHaveLength(1)
  }
  const half = (bytes: Buffer) => bytes.subarray(0, bytes.length >> 1)
  for (const change of [half, () => Buffer.alloc(0), () => undefined]) {
    const { found, rows, folder } = await repaired(/\.ldb$/, change)
    expect(found.damage.length).toBeGreaterThan(0)
    expect(rows.size).toBeGreaterThan(100)
    const message = repairText(folder, found)
    expect(message).toContain('damaged-now, unchanged')
    expect(message).toMatch(/Any row may be missing, outdated/)
  }
})

test('a repair omits unreadable rows, and assigns no device address twice', () => {
  const rows = new RebuiltRows()
  const row = (key: string, value: unknown) => ({ key, value: packRecord(format, value) })
  const snapshot = (id: string, flake: number, shapeId: string) => {
    const state = [flake, 'online', 1, 1, 1, '', 0, null, [], true, {}, [[shapeId, [], [], []]]]
    return row(keys.snapshot(device(Number(id))), { offset: 7, state })
  }
  rows.addShape(row(keys.shape('known'), ['Motor', [[1, 'UINT8', 'r']]]))
  expect(rows.examine(snapshot('1', 12, 'known'))).toBe(true)
  expect(rows.examine(snapshot('2', 13, 'lost'))).toBe(false)
  expect(rows.examine({ key: keys.part(device(3), 'secret/hash'), value: Buffer.from('no record') })).toBe(false)
  const tenant = (name: string) => keys.part({ kind: 'tenant', tenant: 'default', id: 'default' }, name)
  expect(rows.examine(row(tenant('role/counters'), {}))).toBe(true)
  expect(rows.examine(row(tenant('counters'), { lastFlakeAddress: 9, devices: 5 }))).toBe(false)
  const { added, leftOut } = rows.end()
  expect(leftOut).toEqual(['actor/device/default/D2', 'part/device/default/D3'])
  const content = Object.fromEntries(added.map(({ key, value }) => [key, unpack(value)]))
  expect(content).toEqual({
    'whole/default': [1, 1_000_008],
    'redo/default': [1, 1_000_008],
    'part/tenant/default/default/counters': [1, { lastFlakeAddress: 1_000_013, devices: 5 }],
  })
})

test('a repair keeps stored records of every kind', () => {
  const rows = new RebuiltRows()
  for (const { key, write } of storedSamples.filter(({ key }) => key.startsWith('shape/')))
    rows.addShape({ key, value: write() })
  const left = storedSamples.filter(({ key, write }) => !rows.examine({ key, value: write() })).map(({ key }) => key)
  expect(left.filter((key) => !ofRepairs.test(key))).toEqual([])
  expect(rows.end().leftOut).toEqual([])
})

test('a repair does nothing while another process has the database', async () => {
  const folder = await copyOfLeft()
  const holding = `
    import { Level } from 'level'
    await new Level(process.argv[1]).open()
    console.log('open')
    process.stdin.once('data', () => process.exit())`
  const other = spawn(process.execPath, ['--input-type=module', '-e', holding, join(folder, 'db')])
  await once(other.stdout, 'data')
  const before = await readdir(join(folder, 'db'))
  const repair = () => repairFolder({ folder, name: 'now', isForced: true })
  await expect(repair()).rejects.toMatchObject({ code: 'locked' })
  expect([await readdir(folder), await readdir(join(folder, 'db'))]).toEqual([['db'], before])
  other.stdin.write('\n')
  await once(other, 'exit')
  expect(await repair()).toMatchObject({ damage: [], damagedFolder: 'damaged-now' })
})

test('a repair continues an earlier one that was interrupted', async () => {
  const folder = await copyOfLeft()
  const repair = (isForced: boolean) => repairFolder({ folder, name: 'now', isForced })
  const open = () => levelStorage({ folder, headroomBytes: 0 }).open()
  await cp(join(folder, 'db'), join(folder, 'repairing', 'db'), { recursive: true })
  await expect(open()).rejects.toMatchObject({ code: 'damaged', message: expect.stringContaining('run it again') })
  await repair(true)
  // As if the power failed between the last two steps of the repair, and the removal of its copy was lost too.
  for (const name of ['db', 'copy']) {
    await cp(join(folder, 'db'), join(folder, 'repairing', name), { recursive: true })
  }
  await rm(join(folder, 'db'), { recursive: true })
  expect(await repair(false)).toMatchObject({ damage: [], damagedFolder: undefined })
  expect(await readdir(folder)).toEqual(['damaged-now', 'db'])
  await (await open()).close()
})
