import { beforeEach, describe, expect, test } from 'vitest'
import { Problem } from '#model/problem'
import { type Pages, type Scan, type Storage, StorageFailure } from '#runtime/storage'
import { keys } from '#store/key-space'
import { StoreListing } from '#store/store-listing'
import { memoryStorage } from '#test/store/memory'

let listing: StoreListing
let storage: Storage

const devices = ['#$A-1', 'A', 'A-1', 'A=', 'AB', 'Z']
const entries = ['a.b/A', 'a/A', 'a/B', 'a/C', 'ab/A', 'b/A']

beforeEach(async () => {
  storage = await memoryStorage().open()
  listing = new StoreListing(() => storage)
  const present = (key: string) => ({ key, value: new Uint8Array(0) })
  await storage.write(
    [
      ...devices.map((id) => present(keys.snapshot({ kind: 'device', tenant: 'one', id }))),
      present(keys.snapshot({ kind: 'device', tenant: 'one-more', id: 'X' })),
      present(keys.snapshot({ kind: 'devices', tenant: 'one', id: 'X' })),
      present(keys.part({ kind: 'device', tenant: 'one', id: 'A' }, 'secret')),
      ...entries.map((entry) => present(keys.index('one', 'service', entry))),
      present(keys.index('other', 'service', 'a/X')),
      present(keys.index('one', 'services', 'a/X')),
    ],
    { sync: false },
  )
})

async function readAll(pages: Pages, atATime = 2): Promise<string[]> {
  const names: string[] = []
  for (let page = await pages.next(atATime); page.length > 0; page = await pages.next(atATime)) names.push(...page)
  await pages.close()
  return names
}

describe('actors', () => {
  test('of a kind and tenant are listed in order, without their parts', async () => {
    expect(await readAll(listing.actors('device', 'one'))).toEqual(devices)
    expect(await readAll(listing.actors('device', 'one-more'))).toEqual(['X'])
    expect(await readAll(listing.actors('device', 'unknown'))).toEqual([])
  })

  test('continue after any name, existing or not', async () => {
    expect(await readAll(listing.actors('device', 'one', 'A-1'))).toEqual(['A=', 'AB', 'Z'])
    expect(await readAll(listing.actors('device', 'one', 'AA'))).toEqual(['AB', 'Z'])
    expect(await readAll(listing.actors('device', 'one', 'Z'))).toEqual([])
  })
})

describe('entries of an index', () => {
  test('are listed all, or only those with a prefix', async () => {
    expect(await readAll(listing.entries('service', 'one'))).toEqual(entries)
    expect(await readAll(listing.entries('service', 'one', 'a/'))).toEqual(['a/A', 'a/B', 'a/C'])
    expect(await readAll(listing.entries('service', 'one', 'c/'))).toEqual([])
  })

  test('continue after an entry, within the prefix', async () => {
    expect(await readAll(listing.entries('service', 'one', 'a/', 'a/A'))).toEqual(['a/B', 'a/C'])
    expect(await readAll(listing.entries('service', 'one', 'a/', 'a/C'))).toEqual([])
    expect(await readAll(listing.entries('service', 'one', '', 'a/B'))).toEqual(['a/C', 'ab/A', 'b/A'])
  })

  test('come in pages of at most the given size', async () => {
    const pages = listing.entries('service', 'one')
    expect((await pages.next(4)).length).toBeLessThanOrEqual(4)
    await pages.close()
  })
})

describe('while the store reopens', () => {
  const refusal = expect.objectContaining({ code: 'storage' })

  test('new and open listings are refused', async () => {
    const pages = listing.entries('service', 'one')
    expect(await pages.next(1)).toEqual(entries.slice(0, 1))
    await storage.close()
    await expect(pages.next(1)).rejects.toThrow(Problem)
    await expect(pages.next(1)).rejects.toEqual(refusal)
    await pages.close()
    for (const list of [() => listing.entries('service', 'one'), () => listing.actors('device', 'one')]) {
      expect(list).toThrow(refusal)
    }
  })

  test('a damaged store throws its own error', async () => {
    const failure = new StorageFailure('damaged', 'a page is gone')
    const scan: Scan = { next: () => Promise.reject(failure), close: async () => {} }
    const damaged = new StoreListing(() => ({ ...storage, scan: () => scan }) as Storage)
    await expect(damaged.entries('service', 'one').next(1)).rejects.toBe(failure)
  })
})
