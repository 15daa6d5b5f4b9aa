import fc from 'fast-check'
import { beforeEach, describe, expect, test } from 'vitest'
import type { Entry } from '#model/entry'
import type { SealedCommit, StreamPart } from '#runtime/journal'
import type { Storage } from '#runtime/storage'
import { chunkEntriesMax } from '#store/chunk'
import { keys } from '#store/key-space'
import { StoreJournal } from '#store/store-journal'
import { recentBytesMax } from '#store/tenant-stream'
import { forAllAsync } from '#test/kit/for-all'
import { memoryStorage } from '#test/store/memory'
import { rowsOf } from '#test/store/storage-suite'

let journal: StoreJournal
let storage: Storage

beforeEach(async () => {
  storage = await memoryStorage().open()
  journal = new StoreJournal({ isSynced: false })
  journal.open(storage)
})

const entryAt = (offset: number): Entry => ({ kind: 'schema_deleted', service: `s${offset}`, at: offset })
const entries = (first: number, count: number) => Array.from({ length: count }, (_, index) => entryAt(first + index))

/** The events that a commit appends to a stream, packed as in a turn. */
function partOf(tenant: string, firstOffset: number, events: readonly Entry[], redoFrom = 1): StreamPart<Entry> {
  const packer = events.length > 0 ? journal.packer() : undefined
  packer?.add(events)
  return { tenant, firstOffset, events, packer, redoFrom }
}

/** Commits `count` entries of a tenant after its last one. */
async function append(count: number, more: Partial<SealedCommit<Entry>> & { tenant?: string; redoFrom?: number } = {}) {
  const { tenant = 'default', redoFrom, ...commit } = more
  const firstOffset = journal.stream(tenant).last + 1
  await journal.write({
    now: 1_000 + firstOffset,
    streams: [partOf(tenant, firstOffset, entries(firstOffset, count), redoFrom)],
    records: new Map(),
    ...commit,
  })
}

const chunkKeys = async (tenant = 'default') =>
  (await rowsOf(storage)).map(({ key }) => key).filter((key) => key.startsWith(`stream/${tenant}/`))

describe('a commit', () => {
  test('writes chunks, redo mark and records at once', async () => {
    await append(2, { records: new Map([['part/x', Uint8Array.of(1)]]) })
    expect((await rowsOf(storage)).map(({ key }) => key)).toEqual(['part/x', 'redo/default', keys.chunk('default', 1)])
    await append(1, { records: new Map([['part/x', null]]) })
    expect(storage.get('part/x')).toBeUndefined()
    expect(journal.last.operations).toBe(2)
  })

  test.each([
    [chunkEntriesMax - 1, [1]],
    [chunkEntriesMax, [1]],
    [chunkEntriesMax + 1, [1, chunkEntriesMax + 1]],
    [chunkEntriesMax * 3, [1, chunkEntriesMax + 1, 2 * chunkEntriesMax + 1]],
  ])('of %i entries is split into chunks of at most 512', async (count, firsts) => {
    await append(count)
    expect(await chunkKeys()).toEqual(firsts.map((first) => keys.chunk('default', first)))
    expect(journal.stream('default').last).toBe(count)
    const all = [...journal.eventsSince('default', 1)]
    expect(all).toEqual(entries(1, count).map((event, index) => ({ offset: index + 1, event })))
  })

  test('writes the redo mark only if it moves, and may have no entries', async () => {
    await append(1)
    await append(1)
    expect(journal.last.operations).toBe(1)
    await append(0, { redoFrom: 3 })
    expect(journal.last.operations).toBe(1)
    expect(await chunkKeys()).toHaveLength(2)
    expect([journal.stream('default').redoFrom, journal.stream('default').last]).toEqual([3, 2])
  })

  test('keeps the streams of tenants apart', async () => {
    const streams = ['one', 'two'].map((tenant) => partOf(tenant, 1, entries(1, 2)))
    await journal.write({ now: 1, streams, records: new Map() })
    await append(1, { tenant: 'two' })
    expect([journal.stream('one').last, journal.stream('two').last]).toEqual([2, 3])
    expect(await journal.load('one', 3)).toBeUndefined()
    expect((await journal.load('two', 3))?.events).toEqual([entryAt(3)])
  })

  test('that fails does not change the streams', async () => {
    await append(2)
    const backend = memoryStorage({ faults: { beforeWrite: () => ({ fail: 'full', reachedDisk: true }) } })
    const failing = new StoreJournal({ isSynced: false })
    failing.open(await backend.open())
    const commit = { now: 1, streams: [partOf('default', 1, entries(1, 2))] }
    await expect(failing.write({ ...commit, records: new Map() })).rejects.toMatchObject({ code: 'full' })
    expect(failing.stream('default').last).toBe(0)
    expect(failing.recent('default', 1)).toBeUndefined()
  })

  test('survives a power loss if commits are synced', async () => {
    for (const isSynced of [true, false]) {
      const backend = memoryStorage()
      const synced = new StoreJournal({ isSynced })
      synced.open(await backend.open())
      await synced.write({ now: 1, streams: [], records: new Map([['part/x', Uint8Array.of(1)]]) })
      backend.losePower()
      expect((await backend.open()).get('part/x') !== undefined).toBe(isSynced)
    }
  })
})

