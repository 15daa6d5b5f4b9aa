import { describe, expect, test } from 'vitest'
import type { StoragePlace } from '#runtime/storage'
import { ManualWorld } from '#test/runtime/manual-world'
import { during, faultyPlace, openStage, RuntimeFixture } from '#test/runtime/runtime-fixture'
import { bookAddress, tallyAddress } from '#test/runtime/tally-actors'
import { memoryPlace } from '#test/store/memory'

const a = tallyAddress('A')
const k = bookAddress('K')
const full = { fail: 'full', reachedDisk: false } as const

/** A server whose disk is full after some commits. */
async function fullDisk(options: { readonly reachedDisk?: boolean; readonly isSynced?: boolean } = {}) {
  const world = new ManualWorld()
  const { place, faults } = faultyPlace(world)
  const stage = await openStage({ world, place, isSynced: options.isSynced ?? false })
  stage.send(a, { type: 'add', add: [1, 2] })
  stage.send(k, { type: 'add', add: [1] })
  await stage.settle()
  faults.next = { ...full, reachedDisk: options.reachedDisk ?? false }
  place.setRoom(false)
  stage.send(a, { type: 'add', add: [3] }, 'refused')
  await stage.settle()
  return { stage, world, place, faults }
}

describe('while the disk is full', () => {
  test('stored state is readable, and writes are refused', async () => {
    const { stage } = await fullDisk()
    expect(stage.database.status).toBe('read_only')
    expect(stage.addedOf(a).map(({ value }) => value)).toEqual([1, 2])
    stage.outputs.length = 0
    stage.send(k, { type: 'read' }, 'book')
    stage.send(tallyAddress('unknown'), { type: 'read' }, 'new')
    stage.send(a, { type: 'refuse' }, 'refuse')
    stage.send(a, { type: 'add', add: [4] }, 'add')
    stage.send(k, { type: 'add', add: [4] }, 'add to book')
    expect(stage.outputs).toEqual([
      'answered book [1]',
      'answered new []',
      'refused refuse conflict',
      'refused add storage',
      'refused add to book storage',
    ])
    expect(stage.addedOf(a).map(({ value }) => value)).toEqual([1, 2])
  })

  test('streams are readable', async () => {
    const { stage } = await fullDisk()
    const loaded = stage.journal.load('default', 1)
    await stage.settle()
    expect((await loaded)?.events).toHaveLength(3)
    expect(stage.journal.lastOffsetUnder('default', stage.epoch)).toBe(3)
  })

  test('no request and no timer writes to the failed handle', async () => {
    const { stage } = await fullDisk()
    const commits = stage.commits.length
    await stage.world.advance(600_000)
    expect(stage.commits).toHaveLength(commits)
    expect(stage.log).toEqual(['failed full', 'read only full'])
  })
})

