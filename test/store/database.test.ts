import { describe, expect, test } from 'vitest'
import type { StorageBackend } from '#runtime/storage'
import { ManualWorld } from '#test/runtime/manual-world'
import { during, openFaulty, openRuntime, RuntimeFixture } from '#test/runtime/runtime-fixture'
import { bookAddress, tallyAddress } from '#test/runtime/tally-actors'
import { memoryStorage } from '#test/store/memory'

const a = tallyAddress('A')
const k = bookAddress('K')
const full = { fail: 'full', reachedDisk: false } as const

/** A server whose disk is full after some commits. */
async function fullDisk(options: { readonly reachedDisk?: boolean; readonly isSynced?: boolean } = {}) {
  const { world, backend, faults, fixture } = await openFaulty({ isSynced: options.isSynced ?? false })
  fixture.send(a, { type: 'add', add: [1, 2] })
  fixture.send(k, { type: 'add', add: [1] })
  await fixture.settle()
  faults.next = { ...full, reachedDisk: options.reachedDisk ?? false }
  backend.setRoom(false)
  fixture.send(a, { type: 'add', add: [3] }, 'refused')
  await fixture.settle()
  return { fixture, world, backend, faults }
}

describe('while the disk is full', () => {
  test('stored state is readable, and writes are refused', async () => {
    const { fixture } = await fullDisk()
    expect(fixture.database.status).toBe('read_only')
    expect(fixture.valuesOf(a)).toEqual([1, 2])
    fixture.outputs.length = 0
    fixture.send(k, { type: 'read' }, 'book')
    fixture.send(tallyAddress('unknown'), { type: 'read' }, 'new')
    fixture.send(a, { type: 'refuse' }, 'refuse')
    fixture.send(a, { type: 'add', add: [4] }, 'add')
    fixture.send(k, { type: 'add', add: [4] }, 'add to book')
    expect(fixture.outputs.slice(0, 3)).toEqual(['answered book [1]', 'answered new []', 'refused refuse conflict'])
    expect(fixture.outputs.slice(3)).toEqual(['refused add storage', 'refused add to book storage'])
    expect(fixture.valuesOf(a)).toEqual([1, 2])
  })

  test('streams are readable', async () => {
    const { fixture } = await fullDisk()
    const loaded = fixture.journal.load('default', 1)
    await fixture.settle()
    expect((await loaded)?.events).toHaveLength(3)
    expect(fixture.journal.lastOffsetUnder('default', fixture.epoch)).toBe(3)
  })

  test('no request and no timer writes to the failed handle', async () => {
    const { fixture } = await fullDisk()
    const commits = fixture.commits.length
    await fixture.world.advance(600_000)
    expect(fixture.commits).toHaveLength(commits)
    expect(fixture.log).toEqual(['failed full', 'read only full'])
  })
})

