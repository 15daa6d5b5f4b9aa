import { beforeEach, describe, expect, test } from 'vitest'
import { Epochs } from '#store/epochs'
import { ManualWorld } from '#test/runtime/manual-world'
import { openRuntime, type RuntimeFixture } from '#test/runtime/runtime-fixture'
import { tallyAddress } from '#test/runtime/tally-actors'
import { type MemoryBackend, memoryStorage } from '#test/store/memory'
import { rowsOf } from '#test/store/storage-suite'

const heads = (offset: number) => new Map([['default', offset]])

describe('the last offset under an epoch', () => {
  let backend: MemoryBackend
  let epochs: Epochs

  beforeEach(async () => {
    backend = memoryStorage()
    const storage = await backend.open()
    epochs = await Epochs.load(storage)
    await epochs.begin(storage, 'first', new Map())
    await epochs.begin(storage, 'second', heads(10))
    await epochs.begin(storage, 'third', heads(10).set('other', 3))
    await epochs.begin(storage, 'fourth', heads(25))
  })

  test.each([
    ['first', 'default', 10],
    ['second', 'default', 10],
    ['third', 'default', 25],
    ['fourth', 'default', 99],
    // A stream that did not exist when the next epoch began has no offsets in this one.
    ['first', 'other', 0],
    ['second', 'other', 3],
    ['third', 'other', 0],
    // A valid tenant name, and a property of every object.
    ['first', 'constructor', 0],
    ['', 'default', undefined],
    ['unknown', 'default', undefined],
  ])('%s of %s is %s', (name, tenant, last) => {
    expect(epochs.lastUnder(name, tenant, 99)).toBe(last)
  })

  test('is the same after a restart', async () => {
    backend.crash()
    const loaded = await Epochs.load(await backend.open())
    expect(loaded.current).toBe('fourth')
    for (const name of ['first', 'second', 'third', 'fourth']) {
      expect(loaded.lastUnder(name, 'default', 99)).toBe(epochs.lastUnder(name, 'default', 99))
    }
  })

  test('an epoch is fsynced before any write in it', async () => {
    backend.losePower()
    expect((await Epochs.load(await backend.open())).current).toBe('fourth')
  })
})

test('a new store has no epoch', async () => {
  const epochs = await Epochs.load(await memoryStorage().open())
  expect(epochs.current).toBe('')
  expect(epochs.lastUnder('', 'default', 5)).toBeUndefined()
})

test('only 256 epochs are stored; older ones are unknown', async () => {
  const backend = memoryStorage()
  const storage = await backend.open()
  const epochs = await Epochs.load(storage)
  for (let number = 1; number <= 300; number++) await epochs.begin(storage, `e${number}`, heads(number))
  expect(epochs.lastUnder('e44', 'default', 999)).toBeUndefined()
  expect(epochs.lastUnder('e45', 'default', 999)).toBe(46)
  expect((await rowsOf(storage)).length).toBe(256)
  const loaded = await Epochs.load(storage)
  expect(loaded.lastUnder('e44', 'default', 999)).toBeUndefined()
  expect(loaded.lastUnder('e45', 'default', 999)).toBe(46)
  await loaded.begin(storage, 'next', heads(300))
  expect(loaded.lastUnder('e45', 'default', 999)).toBeUndefined()
  expect((await Epochs.load(storage)).current).toBe('next')
})

describe('at each start', () => {
  const add = async (fixture: RuntimeFixture, count: number) => {
    for (let number = 0; number < count; number++) {
      fixture.send(tallyAddress('A'), { type: 'add', add: [number] })
      await fixture.settle()
    }
  }

  test('a new epoch begins, and offsets continue', async () => {
    const first = await openRuntime()
    await add(first, 3)
    first.crash()
    const second = await first.restart()
    await add(second, 2)
    expect(second.epoch).not.toBe(first.epoch)
    const { journal } = second
    expect(journal.lastOffsetUnder('default', first.epoch)).toBe(3)
    expect(journal.lastOffsetUnder('default', second.epoch)).toBe(5)
    expect(journal.lastOffsetUnder('default', 'guessed')).toBeUndefined()
  })

  test('after a power loss the old epoch does not cover lost events', async () => {
    const first = await openRuntime({ isSynced: false })
    await add(first, 5)
    first.backend.losePower()
    first.world.kill()
    const second = await first.restart()
    // Only the epoch itself was fsynced.
    expect(second.journal.stream('default').last).toBe(0)
    await add(second, 8)
    expect(second.journal.lastOffsetUnder('default', first.epoch)).toBe(0)
    expect(second.journal.lastOffsetUnder('default', second.epoch)).toBe(8)
  })

  test('the name of the epoch is random, so a restored copy gets another one than the original', async () => {
    const one = await openRuntime({ world: new ManualWorld({ seed: 1 }) })
    const other = await openRuntime({ world: new ManualWorld({ seed: 2 }) })
    expect(one.epoch).not.toBe(other.epoch)
    expect(one.epoch).toMatch(/^[\w-]{16}$/)
  })
})
