import { expect, test } from 'vitest'
import type { Entry } from '#model/entry'
import type { Activation } from '#runtime/activation'
import { type BulkActivationLimits, NameFilter, NameHashIndex } from '#store/bulk-activation'
import { textHash } from '#store/msgpack-reader'
import { openRuntime, type RuntimeFixture } from '#test/runtime/runtime-fixture'
import { tallyAddress } from '#test/runtime/tally-actors'
import { wrapScans, wrapStorage } from '#test/store/wrapped-scans'

const nameOf = (number: number) => `T${String(number).padStart(4, '0')}`
const always: BulkActivationLimits = { entriesMin: 1, actorsMin: 1, rowsAhead: 1, rowsPerActor: 4 }

/** Actors with a snapshot each; one in `every` has an event after its snapshot. */
async function crashed(count: number, every: number): Promise<RuntimeFixture> {
  const fixture = await openRuntime()
  for (let number = 0; number < count; number++) {
    fixture.send(tallyAddress(nameOf(number)), { type: 'add', add: [number], isCheckpointed: true })
  }
  await fixture.settle()
  for (let number = 0; number < count; number += every) {
    fixture.send(tallyAddress(nameOf(number)), { type: 'add', add: [number + 0.5] })
  }
  await fixture.settle()
  fixture.crash()
  return fixture
}

/** Counts the snapshots that are read alone, and in the rows of scans, by handles opened from now on. */
function reads({ backend }: RuntimeFixture): { alone: number; inRows: number } {
  const seen = { alone: 0, inRows: 0 }
  const isSnapshot = (key: string) => key.startsWith('actor/')
  wrapStorage(backend, (storage) => {
    const get = storage.get.bind(storage)
    storage.get = (key) => {
      if (isSnapshot(key)) seen.alone++
      return get(key)
    }
    wrapScans(storage, async (read, countMax) => {
      const found = await read(countMax)
      seen.inRows += found.filter(({ key }) => isSnapshot(key)).length
      return found
    })
  })
  return seen
}

function expectAll(fixture: RuntimeFixture, count: number, every: number): void {
  for (let number = 0; number < count; number++) {
    const added = fixture.addedOf(tallyAddress(nameOf(number))).map(({ value }) => value)
    expect(added).toEqual(number % every === 0 ? [number, number + 0.5] : [number])
  }
}

test('one scan wakes many actors with the same states as single reads', async () => {
  const fixture = await crashed(1_000, 1)
  const seen = reads(fixture)
  const again = await fixture.restart({ bulkActivation: always })
  expect(seen).toEqual({ alone: 0, inRows: 1_000 })
  expect(again.system.registry.awakeCount).toBe(1_000)
  expectAll(again, 1_000, 1)
})

test('only actors with entries are woken', async () => {
  const fixture = await crashed(900, 3)
  const seen = reads(fixture)
  const again = await fixture.restart({ bulkActivation: always })
  expect(seen).toEqual({ alone: 0, inRows: 900 })
  expect(again.system.registry.awakeCount).toBe(300)
  expectAll(again, 900, 3)
})

test.each([
  ['entries', { ...always, entriesMin: 101 }],
  ['actors', { ...always, actorsMin: 101 }],
])('with few %s each snapshot is read alone', async (_, bulkActivation) => {
  const fixture = await crashed(100, 1)
  const seen = reads(fixture)
  expectAll(await fixture.restart({ bulkActivation }), 100, 1)
  expect(seen).toMatchObject({ inRows: 0 })
  expect(seen.alone).toBeGreaterThanOrEqual(100)
})

test('the scan stops if most snapshots are useless', async () => {
  const fixture = await crashed(3_000, 300)
  const seen = reads(fixture)
  const again = await fixture.restart({ bulkActivation: always })
  // The page that shows that most are useless, and the next page, which is already being read.
  expect(seen.inRows).toBeLessThanOrEqual(1_024)
  expectAll(again, 3_000, 300)
})

test('each tenant wakes its own actors', async () => {
  const fixture = await openRuntime()
  for (const tenant of ['a', 'a-1', 'b']) {
    fixture.send(tallyAddress('A', tenant), { type: 'add', add: [1], isCheckpointed: true })
    await fixture.settle()
    fixture.send(tallyAddress('A', tenant), { type: 'add', add: [2] })
    await fixture.settle()
  }
  fixture.crash()
  const again = await fixture.restart({ bulkActivation: always })
  expect(again.system.registry.awakeCount).toBe(3)
  for (const tenant of ['a', 'a-1', 'b']) {
    expect(again.valuesOf(tallyAddress('A', tenant))).toEqual([1, 2])
  }
})

test('an activation is found by the hash of its name', () => {
  const woken = new NameHashIndex()
  const all = Array.from({ length: 5_000 }, (_, number) => ({ id: nameOf(number) }) as Activation<Entry>)
  for (const each of all) woken.add(textHash(each.id, 0), each)
  for (const each of all) expect(woken.find(textHash(each.id, 0))).toBe(each)
  expect(woken.find(textHash('unknown', 0))).toBeUndefined()
  expect(new NameHashIndex().find(0)).toBeUndefined()
})

test('a name filter contains every added name and few others', () => {
  const names = new NameFilter()
  const seen = 100_000
  for (let number = 0; number < seen; number++) names.add(textHash(nameOf(number), 0))
  const known = Array.from({ length: seen }, (_, number) => names.has(`x/${nameOf(number)}`, 2))
  expect(known).not.toContain(false)
  expect(names.count).toBeGreaterThan(0.98 * seen)
  const others = Array.from({ length: seen }, (_, number) => names.has(nameOf(seen + number), 0))
  expect(others.filter((isKnown) => isKnown).length).toBeLessThan(0.025 * seen)
})