describe('when the disk has room again', () => {
  test.each([false, true])(
    'writes continue from the stored state in the same epoch (the failed write reached the disk: %s)',
    async (reachedDisk) => {
      const { stage, place } = await fullDisk({ reachedDisk })
      const { epoch } = stage
      await stage.world.advance(5_000)
      place.setRoom(true)
      await stage.world.advance(1_000)
      expect(stage.log).toEqual(['failed full', 'read only full', 'reloaded', 'recovered'])
      expect([stage.database.status, stage.epoch]).toEqual(['ok', epoch])
      expect(stage.outputs.at(-1)).toBe('refused refused storage')
      const kept = reachedDisk ? [1, 2, 3] : [1, 2]
      expect(stage.addedOf(a).map(({ value }) => value)).toEqual(kept)
      stage.outputs.length = 0
      stage.send(a, { type: 'add', add: [9] }, 'add')
      await stage.settle()
      expect(stage.outputs).toEqual([`event default ${kept.length + 2}`, 'answered add undefined'])
      stage.crash()
      expect((await stage.restart()).addedOf(a).map(({ value }) => value)).toEqual([...kept, 9])
    },
  )

  test('the headroom is released for opening, and restored', async () => {
    const { stage, place, faults } = await fullDisk()
    expect(place.hasHeadroom).toBe(true)
    faults.open = 'full'
    place.setRoom(true)
    await stage.world.advance(1_000)
    expect(place.hasHeadroom).toBe(false)
    faults.open = undefined
    await stage.world.advance(1_000)
    expect(place.hasHeadroom).toBe(true)
    expect(stage.database.status).toBe('ok')
  })

  test('it may fill again at once', async () => {
    const { stage, place, faults } = await fullDisk()
    for (let round = 0; round < 3; round++) {
      place.setRoom(true)
      await stage.world.advance(1_000)
      expect(stage.database.status).toBe('ok')
      faults.next = full
      place.setRoom(false)
      stage.send(a, { type: 'add', add: [round] })
      await stage.settle()
      expect(stage.database.status).toBe('read_only')
      expect(stage.addedOf(a).map(({ value }) => value)).toEqual([1, 2])
    }
  })

  test('a store that cannot be opened is retried every second, and requests are refused meanwhile', async () => {
    const { stage, place, faults } = await fullDisk()
    faults.open = 'full'
    place.setRoom(true)
    await stage.world.advance(3_000)
    expect(stage.log.filter((line) => line.startsWith('still failing'))).toHaveLength(3)
    stage.outputs.length = 0
    stage.send(a, { type: 'read' }, 'read')
    expect(stage.outputs).toEqual(['refused read storage'])
    faults.open = undefined
    await stage.world.advance(1_000)
    expect(stage.log.slice(-2)).toEqual(['reloaded', 'recovered'])
    expect(stage.addedOf(a).map(({ value }) => value)).toEqual([1, 2])
  })

  test.each([undefined, 'full'] as const)(
    'a store that lost published events starts a new epoch, so that old positions are invalid (first opening: %s)',
    async (failure) => {
      const { stage, place, faults } = await fullDisk()
      const { epoch } = stage
      place.setRoom(true)
      faults.open = failure
      if (failure) await stage.world.advance(1_000)
      // Everything since the last fsync is lost, and the process lives on.
      place.losePower()
      faults.open = undefined
      await stage.world.advance(1_000)
      expect(stage.log.slice(-2)).toEqual(['reloaded, rewound', 'recovered'])
      expect(stage.epoch).not.toBe(epoch)
      expect(stage.journal.lastOffsetUnder('default', epoch)).toBe(0)
      expect(stage.addedOf(a)).toEqual([])
    },
  )
})

describe('closing', () => {
  test('waits for a write in progress', async () => {
    const stage = await openStage()
    stage.send(a, { type: 'add', add: [1] })
    stage.world.step()
    await stage.close()
    expect((await stage.restart()).addedOf(a)).toHaveLength(1)
  })

  test('stops the retries of a full disk', async () => {
    const { stage, place } = await fullDisk()
    await stage.close()
    place.setRoom(true)
    await stage.world.advance(5_000)
    expect(stage.log).toEqual(['failed full', 'read only full'])
    expect(stage.database.status).toBe('closed')
  })

  test('releases the folder at any moment of a reopening', async () => {
    const statuses = new Set<string>()
    for (let steps = 0; steps < 120; steps++) {
      const { stage, place, world } = await fullDisk()
      place.setRoom(true)
      world.spend(1_000)
      world.fire()
      for (let step = 0; step < steps; step++) {
        if (step % 3 === 0) world.step()
        await Promise.resolve()
      }
      statuses.add(stage.database.status)
      await stage.close()
      await world.advance(10_000)
      expect(stage.database.status, `after ${steps} steps`).toBe('closed')
      const opened = await during(
        world,
        place.open().then(
          () => 'free',
          (error) => error.code,
        ),
      )
      expect(opened, `after ${steps} steps`).toBe('free')
    }
    expect([...statuses]).toEqual(['read_only', 'ok'])
  })
})

describe('at the start', () => {
  test.each([['locked'], ['damaged'], ['full']] as const)('a store that is %s fails the start', async (code) => {
    const world = new ManualWorld()
    const place = memoryPlace({ world, faults: { beforeOpen: () => code } })
    await expect(new RuntimeFixture({ world, place }).open()).rejects.toMatchObject({ code })
  })

  test('the version of the key space is written once', async () => {
    const stage = await openStage()
    const format = stage.journal.storage.get('format')
    stage.crash()
    const again = await stage.restart()
    expect(again.journal.storage.get('format')).toEqual(format)
  })

  test('the headroom is created', async () => {
    const world = new ManualWorld()
    const place = memoryPlace({ world })
    await during(world, place.releaseHeadroom())
    await openStage({ world, place: place satisfies StoragePlace })
    expect(place.hasHeadroom).toBe(true)
  })
})
