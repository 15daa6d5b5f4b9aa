import { describe, expect, test } from 'vitest'
import { ManualWorld } from '#test/runtime/manual-world'
import { faultyPlace, openStage, type RuntimeFixture } from '#test/runtime/runtime-fixture'
import { bookAddress, tallyAddress } from '#test/runtime/tally-actors'

const never = Number.MAX_SAFE_INTEGER
const k = bookAddress('K')

/** Writes commits of ten events each, with their snapshots. */
async function write(stage: RuntimeFixture, commits: number, everyMs = 0): Promise<void> {
  for (let commit = 0; commit < commits; commit++) {
    stage.send(k, { type: 'add', add: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10] })
    await stage.settle()
    if (everyMs > 0) await stage.world.advance(everyMs)
  }
}

const stream = (stage: RuntimeFixture) => stage.journal.stream('default')

/** Exactly the retained events can be read. */
async function expectRetained(stage: RuntimeFixture): Promise<void> {
  const { retainedFrom, last } = stream(stage)
  expect(await loaded(stage, retainedFrom - 1)).toBeUndefined()
  if (retainedFrom <= last) expect(await loaded(stage, retainedFrom)).toBeDefined()
  if (last > 0 && retainedFrom <= last) expect(await loaded(stage, last)).toBeDefined()
}

async function loaded(stage: RuntimeFixture, offset: number) {
  const found = stage.journal.load('default', offset)
  await stage.settle()
  return await found
}

describe('a stream that is too large', () => {
  test('loses its oldest chunks until it fits', async () => {
    const bytesMax = 2_000
    const stage = await openStage({ retention: { bytesMax, ageMsMax: never } })
    await write(stage, 100)
    expect(stream(stage).bytes).toBeGreaterThan(bytesMax)
    await stage.world.advance(10_000)
    expect(stream(stage).bytes).toBeLessThanOrEqual(bytesMax)
    // By no more than a chunk.
    expect(stream(stage).bytes).toBeGreaterThan(bytesMax - 400)
    await expectRetained(stage)
  })

  test('has the same size after a restart', async () => {
    const retention = { bytesMax: 2_000, ageMsMax: never }
    const stage = await openStage({ retention })
    await write(stage, 50)
    await stage.world.advance(5_000)
    const { retainedFrom, bytes, last } = stream(stage)
    stage.crash()
    const again = await stage.restart({ retention })
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
    const stage = await openStage({ retention: { bytesMax: never, ageMsMax: 60_000 } })
    await write(stage, 20, 10_000)
    await stage.world.advance(2_000)
    // Commits of the last minute, and some that the check of each second has not seen yet.
    const retained = stream(stage).last - stream(stage).retainedFrom + 1
    expect(retained).toBeGreaterThanOrEqual(50)
    expect(retained).toBeLessThanOrEqual(70)
    await expectRetained(stage)
  })

  test('keeps its last chunk, and offsets continue, even after a restart', async () => {
    const retention = { bytesMax: never, ageMsMax: 60_000 }
    const stage = await openStage({ retention })
    await write(stage, 3)
    await stage.world.advance(120_000)
    expect([stream(stage).retainedFrom, stream(stage).last]).toEqual([21, 30])
    await expectRetained(stage)
    stage.crash()
    const again = await stage.restart({ retention })
    expect([stream(again).retainedFrom, stream(again).last]).toEqual([21, 30])
    await write(again, 1)
    expect(again.outputs.slice(0, 1)).toEqual(['event default 31'])
    await expectRetained(again)
  })
})

describe('the redo window', () => {
  test('is never deleted for size or age', async () => {
    const retention = { bytesMax: 1, ageMsMax: 1 }
    const stage = await openStage({ retention })
    await write(stage, 5)
    stage.send(tallyAddress('A'), { type: 'add', add: [7] })
    await stage.settle()
    await write(stage, 5)
    await stage.world.advance(10_000)
    expect(stream(stage).redoFrom).toBe(51)
    expect(stream(stage).retainedFrom).toBe(51)
    stage.crash()
    const again = await stage.restart({ retention })
    expect(again.addedOf(tallyAddress('A'))).toEqual([{ value: 7, offset: 51 }])
    await expectRetained(again)
    // After a snapshot the chunk can be deleted.
    again.send(tallyAddress('A'), { type: 'add', isCheckpointed: true })
    await again.world.advance(10_000)
    expect(stream(again).retainedFrom).toBe(stream(again).last - 9)
  })

  test('keeps a chunk that it shares with older events', async () => {
    const retention = { bytesMax: 1, ageMsMax: 1 }
    const stage = await openStage({ retention })
    stage.send(k, { type: 'add', add: [1, 2] })
    stage.send(tallyAddress('A'), { type: 'add', add: [7] })
    await stage.settle()
    await stage.world.advance(5_000)
    expect([stream(stage).redoFrom, stream(stage).retainedFrom]).toEqual([3, 1])
    await expectRetained(stage)
  })
})

test('a stream within its limits loses nothing', async () => {
  const stage = await openStage({ retention: { bytesMax: 1_000_000, ageMsMax: 1_000_000 } })
  await write(stage, 20)
  const commits = stage.commits.length
  await stage.world.advance(60_000)
  expect(stream(stage).retainedFrom).toBe(1)
  expect(stage.commits).toHaveLength(commits)
})

test('many chunks are deleted in steps, in commits of limited size', async () => {
  const stage = await openStage({ retention: { bytesMax: 1, ageMsMax: never } })
  for (let commit = 0; commit < 2_500; commit++) {
    stage.send(k, { type: 'add', add: [1] })
    await stage.settle()
  }
  const operations: number[] = []
  const { write } = stage.journal
  stage.journal.write = async (commit) => {
    const bytes = await write(commit)
    operations.push(stage.journal.last.operations)
    return bytes
  }
  await stage.world.advance(5_000)
  expect(stream(stage).retainedFrom).toBe(2_500)
  expect(operations.length).toBeGreaterThan(1)
  expect(Math.max(...operations)).toBeLessThan(1_100)
})

test('a failed commit deletes nothing', async () => {
  const world = new ManualWorld()
  const { place, faults } = faultyPlace(world)
  const retention = { bytesMax: 1_000, ageMsMax: never }
  const stage = await openStage({ world, place, retention })
  await write(stage, 40)
  faults.next = { fail: 'full', reachedDisk: false }
  place.setRoom(false)
  await stage.world.advance(3_000)
  expect(stage.log[0]).toBe('failed full')
  expect(stream(stage).retainedFrom).toBe(1)
  await expectRetained(stage)
  place.setRoom(true)
  await stage.world.advance(10_000)
  expect(stream(stage).bytes).toBeLessThanOrEqual(1_000)
  await expectRetained(stage)
})

test('the limits apply to each tenant', async () => {
  const stage = await openStage({ retention: { bytesMax: 1_000, ageMsMax: never } })
  await write(stage, 30)
  stage.send(bookAddress('K', 'other'), { type: 'add', add: [1] })
  await stage.world.advance(10_000)
  expect(stream(stage).retainedFrom).toBeGreaterThan(1)
  expect(stage.journal.retainedFrom('other')).toBe(1)
})
