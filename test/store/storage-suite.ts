import { randomBytes } from 'node:crypto'
import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Operation, Row, ScanRange, Storage, StorageBackend } from '#runtime/storage'
import { anyText } from '#test/kit/any-text'
import { forAllAsync } from '#test/kit/for-all'

/** A new, empty backend; `remove` deletes it. */
export type MakeBackend = () => Promise<{ readonly backend: StorageBackend; readonly remove?: () => Promise<void> }>

const soft = { sync: false } as const
/** All keys, except those that begin with the last Unicode character; the tests use none. */
const every = { after: '', before: '\u{10ffff}', hasValues: true } as const

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text)
export const text = (value: Uint8Array | undefined): string | undefined => value && new TextDecoder().decode(value)
export const put = (key: string, value: string): Operation => ({ key, value: bytes(value) })
const remove = (key: string): Operation => ({ key, value: null })

/** Scans to the end, `pageRows` at a time. */
export async function rowsOf(storage: Storage, range: ScanRange = every, pageRows = 1000): Promise<Row[]> {
  const scan = storage.scan(range)
  const rows: Row[] = []
  for (;;) {
    const page = await scan.next(pageRows)
    expect(page.length).toBeLessThanOrEqual(pageRows)
    if (page.length === 0) break
    rows.push(...page)
  }
  await scan.close()
  return rows
}

const keysOf = async (storage: Storage, range?: ScanRange, pageRows?: number) =>
  (await rowsOf(storage, range, pageRows)).map(({ key }) => key)

const byUtf8 = (one: string, other: string): number => Buffer.compare(Buffer.from(one), Buffer.from(other))

/**
 * Keys whose order is error-prone: prefixes of each other, NUL, and characters whose UTF-16 order differs from the order
 * of their UTF-8 bytes (U+E000 to U+FFFF against later ones).
 */
// biome-ignore format: one block of data
const trickyKeys = [
  'a', 'a\u0000', 'a\u0000b', 'a/', 'a/b', 'a0', 'aa', 'ab', 'b', 'A', '\u0000', '\u0001', '\u007f', '\u0080', '\u07ff',
  '\u0800', 'é', 'e\u0301', '€', '\ud7ff', '\ue000', '\ufffd', '\uffff', '\u{10000}', '😀', '😀a', '😁', '\u{10fffe}',
]

