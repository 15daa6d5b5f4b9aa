import { describe, expect, test } from 'vitest'
import { openFaulty, openRuntime, type RuntimeFixture } from '#test/runtime/runtime-fixture'
import { bookAddress, tallyAddress } from '#test/runtime/tally-actors'

const never = Number.MAX_SAFE_INTEGER
const k = bookAddress('K')

/** Writes commits of ten events each, with their snapshots. */
async function write(fixture: RuntimeFixture, commits: number, everyMs = 0): Promise<void> {
  for (let commit = 0; commit < commits; commit++) {
    fixture.send(k, { type: 'add', add: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10] })
    await fixture.settle()
    if (everyMs > 0) await fixture.world.advance(everyMs)
  }
}

const stream = (fixture: RuntimeFixture) => fixture.journal.stream('default')

/** Exactly the retained events can be read. */
async function expectRetained(fixture: RuntimeFixture): Promise<void> {
  const { retainedFrom, last } = stream(fixture)
  expect(await loaded(fixture, retainedFrom - 1)).toBeUndefined()
  if (retainedFrom <= last) expect(await loaded(fixture, retainedFrom)).toBeDefined()
  if (last > 0 && retainedFrom <= last) expect(await loaded(fixture, last)).toBeDefined()
}

async function loaded(fixture: RuntimeFixture, offset: number) {
  const found = fixture.journal.load('default', offset)
  await fixture.settle()
  return await found
}

describe('a stream that is too large', () => {
  test('loses its oldest chunks until it fits', async () => {
    const bytesMax = 2_000
    const fixture = await openRuntime({ retention: { bytesMax, ageMsMax: never } })
    await write(fixture, 100)
    expect(stream(fixture).bytes).toBeGreaterThan(bytesMax)
    await fixture.world.advance(10_000)
    expect(stream(fixture).bytes).toBeLessThanOrEqual(bytesMax)
    // The stream is smaller than the limit by no more than a chunk.
    expect(stream(fixture).bytes).toBeGreaterThan(bytesMax - 400)
    await expectRetained(fixture)
  })

  test('has the same size after a restart', async () => {
    const retention = { bytesMax: 2_000, ageMsMax: never }
    const fixture = await openRuntime({ retention })
    await write(fixture, 50)
    await fixture.world.advance(5_000)
    const { retainedFrom, bytes, last } = stream(fixture)
    fixture.crash()
    const again = await fixture.restart({ retention })
    expect([stream(again).retainedFrom, stream(again).bytes, stream(again).last]).toEqual([retainedFrom, bytes, last])
    expect(again.journal.retainedFrom('default')).toBe(retainedFrom)
    await expectRetained(again)
    await write(again, 50)
    await again.world.advance(5_000)
    expect(stream(again).bytes).toBeLessThanOrEqual(2_000)
    await expectRetained(again)
  })
})

describe('a stream that is too old', () => {
  test('loses the chunks that are too old', async () => {
    const fixture = await openRuntime({ retention: { bytesMax: never, ageMsMax: 60_000 } })
    await write(fixture, 20, 10_000)
    await fixture.world.advance(2_000)
    // Commits of the last minute, and some that the check of each second has not seen yet.
    const retained = stream(fixture).last - stream(fixture).retainedFrom + 1
    expect(retained).toBeGreaterThanOrEqual(50)
    expect(retained).toBeLessThanOrEqual(70)
    await expectRetained(fixture)
  })

  test('keeps its last chunk, and offsets continue, even after a restart', async () => {
    const retention = { bytesMax: never, ageMsMax: 60_000 }
    const fixture = await openRuntime({ retention })
    await write(fixture, 3)
    await fixture.world.advance(120_000)
    expect([stream(fixture).retainedFrom, stream(fixture).last]).toEqual([21, 30])
    await expectRetained(fixture)
    fixture.crash()
    const again = await fixture.restart({ retention })
    expect([stream(again).retainedFrom, stream(again).last]).toEqual([21, 30])
    await write(again, 1)
    expect(again.outputs.slice(0, 1)).toEqual(['event default 31'])
    await expectRetained(again)
  })
})

