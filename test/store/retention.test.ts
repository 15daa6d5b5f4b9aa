import { describe, expect, test } from 'vitest'
import { ManualWorld } from '#test/runtime/manual-world'
import { faultyPlace, openStage, type Stage } from '#test/runtime/stage'
import { bookAddress, tallyAddress } from '#test/runtime/tally-actors'

const never = Number.MAX_SAFE_INTEGER
const k = bookAddress('K')

/** So many commits of ten events each, saved with them. */
async function write(stage: Stage, commits: number, everyMs = 0): Promise<void> {
  for (let commit = 0; commit < commits; commit++) {
    stage.tell(k, { type: 'add', add: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10] })
    await stage.settle()
    if (everyMs > 0) await stage.world.advance(everyMs)
  }
}

const stream = (stage: Stage) => stage.journal.stream('default')

/** What can be read is what is said to be retained: no less, no more. */
async function expectHonest(stage: Stage): Promise<void> {
  const { retainedFrom, last } = stream(stage)
  expect(await loaded(stage, retainedFrom - 1)).toBeUndefined()
  if (retainedFrom <= last) expect(await loaded(stage, retainedFrom)).toBeDefined()
  if (last > 0 && retainedFrom <= last) expect(await loaded(stage, last)).toBeDefined()
}

async function loaded(stage: Stage, offset: number) {
  const found = stage.journal.load('default', offset)
  await stage.settle()
  return await found
}

describe('a stream that is too large', () => {
  test('is shortened from its beginning until it is not', async () => {
    const bytesMax = 2_000
    const stage = await openStage({ retention: { bytesMax, ageMsMax: never } })
    await write(stage, 100)
    expect(stream(stage).bytes).toBeGreaterThan(bytesMax)
    await stage.world.advance(10_000)
    expect(stream(stage).bytes).toBeLessThanOrEqual(bytesMax)
    // And not by more than a chunk.
    expect(stream(stage).bytes).toBeGreaterThan(bytesMax - 400)
    await expectHonest(stage)
  })

  test('counts the same after a restart', async () => {
    const retention = { bytesMax: 2_000, ageMsMax: never }
    const stage = await openStage({ retention })
    await write(stage, 50)
    await stage.world.advance(5_000)
    const { retainedFrom, bytes, last } = stream(stage)
    stage.crash()
    const again = await stage.reborn({ retention })
    expect([stream(again).retainedFrom, stream(again).bytes, stream(again).last]).toEqual([retainedFrom, bytes, last])
    expect(again.journal.retainedFrom('default')).toBe(retainedFrom)
    await expectHonest(again)
    await write(again, 50)
    await again.world.advance(5_000)
    expect(stream(again).bytes).toBeLessThanOrEqual(2_000)
    await expectHonest(again)
  })
})

describe('a stream that is too old', () => {
  test('is shortened to what is young enough', async () => {
    const stage = await openStage({ retention: { bytesMax: never, ageMsMax: 60_000 } })
    await write(stage, 20, 10_000)
    await stage.world.advance(2_000)
    // Commits of the last minute, and those a look of once a second may not have seen yet.
    const retained = stream(stage).last - stream(stage).retainedFrom + 1
    expect(retained).toBeGreaterThanOrEqual(50)
    expect(retained).toBeLessThanOrEqual(70)
    await expectHonest(stage)
  })

  test('keeps its last chunk, and offsets go on after that and after a restart', async () => {
    const retention = { bytesMax: never, ageMsMax: 60_000 }
    const stage = await openStage({ retention })
    await write(stage, 3)
    await stage.world.advance(120_000)
    expect([stream(stage).retainedFrom, stream(stage).last]).toEqual([21, 30])
    await expectHonest(stage)
    stage.crash()
    const again = await stage.reborn({ retention })
    expect([stream(again).retainedFrom, stream(again).last]).toEqual([21, 30])
    await write(again, 1)
    expect(again.said.slice(0, 1)).toEqual(['event default 31'])
    await expectHonest(again)
  })
})

describe('what a start must apply again', () => {
  test('is never deleted, however large or old', async () => {
    const retention = { bytesMax: 1, ageMsMax: 1 }
    const stage = await openStage({ retention })
    await write(stage, 5)
    stage.tell(tallyAddress('A'), { type: 'add', add: [7] })
    await stage.settle()
    await write(stage, 5)
    await stage.world.advance(10_000)
    expect(stream(stage).redoFrom).toBe(51)
    expect(stream(stage).retainedFrom).toBe(51)
    stage.crash()
    const again = await stage.reborn({ retention })
    expect(again.addedOf(tallyAddress('A'))).toEqual([{ value: 7, offset: 51 }])
    await expectHonest(again)
    // Once it is saved, nothing holds the rest.
    again.tell(tallyAddress('A'), { type: 'add', isCheckpointed: true })
    await again.world.advance(10_000)
    expect(stream(again).retainedFrom).toBe(stream(again).last - 9)
  })

  test('in a chunk it shares with older events, keeps that chunk', async () => {
    const retention = { bytesMax: 1, ageMsMax: 1 }
    const stage = await openStage({ retention })
    stage.tell(k, { type: 'add', add: [1, 2] })
    stage.tell(tallyAddress('A'), { type: 'add', add: [7] })
    await stage.settle()
    await stage.world.advance(5_000)
    expect([stream(stage).redoFrom, stream(stage).retainedFrom]).toEqual([3, 1])
    await expectHonest(stage)
  })
})

test('a limit that is not reached deletes nothing', async () => {
  const stage = await openStage({ retention: { bytesMax: 1_000_000, ageMsMax: 1_000_000 } })
  await write(stage, 20)
  const commits = stage.commits.length
  await stage.world.advance(60_000)
  expect(stream(stage).retainedFrom).toBe(1)
  expect(stage.commits).toHaveLength(commits)
})

test('many chunks are deleted in steps, none with a commit too large', async () => {
  const stage = await openStage({ retention: { bytesMax: 1, ageMsMax: never } })
  for (let commit = 0; commit < 2_500; commit++) {
    stage.tell(k, { type: 'add', add: [1] })
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

test('a commit that fails deletes nothing, and what is said to be retained is', async () => {
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
  await expectHonest(stage)
  place.setRoom(true)
  await stage.world.advance(10_000)
  expect(stream(stage).bytes).toBeLessThanOrEqual(1_000)
  await expectHonest(stage)
})

test('tenants are shortened each by itself', async () => {
  const stage = await openStage({ retention: { bytesMax: 1_000, ageMsMax: never } })
  await write(stage, 30)
  stage.tell(bookAddress('K', 'other'), { type: 'add', add: [1] })
  await stage.world.advance(10_000)
  expect(stream(stage).retainedFrom).toBeGreaterThan(1)
  expect(stage.journal.retainedFrom('other')).toBe(1)
})