describe('when the disk has space again', () => {
  test.each([false, true])(
    'writes continue from the stored state in the same epoch (the failed write reached the disk: %s)',
    async (reachedDisk) => {
      const { fixture, backend } = await fullDisk({ reachedDisk })
      const { epoch } = fixture
      await fixture.world.advance(5_000)
      backend.setRoom(true)
      await fixture.world.advance(1_000)
      expect(fixture.log).toEqual(['failed full', 'read only full', 'reloaded', 'recovered'])
      expect([fixture.database.status, fixture.epoch]).toEqual(['ok', epoch])
      expect(fixture.outputs.at(-1)).toBe('refused refused storage')
      const kept = reachedDisk ? [1, 2, 3] : [1, 2]
      expect(fixture.valuesOf(a)).toEqual(kept)
      fixture.outputs.length = 0
      fixture.send(a, { type: 'add', add: [9] }, 'add')
      await fixture.settle()
      expect(fixture.outputs).toEqual([`event default ${kept.length + 2}`, 'answered add undefined'])
      fixture.crash()
      expect((await fixture.restart()).addedOf(a).map(({ value }) => value)).toEqual([...kept, 9])
    },
  )

  test('the headroom is released for opening, and restored', async () => {
    const { fixture, backend, faults } = await fullDisk()
    expect(backend.hasHeadroom).toBe(true)
    faults.open = 'full'
    backend.setRoom(true)
    await fixture.world.advance(1_000)
    expect(backend.hasHeadroom).toBe(false)
    faults.open = undefined
    await fixture.world.advance(1_000)
    expect(backend.hasHeadroom).toBe(true)
    expect(fixture.database.status).toBe('ok')
  })

  test('the disk may fill again at once', async () => {
    const { fixture, backend, faults } = await fullDisk()
    for (let round = 0; round < 3; round++) {
      backend.setRoom(true)
      await fixture.world.advance(1_000)
      expect(fixture.database.status).toBe('ok')
      faults.next = full
      backend.setRoom(false)
      fixture.send(a, { type: 'add', add: [round] })
      await fixture.settle()
      expect(fixture.database.status).toBe('read_only')
      expect(fixture.valuesOf(a)).toEqual([1, 2])
    }
  })

  test('a store that cannot be opened is retried every second, and requests are refused meanwhile', async () => {
    const { fixture, backend, faults } = await fullDisk()
    faults.open = 'full'
    backend.setRoom(true)
    await fixture.world.advance(3_000)
    expect(fixture.log.filter((line) => line.startsWith('still failing'))).toHaveLength(3)
    fixture.outputs.length = 0
    fixture.send(a, { type: 'read' }, 'read')
    expect(fixture.outputs).toEqual(['refused read storage'])
    faults.open = undefined
    await fixture.world.advance(1_000)
    expect(fixture.log.slice(-2)).toEqual(['reloaded', 'recovered'])
    expect(fixture.valuesOf(a)).toEqual([1, 2])
  })

  test.each([undefined, 'full'] as const)(
    'a store that lost published events starts a new epoch, so that old positions are invalid (first opening: %s)',
    async (failure) => {
      const { fixture, backend, faults } = await fullDisk()
      const { epoch } = fixture
      backend.setRoom(true)
      faults.open = failure
      if (failure) await fixture.world.advance(1_000)
      // Everything since the last fsync is lost, and the process lives on.
      backend.losePower()
      faults.open = undefined
      await fixture.world.advance(1_000)
      expect(fixture.log.slice(-2)).toEqual(['reloaded, rewound', 'recovered'])
      expect(fixture.epoch).not.toBe(epoch)
      expect(fixture.journal.lastOffsetUnder('default', epoch)).toBe(0)
      expect(fixture.addedOf(a)).toEqual([])
    },
  )
})

describe('closing', () => {
  test('waits for a write in progress', async () => {
    const fixture = await openRuntime()
    fixture.send(a, { type: 'add', add: [1] })
    fixture.world.step()
    await fixture.close()
    expect((await fixture.restart()).addedOf(a)).toHaveLength(1)
  })

  test('stops the retries of a full disk', async () => {
    const { fixture, backend } = await fullDisk()
    await fixture.close()
    backend.setRoom(true)
    await fixture.world.advance(5_000)
    expect(fixture.log).toEqual(['failed full', 'read only full'])
    expect(fixture.database.status).toBe('closed')
  })

  test('releases the folder at any moment of a reopening', async () => {
    const statuses = new Set<string>()
    for (let steps = 0; steps < 120; steps++) {
      const { fixture, backend, world } = await fullDisk()
      backend.setRoom(true)
      world.spend(1_000)
      world.fire()
      for (let step = 0; step < steps; step++) {
        if (step % 3 === 0) world.step()
        await Promise.resolve()
      }
      statuses.add(fixture.database.status)
      await fixture.close()
      await world.advance(10_000)
      expect(fixture.database.status, `after ${steps} steps`).toBe('closed')
      await during(world, backend.open())
    }
    expect([...statuses]).toEqual(['read_only', 'ok'])
  })
})

describe('at the start', () => {
  test.each([['locked'], ['damaged'], ['full']] as const)('a store that is %s fails the start', async (code) => {
    const world = new ManualWorld()
    const backend = memoryStorage({ world, faults: { beforeOpen: () => code } })
    await expect(new RuntimeFixture({ world, backend }).open()).rejects.toMatchObject({ code })
  })

  test('the version of the key space is written once', async () => {
    const fixture = await openRuntime()
    const format = fixture.journal.storage.get('format')
    fixture.crash()
    const again = await fixture.restart()
    expect(again.journal.storage.get('format')).toEqual(format)
  })

  test('the headroom is created', async () => {
    const world = new ManualWorld()
    const backend = memoryStorage({ world })
    await during(world, backend.releaseHeadroom())
    await openRuntime({ world, backend: backend satisfies StorageBackend })
    expect(backend.hasHeadroom).toBe(true)
  })
})

test('storage that lost nothing keeps its epoch, and positions stay valid', async () => {
  const world = new ManualWorld()
  const backend = Object.assign(memoryStorage({ world }), { isShared: true })
  const fixture = await openRuntime({ world, backend })
  const { epoch } = fixture
  fixture.send(a, { type: 'add', add: [1, 2] })
  await fixture.settle()
  fixture.crash()
  const again = await fixture.restart()
  expect(again.epoch).toBe(epoch)
  expect(again.journal.lastOffsetUnder('default', epoch)).toBe(2)
})