describe('the redo window', () => {
  test('is never deleted for size or age', async () => {
    const retention = { bytesMax: 1, ageMsMax: 1 }
    const fixture = await openRuntime({ retention })
    await write(fixture, 5)
    fixture.send(tallyAddress('A'), { type: 'add', add: [7] })
    await fixture.settle()
    await write(fixture, 5)
    await fixture.world.advance(10_000)
    expect(stream(fixture).redoFrom).toBe(51)
    expect(stream(fixture).retainedFrom).toBe(51)
    fixture.crash()
    const again = await fixture.restart({ retention })
    expect(again.addedOf(tallyAddress('A'))).toEqual([{ value: 7, offset: 51 }])
    await expectRetained(again)
    // After a snapshot the chunk can be deleted.
    again.send(tallyAddress('A'), { type: 'add', isCheckpointed: true })
    await again.world.advance(10_000)
    expect(stream(again).retainedFrom).toBe(stream(again).last - 9)
  })

  test('keeps a chunk that it shares with older events', async () => {
    const retention = { bytesMax: 1, ageMsMax: 1 }
    const fixture = await openRuntime({ retention })
    fixture.send(k, { type: 'add', add: [1, 2] })
    fixture.send(tallyAddress('A'), { type: 'add', add: [7] })
    await fixture.settle()
    await fixture.world.advance(5_000)
    expect([stream(fixture).redoFrom, stream(fixture).retainedFrom]).toEqual([3, 1])
    await expectRetained(fixture)
  })
})

test('a stream within its limits loses nothing', async () => {
  const fixture = await openRuntime({ retention: { bytesMax: 1_000_000, ageMsMax: 1_000_000 } })
  await write(fixture, 20)
  const commits = fixture.commits.length
  await fixture.world.advance(60_000)
  expect(stream(fixture).retainedFrom).toBe(1)
  expect(fixture.commits).toHaveLength(commits)
})

test('many chunks are deleted in steps, in commits of limited size', async () => {
  const fixture = await openRuntime({ retention: { bytesMax: 1, ageMsMax: never } })
  for (let commit = 0; commit < 2_500; commit++) {
    fixture.send(k, { type: 'add', add: [1] })
    await fixture.settle()
  }
  const operations: number[] = []
  const { write } = fixture.journal
  fixture.journal.write = async (commit) => {
    const bytes = await write(commit)
    operations.push(fixture.journal.last.operations)
    return bytes
  }
  await fixture.world.advance(5_000)
  expect(stream(fixture).retainedFrom).toBe(2_500)
  expect(operations.length).toBeGreaterThan(1)
  expect(Math.max(...operations)).toBeLessThan(1_100)
})

test('a failed commit deletes nothing', async () => {
  const { backend, faults, fixture } = await openFaulty({ retention: { bytesMax: 1_000, ageMsMax: never } })
  await write(fixture, 40)
  faults.next = { fail: 'full', reachedDisk: false }
  backend.setRoom(false)
  await fixture.world.advance(3_000)
  expect(fixture.log[0]).toBe('failed full')
  expect(stream(fixture).retainedFrom).toBe(1)
  await expectRetained(fixture)
  backend.setRoom(true)
  await fixture.world.advance(10_000)
  expect(stream(fixture).bytes).toBeLessThanOrEqual(1_000)
  await expectRetained(fixture)
})

test('the limits apply to each tenant', async () => {
  const fixture = await openRuntime({ retention: { bytesMax: 1_000, ageMsMax: never } })
  await write(fixture, 30)
  fixture.send(bookAddress('K', 'other'), { type: 'add', add: [1] })
  await fixture.world.advance(10_000)
  expect(stream(fixture).retainedFrom).toBeGreaterThan(1)
  expect(fixture.journal.retainedFrom('other')).toBe(1)
})
