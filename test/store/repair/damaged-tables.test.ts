import { cp, mkdtemp, open, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { repairedText } from '#cli/repaired'
import { keys } from '#store/keys'
import { levelPlace } from '#store/level'
import { maskedCrc32c } from '#store/level-files/crc32c'
import { tableIndex } from '#store/level-files/table-file'
import { packRecord } from '#store/record-codec'
import { type Repaired, repairFolder } from '#store/repair/repair'
import { redoFormat } from '#store/store-journal'
import { packChunk } from '#test/store/pack-chunk'
import { rowsOf } from '#test/store/storage-suite'

const format = { name: 'any', version: 1, upgrades: {} }
const base = [
  { key: keys.redo('default'), value: packRecord(redoFormat, 1) },
  { key: keys.epoch(1), value: packRecord(format, { name: 'one', heads: { default: 0 } }) },
]
/** Without it the states of devices are given up, which is told in another way. */
const shape = { key: keys.shape('known'), value: packRecord(format, {}) }
/** What a repair writes itself. */
const ofRepairs = /^(format|whole|redo|epoch|part\/tenant)/

interface Written {
  readonly id: number
  readonly kind: 'secret' | 'snapshot' | 'chunk' | 'deleted'
  readonly size: number
}

const written: fc.Arbitrary<Written> = fc.record({
  id: fc.nat(250),
  kind: fc.constantFrom('secret', 'snapshot', 'chunk', 'deleted'),
  size: fc.oneof({ weight: 20, arbitrary: fc.nat(300) }, { weight: 1, arbitrary: fc.nat(9_000) }),
})

/** What snappy makes no smaller. */
function bytesOf(id: number, size: number): Buffer {
  return Buffer.from(Array.from({ length: size }, (_, at) => Math.sin(at * 31 + id * 7 + size) * 1e6))
}

function rowOf({ id, kind, size }: Written): { readonly key: string; readonly value: Buffer | null } {
  const device = { kind: 'device', tenant: 'default', id: `D${String(id).padStart(3, '0')}` }
  const bytes = bytesOf(id, size)
  switch (kind) {
    case 'secret':
      return { key: keys.part(device, 'secret'), value: bytes.length > 0 ? bytes : Buffer.of(1) }
    case 'deleted':
      return { key: keys.part(device, 'secret'), value: null }
    case 'snapshot': {
      const state = [id, 'online', 1, 1, 1, bytes.toString('hex'), 0, null, [], true, {}, [['known', [], [], []]]]
      return { key: keys.snapshot(device), value: Buffer.from(packRecord(format, { offset: 1, state })) }
    }
    case 'chunk': {
      const entry = { kind: 'meta_set', device: 'D', at: 1, meta: { bytes: bytes.toString('hex') } } as const
      const first = 1 + 2 * id
      return { key: keys.chunk('default', first), value: Buffer.from(packChunk([entry, entry], first, 0)) }
    }
  }
}

const footless = (bytes: Buffer) => bytes.fill(1, Math.max(0, bytes.length - 20))

/** Two places in it, as shares of its length; the first is not behind the second. */
type Damage = (bytes: Buffer, from: number, to: number, other: Buffer) => Buffer | undefined
const damages: Readonly<Record<string, Damage>> = {
  'is gone': () => undefined,
  'is empty': () => Buffer.alloc(0),
  'lost its end': (bytes, from) => bytes.subarray(0, from),
  'lost its beginning': (bytes, from) => bytes.subarray(from),
  'lost its middle': (bytes, from, to) => Buffer.concat([bytes.subarray(0, from), bytes.subarray(to)]),
  'has other bytes in front': (bytes, from) => Buffer.concat([bytesOf(from, 3_000), bytes]),
  'has other bytes at its end': (bytes, from) => Buffer.concat([bytes, bytesOf(from, 3_000)]),
  'has a part of it twice': (bytes, from, to) =>
    Buffer.concat([bytes.subarray(0, to), bytes.subarray(from, to), bytes.subarray(to)]),
  'has zeros in it': (bytes, from, to) => bytes.fill(0, from, to),
  'has zeros in it and no foot': (bytes, from, to) => footless(bytes.fill(0, from, to)),
  'has other bytes in it and no foot': (bytes, from, to) =>
    footless(Buffer.concat([bytes.subarray(0, from), bytesOf(from, to - from), bytes.subarray(to)])),
  'has another first block and no foot': (bytes) => footless(bytes.fill(7, 3, 9)),
  'is another one': (_, _from, _to, other) => other,
}

interface Left {
  /** In the end. */
  readonly stored: ReadonlyMap<string, string>
  /** Ever. */
  readonly values: ReadonlyMap<string, ReadonlySet<string>>
}

/** A table of each batch but the last, which is in a log, as a killed process leaves it. */
async function leave(root: string, batches: readonly (readonly Written[])[]): Promise<Left> {
  const live = join(root, 'live')
  const place = levelPlace({ folder: live, headroomBytes: 0 })
  const stored = new Map<string, string>()
  const values = new Map<string, Set<string>>()
  let storage = await place.open()
  for (const [number, batch] of batches.entries()) {
    const isLast = number === batches.length - 1
    const rows = new Map(
      [...(number === 0 ? base : []), ...(isLast ? [shape] : []), ...batch.map(rowOf)].map((row) => [row.key, row]),
    )
    for (const { key, value } of rows.values()) {
      if (value === null) stored.delete(key)
      else {
        const text = Buffer.from(value).toString('base64')
        stored.set(key, text)
        values.set(key, (values.get(key) ?? new Set()).add(text))
      }
    }
    await storage.write([...rows.values()], { sync: false })
    if (isLast) break
    await storage.close()
    storage = await place.open()
  }
  await cp(live, join(root, 'data'), { recursive: true, filter: (path) => !path.endsWith('LOCK') })
  await storage.close()
  return { stored, values }
}

const tablesIn = async (db: string) => (await readdir(db)).filter((name) => name.endsWith('.ldb')).sort()

async function storedIn(folder: string): Promise<ReadonlyMap<string, string>> {
  const storage = await levelPlace({ folder, headroomBytes: 0 }).open()
  const rows = await rowsOf(storage)
  await storage.close()
  return new Map(rows.map(({ key, value }) => [key, Buffer.from(value).toString('base64')]))
}

/** Nothing is there that nobody wrote, and what is not there in its last state is named. */
function expectHonest({ stored, values }: Left, after: ReadonlyMap<string, string>, found: Repaired): void {
  const ranges = found.losses.filter(({ upTo }) => upTo !== undefined)
  for (const { from, after: behind = '', upTo = '' } of ranges) expect((from ?? behind) <= upTo).toBe(true)
  const isNamed = (key: string) =>
    ranges.some(({ from, after: behind = '~', upTo = '' }) => (from ? key >= from : key > behind) && key <= upTo)
  let lost = 0
  for (const key of new Set([...stored.keys(), ...after.keys()])) {
    if (ofRepairs.test(key) || after.get(key) === stored.get(key)) continue
    lost++
    expect(isNamed(key), `${key} is named`).toBe(true)
    const value = after.get(key)
    if (value !== undefined) expect(values.get(key)?.has(value), `${key} was written`).toBe(true)
  }
  const text = repairedText('data', found)
  expect(text).not.toMatch(/undefined|NaN/)
  if (lost > 0) expect(text).not.toContain('there):\n  nothing')
}

test.each(Object.entries(damages))(
  'of a table that %s all that is lost is named, and nothing is made up',
  async (_, damage) => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.array(written, { minLength: 100, maxLength: 300 }), { minLength: 3, maxLength: 4 }),
        fc.nat(),
        fc.tuple(fc.double({ min: 0, max: 0.999, noNaN: true }), fc.double({ min: 0, max: 0.999, noNaN: true })),
        async (batches, which, places) => {
          const root = await mkdtemp(join(tmpdir(), 'damaged-tables-'))
          try {
            const left = await leave(root, batches)
            const folder = join(root, 'data')
            const db = join(folder, 'db')
            const names = await tablesIn(db)
            const path = join(db, names[which % names.length] ?? '')
            const bytes = await readFile(path)
            const other = await readFile(join(db, names[(which + 1) % names.length] ?? ''))
            const [from = 0, to = 0] = places.map((share) => Math.floor(share * bytes.length)).sort((a, b) => a - b)
            const made = damage(bytes, from, to, other)
            await (made ? writeFile(path, made) : rm(path))
            const found = await repairFolder({ folder, name: 'now', isForced: true })
            expectHonest(left, await storedIn(folder), found)
          } finally {
            await rm(root, { recursive: true })
          }
        },
      ),
      { numRuns: 4, endOnFailure: true },
    )
  },
)

