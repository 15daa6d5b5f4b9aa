import { describe, expect, test } from 'vitest'
import type { StoragePlace } from '#runtime/storage'
import { embeddedLog } from '#store/commit-log'
import { memoryPlace, type WriteFault } from '#test/store/memory'
import { put, remove, rowsOf, text } from '#test/store/storage-suite'

async function opened(place: StoragePlace) {
  const storage = await place.open()
  return { storage, log: embeddedLog(false)(storage) }
}

describe('the commit log', () => {
  test('stores all operations of a commit, and commits in the order of the calls', async () => {
    const { storage, log } = await opened(memoryPlace())
    await Promise.all([log([put('a', '1'), put('b', '1')]), log([put('a', '2'), remove('b')]), log([put('c', '3')])])
    expect((await rowsOf(storage)).map(({ key, value }) => key + text(value))).toEqual(['a2', 'c3'])
  })

  test.each([true, false])('stores no commit after a failed one (stored: %s)', async (reachedDisk) => {
    const faults: { beforeWrite?: () => WriteFault } = {}
    const place = memoryPlace({ faults })
    const { storage, log } = await opened(place)
    await log([put('a', '1')])
    faults.beforeWrite = () => ({ fail: 'full', reachedDisk })
    const failed = log([put('a', '2'), put('b', '2')])
    const next = log([put('c', '3')])
    await expect(failed).rejects.toMatchObject({ name: 'StorageFailure' })
    delete faults.beforeWrite
    await expect(next).rejects.toMatchObject({ name: 'StorageFailure' })
    await expect(log([put('d', '4')])).rejects.toMatchObject({ name: 'StorageFailure' })
    await storage.close()
    const again = await opened(place)
    const rows = async () => (await rowsOf(again.storage)).map(({ key, value }) => key + text(value))
    const stored = reachedDisk ? ['a2', 'b2'] : ['a1']
    expect(await rows()).toEqual(stored)
    await again.log([put('e', '5')])
    expect(await rows()).toEqual([...stored, 'e5'])
  })
})