describe('reading', () => {
  const sizes = [1, 3, chunkEntriesMax + 2, 1]
  const last = sizes.reduce((sum, size) => sum + size, 0)

  beforeEach(async () => {
    for (const size of sizes) await append(size)
  })

  test.each(['recent', 'load'] as const)(
    '%s returns the chunk that holds an offset, at every boundary',
    async (how) => {
      for (const offset of [1, 2, 4, 5, chunkEntriesMax + 4, chunkEntriesMax + 5, last - 1, last]) {
        const chunk = await journal[how]('default', offset)
        const index = offset - (chunk?.firstOffset ?? 0)
        expect(chunk?.events[index]).toEqual(entryAt(offset))
        expect(chunk?.firstOffset).toBeLessThanOrEqual(offset)
      }
      for (const offset of [0, -1, last + 1, last + 1_000])
        expect(await journal[how]('default', offset)).toBeUndefined()
      expect(await journal[how]('unknown', 1)).toBeUndefined()
    },
  )

  test('events since any offset of the redo window are found, for any moves of the window', async () => {
    await forAllAsync(
      [
        fc.array(fc.tuple(fc.integer({ min: 0, max: 5 }), fc.double({ min: 0, max: 1, noNaN: true })), {
          maxLength: 30,
        }),
      ],
      30,
      async (commits) => {
        const backend = memoryStorage()
        const other = new StoreJournal({ isSynced: false })
        other.open(await backend.open())
        let redoFrom = 1
        let end = 0
        for (const [count, share] of commits) {
          end += count
          redoFrom += Math.floor((end + 1 - redoFrom) * share)
          const streams = [partOf('t', end - count + 1, entries(end - count + 1, count), redoFrom)]
          await other.write({ now: 1, streams, records: new Map() })
          for (let offset = redoFrom; offset <= end + 1; offset++) {
            const offsets = [...other.eventsSince('t', offset)].map((placed) => placed.offset)
            expect(offsets).toEqual(Array.from({ length: end - offset + 1 }, (_, index) => offset + index))
          }
        }
      },
    )
  })

  test('a deleted chunk is not found', async () => {
    const stream = journal.stream('default')
    journal.trim(stream, [keys.chunk('default', 1), keys.chunk('default', 2)], 5, 77)
    expect(journal.isTrimming).toBe(true)
    expect(journal.retainedFrom('default')).toBe(1)
    await append(1)
    expect(journal.isTrimming).toBe(false)
    expect(journal.retainedFrom('default')).toBe(5)
    expect(stream.bytesStart).toBe(77)
    expect(await journal.load('default', 4)).toBeUndefined()
    expect((await journal.load('default', 5))?.firstOffset).toBe(5)
  })

  test('reopening discards the streams in memory', async () => {
    journal.open(storage)
    expect(journal.recent('default', 1)).toBeUndefined()
    expect(journal.stream('default').last).toBe(0)
    // Stored chunks can still be read.
    expect((await journal.load('default', 2))?.events).toHaveLength(3)
  })

  test('the size of a stream is that of its chunks', async () => {
    const rows = (await rowsOf(storage)).filter(({ key }) => key.startsWith('stream/'))
    const bytes = rows.reduce((sum, { value }) => sum + value.length, 0)
    expect(journal.stream('default').bytes).toBe(bytes)
  })
})

