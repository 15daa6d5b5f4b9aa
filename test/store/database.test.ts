import { describe, expect, test } from 'vitest'
import type { StoragePlace } from '#runtime/storage'
import { ManualWorld } from '#test/runtime/manual-world'
import { during, faultyPlace, openStage, Stage } from '#test/runtime/stage'
import { bookAddress, tallyAddress } from '#test/runtime/tally-actors'
import { memoryPlace } from '#test/store/memory'

const a = tallyAddress('A')
const k = bookAddress('K')
const full = { fail: 'full', reachedDisk: false } as const

/** A server that has stored something and then finds its disk full. */
async function fullDisk(options: { readonly reachedDisk?: boolean; readonly isSynced?: boolean } = {}) {
  const world = new ManualWorld()
  const { place, faults } = faultyPlace(world)
  const stage = await openStage({ world, place, isSynced: options.isSynced ?? false })
  stage.tell(a, { type: 'add', add: [1, 2] })
  stage.tell(k, { type: 'add', add: [1] })
  await stage.settle()
  faults.next = { ...full, reachedDisk: options.reachedDisk ?? false }
  place.setRoom(false)
  stage.tell(a, { type: 'add', add: [3] }, 'refused')
  await stage.settle()
  return { stage, world, place, faults }
}

describe('while there is no room', () => {
  test('what is stored is read, and nothing else', async () => {
    const { stage } = await fullDisk()
    expect(stage.database.status).toBe('read_only')
    expect(stage.addedOf(a).map(({ value }) => value)).toEqual([1, 2])
    stage.said.length = 0
    stage.tell(k, { type: 'look' }, 'book')
    stage.tell(tallyAddress('never seen'), { type: 'look' }, 'new')
    stage.tell(a, { type: 'refuse' }, 'refuse')
    stage.tell(a, { type: 'add', add: [4] }, 'add')
    stage.tell(k, { type: 'add', add: [4] }, 'add to book')
    expect(stage.said).toEqual([
      'answered book [1]',
      'answered new []',
      'refused refuse conflict',
      'refused add storage',
      'refused add to book storage',
    ])
    expect(stage.addedOf(a).map(({ value }) => value)).toEqual([1, 2])
  })

  test('streams are read too', async () => {
    const { stage } = await fullDisk()
    const loaded = stage.journal.load('default', 1)
    await stage.settle()
    expect((await loaded)?.events).toHaveLength(3)
    expect(stage.journal.lastOffsetUnder('default', stage.epoch)).toBe(3)
  })

  test('nothing is written to the handle that failed, and no timer writes either', async () => {
    const { stage } = await fullDisk()
    const commits = stage.commits.length
    await stage.world.advance(600_000)
    expect(stage.commits).toHaveLength(commits)
    expect(stage.log).toEqual(['failed full', 'read only full'])
  })

  test('the epoch stays what it was', async () => {
    const { stage, place } = await fullDisk()
    const { epoch } = stage
    await stage.world.advance(5_000)
    expect(stage.epoch).toBe(epoch)
    place.setRoom(true)
    await stage.world.advance(1_000)
    expect(stage.epoch).toBe(epoch)
  })
})