/** The contract of the storage port. The failing disk has its own tests. */
export function storageSuite(name: string, makeBackend: MakeBackend): void {
  describe(`${name} fulfils the storage contract`, () => {
    let backend: StorageBackend
    let storage: Storage
    let clear: (() => Promise<void>) | undefined

    const write = (operations: readonly Operation[]) => storage.write(operations, soft)

    beforeEach(async () => {
      const made = await makeBackend()
      backend = made.backend
      clear = made.remove
      storage = await backend.open()
    })

    afterEach(async () => {
      await storage.close()
      await clear?.()
    })

    describe('get and write', () => {
      it.each([false, true])('returns written values as soon as the promise is fulfilled (sync: %s)', async (sync) => {
        await storage.write([put('a', 'one'), put('b', 'two')], { sync })
        expect(text(storage.get('a'))).toBe('one')
        expect(text(storage.get('b'))).toBe('two')
        expect(storage.get('ab')).toBeUndefined()
      })

      it('reports its memory, and none once it is closed', async () => {
        const before = storage.memoryBytes()
        await storage.write([{ key: 'large', value: randomBytes(1e6) }], soft)
        expect(storage.memoryBytes()).toBeGreaterThanOrEqual(before)
        await storage.close()
        expect(storage.memoryBytes()).toBe(0)
      })

      it('reports its size on the disk, and frees the space of deleted rows', async () => {
        await storage.write([{ key: 'large', value: randomBytes(4e6) }], soft)
        expect(await storage.diskBytes()).toBeGreaterThan(4e6)
        await storage.compact()
        await write([remove('large')])
        await storage.compact()
        expect(await storage.diskBytes()).toBeLessThan(8e6)
        expect(storage.get('large')).toBeUndefined()
      })

      it('stores large values and views of larger buffers completely', async () => {
        const large = new Uint8Array(1024 * 1024).map((_, index) => (index * 31 + (index >>> 8)) & 0xff)
        const view = large.subarray(1000, 1005)
        await write([{ key: 'large', value: large }])
        await write([{ key: 'view', value: view }])
        expect(Buffer.compare(storage.get('large') ?? bytes(''), large)).toBe(0)
        expect(Buffer.compare(storage.get('view') ?? bytes(''), view)).toBe(0)
        const [row] = await rowsOf(storage, { ...every, before: 'm' })
        expect(Buffer.compare(row?.value ?? bytes(''), large)).toBe(0)
      })

      it('allows reuse of a written buffer once the promise is fulfilled', async () => {
        const value = bytes('before')
        await storage.write([{ key: 'a', value }], soft)
        value.fill(0)
        expect(text(storage.get('a'))).toBe('before')
      })

      it('finds keys of any length and alphabet', async () => {
        const lengths = [...Array(200).keys(), ...Array.from({ length: 40 }, (_, at) => 1340 + at), 4094, 4096, 9000]
        // Also keys without their last character: a store that truncates keys finds those instead.
        const keys = lengths.flatMap((length) => {
          const plain = 'x'.repeat(length + 1)
          return [plain, `${plain}é`, '€'.repeat(length + 1)]
        })
        await write(keys.map((key) => put(key, `${key.length} ${key.slice(-2)}`)))
        for (const key of [...keys, ...keys.toReversed()]) {
          expect(text(storage.get(key))).toBe(`${key.length} ${key.slice(-2)}`)
          expect(storage.get(`${key}ü`)).toBeUndefined()
        }
      })

      it('keeps the order of concurrent writes', async () => {
        const writes = Array.from({ length: 50 }, (_, index) => write([put('last', `${index}`), put(`${index}`, '')]))
        await writes[20]
        expect(Number(text(storage.get('last')))).toBeGreaterThanOrEqual(20)
        await Promise.all(writes)
        expect(text(storage.get('last'))).toBe('49')
        expect(await keysOf(storage)).toHaveLength(51)
      })

      it('shows a scan all or none of a batch in flight', async () => {
        const writing = write(Array.from({ length: 200 }, (_, index) => put(`k/${index}`, 'v')))
        const counts = [await rowsOf(storage), await rowsOf(storage), await rowsOf(storage)].map(({ length }) => length)
        await writing
        expect(await keysOf(storage)).toHaveLength(200)
        expect(counts.filter((count) => count !== 0 && count !== 200)).toEqual([])
      })

      it('replaces a lone surrogate by U+FFFD, as UTF-8 does', async () => {
        await write([put('a\udc00', 'low'), put('\ud800b', 'high')])
        expect([storage.get('a\ufffd'), storage.get('\ufffdb')].map(text)).toEqual(['low', 'high'])
        expect(await keysOf(storage)).toEqual(['a\ufffd', '\ufffdb'])
      })
    })

    describe('scan', () => {
      it('excludes both bounds, whether they exist or not', async () => {
        const bounds = [...trickyKeys, '', 'a.', 'zz', '\u{10ffff}']
        await storage.write(
          trickyKeys.map((key) => put(key, '')),
          soft,
        )
        const sorted = trickyKeys.toSorted(byUtf8)
        for (const after of bounds) {
          for (const before of bounds) {
            const inside = sorted.filter((key) => byUtf8(after, key) < 0 && byUtf8(key, before) < 0)
            expect(await keysOf(storage, { after, before, hasValues: false })).toEqual(inside)
            const reversed = await keysOf(storage, { after, before, hasValues: false, isReverse: true })
            expect(reversed).toEqual(inside.toReversed())
          }
        }
      })

      it('returns nothing for an empty range, repeatedly', async () => {
        await write([put('b', '1')])
        for (const isReverse of [false, true]) {
          const scan = storage.scan({ after: 'b', before: 'b', isReverse, hasValues: true })
          expect(await scan.next(10)).toEqual([])
          expect(await scan.next(10)).toEqual([])
          await scan.close()
        }
      })

      it.each([false, true])('returns 10 000 rows in pages (reverse: %s)', async (isReverse) => {
        const keys = Array.from({ length: 10_000 }, (_, index) => `row/${String(index).padStart(5, '0')}`)
        for (let at = 0; at < keys.length; at += 2500) {
          await write(keys.slice(at, at + 2500).map((key) => put(key, `value of ${key}`)))
        }
        const rows = await rowsOf(storage, { after: 'row/', before: 'row0', isReverse, hasValues: true }, 333)
        expect(rows.map(({ key }) => key)).toEqual(isReverse ? keys.toReversed() : keys)
        expect(rows.every(({ key, value }) => text(value) === `value of ${key}`)).toBe(true)
      })

      it('returns every row once, for any size of rows and pages', async () => {
        const key = fc.string({ unit: fc.constantFrom('a', 'b', '\0', 'é'), minLength: 1, maxLength: 4 })
        const keys = fc.uniqueArray(key, { maxLength: 40 })
        const valueBytes = fc.array(fc.constantFrom(1, 100, 300_000, 1_200_000), { minLength: 7, maxLength: 7 })
        const asked = fc.array(fc.integer({ min: 1, max: 12 }), { minLength: 1, maxLength: 5 })
        await forAllAsync([keys, valueBytes, asked], 40, async (keys, sizes, counts) => {
          const sizeOf = (index: number) => sizes[index % sizes.length] ?? 1
          await write(keys.map((key, index) => put(`k${key}`, 'v'.repeat(sizeOf(index)))))
          const wanted = keys.map((key, index) => [`k${key}`, sizeOf(index)] as const)
          wanted.sort(([a], [b]) => byUtf8(a, b))
          for (const isReverse of [false, true]) {
            const scan = storage.scan({ ...every, isReverse })
            const found: (readonly [string, number])[] = []
            for (let turn = 0; ; turn++) {
              const page = await scan.next(counts[turn % counts.length] ?? 1)
              if (page.length === 0) break
              found.push(...page.map(({ key, value }) => [key, value.length] as const))
            }
            await scan.close()
            expect(found).toEqual(isReverse ? wanted.toReversed() : wanted)
          }
          await write(keys.map((key) => remove(`k${key}`)))
        })
      })

      it('reads the state at its call, despite later writes', async () => {
        const keys = Array.from({ length: 1000 }, (_, index) => `k/${String(index).padStart(4, '0')}`)
        await storage.write(
          keys.map((key) => put(key, 'old')),
          soft,
        )
        const scans = [false, true].map((isReverse) => storage.scan({ ...every, isReverse }))
        await storage.write(
          keys.map((key, index) => (index % 2 === 0 ? remove(key) : put(key, 'new'))),
          soft,
        )
        await write([put('k/0000a', 'new'), put('a', 'new'), put('z', 'new')])
        for (const scan of scans) {
          const seen: Row[] = []
          for (let page = await scan.next(100); page.length > 0; page = await scan.next(100)) {
            seen.push(...page)
            await write([put(`k/${seen.length}`, 'newer')])
          }
          expect(seen.map(({ key }) => key).sort()).toEqual(keys)
          expect(seen.every(({ value }) => text(value) === 'old')).toBe(true)
          await scan.close()
        }
        expect(text(storage.get('k/0001'))).toBe('new')
      })

      it('can be closed early and twice, and then refuses to read', async () => {
        await write([put('a', '1'), put('b', '1')])
        const scan = storage.scan(every)
        await scan.next(1)
        await scan.close()
        await scan.close()
        await expect(scan.next(1)).rejects.toMatchObject({ name: 'StorageFailure', code: 'closed' })
      })
    })

    describe('open and close', () => {
      it('waits for the writes in flight', async () => {
        const writes = [write([put('a', '1')]), write([put('b', '1')])]
        await storage.close()
        await Promise.all(writes)
        storage = await backend.open()
        expect(await keysOf(storage)).toEqual(['a', 'b'])
      })

      it.each(['during', 'after'])('refuses reads and writes %s closing', async (moment) => {
        await write([put('a', '1')])
        const scan = storage.scan(every)
        const closing = storage.close()
        if (moment === 'after') await closing
        const closed = expect.objectContaining({ name: 'StorageFailure', code: 'closed' })
        expect(() => storage.get('a')).toThrow(closed)
        expect(() => storage.scan(every)).toThrow(closed)
        await expect(write([put('b', '1')])).rejects.toEqual(closed)
        await expect(scan.next(1)).rejects.toEqual(closed)
        await scan.close()
        await closing
        storage = await backend.open()
        expect(await keysOf(storage)).toEqual(['a'])
      })

      it('can be closed during scans', async () => {
        await write(Array.from({ length: 3000 }, (_, index) => put(`k/${index}`, 'v'.repeat(100))))
        const scans = Array.from({ length: 8 }, () => storage.scan(every))
        const pages = scans.map((scan) => scan.next(500))
        await storage.close()
        for (const page of await Promise.allSettled(pages)) {
          if (page.status === 'fulfilled') expect(page.value.length).toBeGreaterThan(0)
          if (page.status === 'rejected') expect(page.reason).toMatchObject({ code: 'closed' })
        }
        for (const scan of scans) await expect(scan.next(1)).rejects.toMatchObject({ code: 'closed' })
        await Promise.all(scans.map((scan) => scan.close()))
      })

      it('can be opened once at a time', async () => {
        const locked = { name: 'StorageFailure', code: 'locked' }
        await expect(backend.open()).rejects.toMatchObject(locked)
        await write([put('a', '1')])
        await storage.close()
        const [first, second] = await Promise.allSettled([backend.open(), backend.open()])
        expect([first?.status, second?.status].sort()).toEqual(['fulfilled', 'rejected'])
        for (const attempt of [first, second]) {
          if (attempt?.status === 'fulfilled') storage = attempt.value
          if (attempt?.status === 'rejected') expect(attempt.reason).toMatchObject(locked)
        }
        expect(text(storage.get('a'))).toBe('1')
      })

      it('can be closed and opened repeatedly', async () => {
        for (let round = 0; round < 5; round += 1) {
          await Promise.all([storage.close(), storage.close()])
          await storage.close()
          storage = await backend.open()
          await write([put(`round/${round}`, '')])
        }
        expect(await keysOf(storage)).toHaveLength(5)
      })
    })

    describe('headroom', () => {
      it('can be released and restored repeatedly', async () => {
        for (let round = 0; round < 2; round += 1) {
          await Promise.all([backend.restoreHeadroom(), backend.restoreHeadroom()])
          await Promise.all([backend.releaseHeadroom(), backend.releaseHeadroom()])
        }
        expect(await backend.hasRoom()).toBe(true)
      })
    })

    it('behaves as a sorted map', async () => {
      const unit = fc.constantFrom('a', 'b', '/', '\u0000', 'é', '\ud7ff', '\ue000', '\uffff', '😀', '\u{10fffe}')
      const anyKey = anyText({ minLength: 1 }).filter((key) => !key.startsWith('\u{10ffff}'))
      const key = fc.oneof(fc.string({ unit, minLength: 1, maxLength: 4 }), anyKey)
      const value = fc.option(fc.uint8Array({ maxLength: 40 }), { freq: 3 })
      const batch = fc.array(fc.record({ key, value }), { maxLength: 30 })
      const range = fc.record({ after: key, before: key, isReverse: fc.boolean(), hasValues: fc.boolean() })
      const step = fc.oneof(
        { weight: 4, arbitrary: fc.record({ batch, sync: fc.boolean() }) },
        { weight: 3, arbitrary: fc.record({ range, pageRows: fc.integer({ min: 1, max: 20 }) }) },
        { weight: 1, arbitrary: fc.constant('reopen' as const) },
      )
      await forAllAsync([fc.array(step, { maxLength: 25 })], 25, async (steps) => {
        const model = new Map<string, Uint8Array>()
        await storage.write((await keysOf(storage)).map(remove), soft)
        for (const step of steps) {
          if (step === 'reopen') {
            await storage.close()
            storage = await backend.open()
          } else if ('batch' in step) {
            await storage.write(step.batch, { sync: step.sync })
            for (const { key, value } of step.batch) {
              if (value) model.set(key, value)
              else model.delete(key)
            }
          } else {
            const { after, before, isReverse, hasValues } = step.range
            const inside = [...model.keys()].filter((key) => byUtf8(after, key) < 0 && byUtf8(key, before) < 0)
            const sorted = isReverse ? inside.sort(byUtf8).toReversed() : inside.sort(byUtf8)
            const expected = sorted.map((key) => [key, hasValues ? [...(model.get(key) ?? [])] : []])
            const rows = await rowsOf(storage, step.range, step.pageRows)
            expect(rows.map(({ key, value }) => [key, [...value]])).toEqual(expected)
          }
          for (const [key, value] of model) expect([...(storage.get(key) ?? [-1])]).toEqual([...value])
        }
        expect(await keysOf(storage)).toEqual([...model.keys()].sort(byUtf8))
      })
    })
  })
}