describe('a dropped stream', () => {
  const touch = (redoFrom: number, more: { count?: number; records?: Map<string, null> } = {}) =>
    journal.write({
      now: 1,
      streams: [partOf('default', redoFrom, entries(redoFrom, more.count ?? 0), redoFrom)],
      records: more.records ?? new Map(),
    })

  test('is forgotten with its next commit, and continues at the offset of that commit', async () => {
    for (let commit = 0; commit < 3; commit++) await append(2)
    await append(3, { tenant: 'other' })
    expect((await journal.load('default', 1))?.events).toHaveLength(2)
    expect(journal.dropStream('default')).toBe(true)
    await append(1, { tenant: 'other' })
    expect(journal.retainedFrom('default')).toBe(1)
    // One offset is skipped.
    await touch(8)
    const stream = journal.stream('default')
    expect([stream.last, stream.retainedFrom, stream.redoFrom, stream.bytes]).toEqual([7, 8, 8, 0])
    expect([...journal.eventsSince('default', 1)]).toEqual([])
    for (let offset = 1; offset <= 8; offset++) expect(journal.recent('default', offset)).toBeUndefined()
    expect(journal.retainedFrom('other')).toBe(1)
    expect(journal.recent('other', 4)?.firstOffset).toBe(4)
    await append(2, { redoFrom: 8 })
    expect(journal.recent('default', 9)?.firstOffset).toBe(8)
    expect([...journal.eventsSince('default', 1)].map(({ offset }) => offset)).toEqual([8, 9])
    expect(stream.bytes).toBe(storage.get(keys.chunk('default', 8))?.length)
    await append(1, { redoFrom: 8 })
    expect(journal.retainedFrom('default')).toBe(8)
  })

  test('keeps the entries of that commit', async () => {
    await append(3)
    journal.dropStream('default')
    await touch(5, { count: 2 })
    const stream = journal.stream('default')
    expect([stream.last, stream.retainedFrom, stream.redoFrom]).toEqual([6, 5, 5])
    expect(journal.recent('default', 6)?.events).toHaveLength(2)
    expect([...journal.eventsSince('default', 5)].map(({ offset }) => offset)).toEqual([5, 6])
  })

  test('is never an empty stream', async () => {
    expect(journal.dropStream('default')).toBe(false)
    await append(2)
    expect(journal.dropStream('default')).toBe(true)
    await touch(4)
    expect(journal.dropStream('default')).toBe(false)
  })

  test('is not restored by a pending trim', async () => {
    for (let commit = 0; commit < 3; commit++) await append(2)
    journal.trim(journal.stream('default'), [keys.chunk('default', 1)], 3, 55)
    journal.dropStream('default')
    await touch(8)
    const stream = journal.stream('default')
    expect([stream.retainedFrom, stream.bytes]).toEqual([8, 0])
    expect(storage.get(keys.chunk('default', 1))).toBeUndefined()
  })

  test('remains after a failed commit', async () => {
    await append(2)
    journal.dropStream('default')
    journal.open(storage)
    await append(2, { redoFrom: 3 })
    expect(journal.retainedFrom('default')).toBe(1)
    expect(journal.stream('default').last).toBe(2)
  })
})

test.each([
  ['by default', undefined, recentBytesMax],
  ['with small retention', 4 * 1024 * 1024, 4 * 1024 * 1024],
])(
  'the memory for recent chunks is limited %s, and older ones are read from the store',
  async (_, retainedBytesMax, keptBytesMax) => {
    const own = new StoreJournal({ isSynced: false, ...(retainedBytesMax && { retainedBytesMax }) })
    own.open(journal.storage)
    const large = 'x'.repeat(60_000)
    let offset = 0
    for (let bytes = 0; bytes < keptBytesMax * 1.1 + 3_000_000; bytes += 60_000 * 50) {
      const events = Array.from({ length: 50 }, (): Entry => ({ kind: 'meta_deleted', device: 'A', at: 1, key: large }))
      await own.write({ now: 1, streams: [partOf('default', offset + 1, events)], records: new Map() })
      offset += 50
    }
    expect(own.recent('default', 1)).toBeUndefined()
    expect(own.recent('default', offset)?.events).toHaveLength(5)
    expect((await own.load('default', 1))?.events).toHaveLength(5)
  },
)

test('a journal that is not open has no storage', () => {
  expect(() => new StoreJournal({ isSynced: false }).storage).toThrow('not open')
})