describe('when there is room again', () => {
  test.each([false, true])(
    'everything goes on from what is stored (the failed write reached the disk: %s)',
    async (reachedDisk) => {
      const { stage, place } = await fullDisk({ reachedDisk })
      place.setRoom(true)
      await stage.world.advance(1_000)
      expect(stage.log).toEqual(['failed full', 'read only full', 'reloaded', 'recovered'])
      expect(stage.database.status).toBe('ok')
      const kept = reachedDisk ? [1, 2, 3] : [1, 2]
      expect(stage.addedOf(a).map(({ value }) => value)).toEqual(kept)
      stage.said.length = 0
      stage.tell(a, { type: 'add', add: [9] }, 'add')
      await stage.settle()
      expect(stage.said).toEqual([`event default ${kept.length + 2}`, 'answered add undefined'])
      stage.crash()
      expect((await stage.reborn()).addedOf(a).map(({ value }) => value)).toEqual([...kept, 9])
    },
  )

  test('the headroom is given away for opening, and taken again', async () => {
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

  test('and the disk fills at once again, it starts over', async () => {
    const { stage, place, faults } = await fullDisk()
    for (let round = 0; round < 3; round++) {
      place.setRoom(true)
      await stage.world.advance(1_000)
      expect(stage.database.status).toBe('ok')
      faults.next = full
      place.setRoom(false)
      stage.tell(a, { type: 'add', add: [round] })
      await stage.settle()
      expect(stage.database.status).toBe('read_only')
      expect(stage.addedOf(a).map(({ value }) => value)).toEqual([1, 2])
    }
  })

  test('a store that cannot be opened is tried again every second, and nothing is answered from it meanwhile', async () => {
    const { stage, place, faults } = await fullDisk()
    faults.open = 'full'
    place.setRoom(true)
    await stage.world.advance(3_000)
    expect(stage.log.filter((line) => line.startsWith('still failing'))).toHaveLength(3)
    stage.said.length = 0
    stage.tell(a, { type: 'look' }, 'look')
    expect(stage.said).toEqual(['refused look storage'])
    faults.open = undefined
    await stage.world.advance(1_000)
    expect(stage.log.slice(-2)).toEqual(['reloaded', 'recovered'])
    expect(stage.addedOf(a).map(({ value }) => value)).toEqual([1, 2])
  })

  test('a store that lost what was told begins another epoch, so that no position lies', async () => {
    const { stage, place } = await fullDisk()
    const { epoch } = stage
    // What happened since the last fsync is gone, and the process lived on.
    place.losePower()
    place.setRoom(true)
    await stage.world.advance(1_000)
    expect(stage.log.slice(2)).toEqual(['reloaded, rewound', 'recovered'])
    expect(stage.epoch).not.toBe(epoch)
    expect(stage.journal.lastOffsetUnder('default', epoch)).toBe(0)
    expect(stage.addedOf(a)).toEqual([])
  })

  test('a store that lost what was told, and could not be opened at first, is known for it all the same', async () => {
    const { stage, place, faults } = await fullDisk()
    const { epoch } = stage
    faults.open = 'full'
    place.setRoom(true)
    await stage.world.advance(1_000)
    place.losePower()
    faults.open = undefined
    await stage.world.advance(1_000)
    expect(stage.log.at(-1)).toBe('recovered')
    expect(stage.epoch).not.toBe(epoch)
    expect(stage.log).toContain('reloaded, rewound')
  })
})

describe('closing', () => {
  test('ends all timers of the store, and gives the folder back', async () => {
    const stage = await openStage()
    stage.tell(a, { type: 'add', add: [1] })
    await stage.settle()
    await stage.close()
    const storage = await during(stage.world, stage.place.open())
    expect(storage.get('format')).toBeDefined()
  })

  test('waits for a write under way', async () => {
    const stage = await openStage()
    stage.tell(a, { type: 'add', add: [1] })
    stage.world.step()
    await stage.close()
    expect((await stage.reborn()).addedOf(a)).toHaveLength(1)
  })

  test('while there is no room stops trying', async () => {
    const { stage, place } = await fullDisk()
    await stage.close()
    place.setRoom(true)
    await stage.world.advance(5_000)
    expect(stage.log).toEqual(['failed full', 'read only full'])
    expect(stage.database.status).toBe('closed')
  })

  test('at any moment of being opened again gives the folder back', async () => {
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
  test.each([
    ['another process has it', 'locked'],
    ['it is damaged', 'damaged'],
    ['there is no room to open it', 'full'],
  ] as const)('a place that says %s is said to whoever starts', async (_, code) => {
    const world = new ManualWorld()
    const place = memoryPlace({ world, faults: { beforeOpen: () => code } })
    await expect(new Stage({ world, place }).open()).rejects.toMatchObject({ code })
  })

  test('the version of the key space is written once', async () => {
    const stage = await openStage()
    const format = stage.journal.storage.get('format')
    stage.crash()
    const again = await stage.reborn()
    expect(again.journal.storage.get('format')).toEqual(format)
  })

  test('the headroom is taken', async () => {
    const world = new ManualWorld()
    const place = memoryPlace({ world })
    await during(world, place.releaseHeadroom())
    await openStage({ world, place: place satisfies StoragePlace })
    expect(place.hasHeadroom).toBe(true)
  })
})

test('a failure that nobody named is treated as one of the disk', async () => {
  const stage = await openStage()
  stage.journal.write = () => Promise.reject(new Error('what?'))
  stage.tell(a, { type: 'add', add: [1] })
  await stage.settle()
  expect(stage.log).toEqual(['failed io', 'read only io'])
})