test('a block within a value takes the place of nothing', async () => {
  const root = await mkdtemp(join(tmpdir(), 'damaged-tables-'))
  try {
    const folder = join(root, 'data')
    const password = { key: 'part/account/-/admin/password', value: Buffer.from('good') }
    const live = levelPlace({ folder, headroomBytes: 0 })
    const values = Array.from({ length: 60 }, (_, at) => {
      const planted = at === 30 ? blockOf(password.key, 'evil') : Buffer.alloc(0)
      const value = Buffer.concat([bytesOf(at, 200), planted, bytesOf(at, 201)])
      return { key: keys.part({ kind: 'device', tenant: 'default', id: `D${at + 100}` }, 'meta'), value }
    })
    let storage = await live.open()
    await storage.write([...base, password, ...values], { sync: false })
    await storage.close()
    storage = await live.open()
    await storage.close()
    const db = join(folder, 'db')
    const [name = ''] = await tablesIn(db)
    const bytes = await readFile(join(db, name))
    const planted = bytes.indexOf(blockOf(password.key, 'evil'))
    expect(planted).toBeGreaterThan(0)
    // The block that it lies in, and the foot.
    const at = await beginOf(join(db, name), planted)
    await writeFile(join(db, name), footless(bytes.fill(9, at + 4, at + 6)))
    await repairFolder({ folder, name: 'now', isForced: false })
    expect((await storedIn(folder)).get(password.key)).toBe(password.value.toString('base64'))
  } finally {
    await rm(root, { recursive: true })
  }
})

/** One row, as a block of a table holds it, with its checksum. */
function blockOf(key: string, value: string): Buffer {
  const own = Buffer.concat([Buffer.from(key), Buffer.of(1, 255, 255, 255, 255, 255, 255, 0)])
  const head = Buffer.of(0, own.length, value.length)
  const restarts = Buffer.of(0, 0, 0, 0, 1, 0, 0, 0)
  const content = Buffer.concat([head, own, Buffer.from(value), restarts, Buffer.of(0)])
  const sum = Buffer.alloc(4)
  sum.writeUInt32LE(maskedCrc32c(content))
  return Buffer.concat([content, sum])
}

/** Where the block lies that holds this byte. */
async function beginOf(path: string, byte: number): Promise<number> {
  const file = await open(path)
  const blocks = await tableIndex(file)
  await file.close()
  return blocks.findLast(({ at }) => at <= byte)?.at ?? 0
}
