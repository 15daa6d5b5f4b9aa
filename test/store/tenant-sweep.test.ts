import { describe, expect, test } from 'vitest'
import { keys } from '#store/key-space'
import { SweepStopped, TenantSweep } from '#store/tenant-sweep'
import { ManualWorld } from '#test/runtime/manual-world'
import {
  during,
  faultyStorage,
  openRuntime,
  type RuntimeFixture,
  type RuntimeFixtureOptions,
} from '#test/runtime/runtime-fixture'
import { bookAddress, tallyAddress } from '#test/runtime/tally-actors'
import { rowsOf } from '#test/store/storage-suite'
import { wrapScans, wrapStorage } from '#test/store/wrapped-scans'

const dayMs = 24 * 60 * 60_000
const tenants = ['gone', 'kept', 'gone-too']

/** Three tenants with records of every kind; the last entries of each are in no snapshot. */
async function filled(options: RuntimeFixtureOptions = {}): Promise<RuntimeFixture> {
  const fixture = await openRuntime(options)
  for (const tenant of tenants) {
    for (let number = 1; number <= 3; number++) {
      for (const id of ['A', 'B', 'C']) {
        const isCheckpointed = number === 2 && id !== 'C'
        fixture.send(tallyAddress(id, tenant), { type: 'add', add: [number], isCheckpointed })
        await fixture.settle()
      }
      fixture.send(bookAddress('K', tenant), { type: 'add', add: [number] })
      await fixture.settle()
    }
    for (const address of [tallyAddress('A', tenant), tallyAddress('D', tenant), bookAddress('K', tenant)])
      fixture.send(address, { type: 'add', reminder: fixture.world.now() + dayMs })
    for (const id of ['A', 'B', 'C', 'D']) {
      fixture.system.gate.put(fixture.journal.indexKey(tenant, 'present', id), Uint8Array.of(1))
      fixture.system.gate.put(fixture.journal.recordKey(tallyAddress(id, tenant), 'secret'), Uint8Array.of(1))
    }
    await fixture.settle()
  }
  return fixture
}

/** As `filled`, on a store that can fail. Its pages are small, so that a sweep takes many commits. */
async function filledInSmallPages() {
  const world = new ManualWorld()
  const { backend, faults } = faultyStorage(world)
  wrapStorage(backend, (storage) => wrapScans(storage, (read, countMax) => read(Math.min(countMax, 3))))
  return { world, faults, fixture: await filled({ world, backend }) }
}

function sweepOf({ system, journal }: RuntimeFixture): TenantSweep {
  return new TenantSweep({ system, journal, kinds: ['tally', 'book'], indexes: ['present', 'unused'] })
}

/** Moves the world in the smallest steps until the condition is met. */
async function until(fixture: RuntimeFixture, isSo: () => boolean): Promise<void> {
  for (let round = 0; !isSo() && round < 10_000; round++) {
    fixture.world.step()
    await new Promise((resolve) => setImmediate(resolve))
  }
  expect(isSo()).toBe(true)
}

/** Sweeps until the given number of commits have begun; false if the sweep ended before. */
async function sweepUntil(fixture: RuntimeFixture, commits: number): Promise<boolean> {
  const before = fixture.commits.length
  let isDone = false
  void sweepOf(fixture)
    .run('gone')
    .catch(() => undefined)
    .then(() => {
      isDone = true
    })
  await until(fixture, () => isDone || fixture.commits.length >= before + commits)
  return !isDone
}

const rows = ({ world, journal }: RuntimeFixture) => during(world, rowsOf(journal.storage))

const keysOf = async (fixture: RuntimeFixture, tenant: string) =>
  (await rows(fixture)).map(({ key }) => key).filter((key) => isOf(key, tenant))

const isOf = (key: string, tenant: string) => key.split('/').includes(tenant)

const sweep = (fixture: RuntimeFixture) => during(fixture.world, sweepOf(fixture).run('gone'))

/** The rule by which a client may resume at a position. */
function isRecovered({ journal }: RuntimeFixture, epoch: string, offset: number): boolean {
  const last = journal.lastOffsetUnder('gone', epoch)
  return last !== undefined && offset <= last && offset + 1 >= journal.retainedFrom('gone')
}

/** The tenant has no rows, other tenants are complete, and offsets continue. */
async function expectSwept(fixture: RuntimeFixture, { epoch, last }: { epoch: string; last: number }): Promise<void> {
  expect(await keysOf(fixture, 'gone')).toEqual([keys.begin('gone'), keys.redo('gone')])
  for (const tenant of ['kept', 'gone-too']) {
    for (const id of ['A', 'B', 'C']) expect(fixture.valuesOf(tallyAddress(id, tenant))).toEqual([1, 2, 3])
    expect(fixture.system.reminders.dueAt(bookAddress('K', tenant))).toBeDefined()
    expect(fixture.journal.retainedFrom(tenant)).toBe(1)
  }
  expect(fixture.system.reminders.count).toBe(6)
  for (const id of ['A', 'B', 'C']) expect(fixture.addedOf(tallyAddress(id, 'gone'))).toEqual([])
  expect(fixture.system.peek(bookAddress('K', 'gone'))).toEqual({ id: 'K', pages: new Map() })
  const head = fixture.system.registry.head('gone')
  expect(head.redo.size).toBe(0)
  expect(head.taken).toBeGreaterThan(last)
  expect(fixture.journal.stream('gone').last).toBe(head.taken)
  for (let offset = 0; offset <= last; offset++) {
    expect(isRecovered(fixture, epoch, offset), `${offset}`).toBe(false)
    expect(fixture.journal.recent('gone', offset)).toBeUndefined()
  }
}

/** A new tenant of the same name gets new offsets, even after a restart. */
async function expectRecreated(fixture: RuntimeFixture, old: { epoch: string; last: number }): Promise<void> {
  const { taken } = fixture.system.registry.head('gone')
  const a = tallyAddress('A', 'gone')
  fixture.send(a, { type: 'add', add: [7] })
  await fixture.settle()
  const added = [{ value: 7, offset: taken + 1 }]
  expect(fixture.addedOf(a)).toEqual(added)
  fixture.crash()
  const again = await fixture.restart()
  expect(again.addedOf(a)).toEqual(added)
  expect(again.addedOf(tallyAddress('B', 'gone'))).toEqual([])
  for (let offset = 0; offset <= old.last; offset++) expect(isRecovered(again, old.epoch, offset)).toBe(false)
  expect(isRecovered(again, fixture.epoch, taken + 1)).toBe(true)
  expect((await during(again.world, again.journal.load('gone', taken + 1)))?.events).toHaveLength(1)
}

const stateOf = ({ epoch, system }: RuntimeFixture) => ({ epoch, last: system.registry.head('gone').taken })

describe('a deleted tenant', () => {
  test('loses all rows, other tenants keep theirs, and offsets continue', async () => {
    const fixture = await filled()
    const old = stateOf(fixture)
    expect(old.last).toBe(12)
    expect(await keysOf(fixture, 'gone')).toHaveLength(29)
    const others = (await rows(fixture)).filter(({ key }) => !isOf(key, 'gone'))
    await sweep(fixture)
    await expectSwept(fixture, old)
    expect((await rows(fixture)).filter(({ key }) => !isOf(key, 'gone'))).toEqual(others)
    await expectRecreated(fixture, old)
  })

  test('stays deleted after a restart, even without snapshots', async () => {
    const fixture = await filled({ redo: { eventsMax: 1_000, bytesMax: 1_000_000 } })
    const old = stateOf(fixture)
    await sweep(fixture)
    fixture.crash()
    const again = await fixture.restart()
    await expectSwept(again, old)
    expect(again.journal.lastOffsetUnder('gone', old.epoch)).toBe(old.last + 1)
    await expectRecreated(again, old)
  })

  test('without rows gets none from the sweep', async () => {
    const fixture = await openRuntime()
    await sweep(fixture)
    await sweep(fixture)
    expect(await keysOf(fixture, 'gone')).toEqual([])
  })

  test('uses one offset for any number of sweeps', async () => {
    const fixture = await filled()
    const { last } = stateOf(fixture)
    for (let times = 0; times < 3; times++) await sweep(fixture)
    expect(stateOf(fixture).last).toBe(last + 1)
  })

  test('is swept by one page in each commit', async () => {
    const fixture = await openRuntime()
    for (let entry = 0; entry < 3_000; entry++) {
      fixture.system.gate.put(fixture.journal.indexKey('gone', 'present', `${entry}`), Uint8Array.of(1))
    }
    await fixture.settle()
    const before = fixture.commits.length
    await sweep(fixture)
    const sizes = fixture.commits.slice(before).map(({ records }) => records.size)
    expect(Math.max(...sizes)).toBeLessThanOrEqual(1_000)
    expect(sizes.reduce((sum, size) => sum + size)).toBe(3_000)
  })

  test('is swept while its actors still get requests', async () => {
    const { fixture } = await filledInSmallPages()
    const old = stateOf(fixture)
    const before = fixture.commits.length
    let isDone = false
    const done = sweepOf(fixture)
      .run('gone')
      .finally(() => {
        isDone = true
      })
    for (let late = 1; late <= 12; late++) {
      await until(fixture, () => fixture.commits.length >= before + late * 2)
      expect(isDone).toBe(false)
      const address = tallyAddress(late % 2 === 0 ? 'A' : 'N', 'gone')
      fixture.send(address, { type: 'add', add: [late], isCheckpointed: late % 3 === 0 })
      fixture.send(bookAddress('L', 'gone'), { type: 'add', add: [late], reminder: fixture.world.now() + dayMs })
    }
    await during(fixture.world, done)
    await expectSwept(fixture, { ...old, last: old.last + 24 })
    await expectRecreated(fixture, old)
  })
})

describe('a sweep', () => {
  test.each([0, 1])('resumes after a crash at any commit (%i writes in flight kept)', async (writesKept) => {
    let isCut = true
    for (let commits = 1; isCut; commits++) {
      const { fixture } = await filledInSmallPages()
      const old = stateOf(fixture)
      isCut = await sweepUntil(fixture, commits)
      fixture.crash(writesKept)
      const again = await fixture.restart()
      const last = again.system.registry.head('gone').taken
      expect(last).toBeGreaterThanOrEqual(old.last)
      // Half of the rows may be gone: the rest must be readable.
      again.send(tallyAddress('A', 'gone'), { type: 'read' })
      await again.settle()
      expect(again.bugs).toEqual([])
      await sweep(again)
      await expectSwept(again, old)
      await expectRecreated(again, old)
      if (!isCut) expect(commits).toBeGreaterThan(12)
    }
  })

  test.each([true, false])(
    'stops at any failed commit, and can start again (the commit reached the disk: %s)',
    async (reachedDisk) => {
      let isCut = true
      for (let commits = 1; isCut; commits++) {
        const { world, faults, fixture } = await filledInSmallPages()
        const old = stateOf(fixture)
        isCut = await sweepUntil(fixture, commits)
        if (isCut) {
          faults.next = { fail: 'full', reachedDisk }
          await world.advance(5_000)
          // The fault is unused if this was the last commit.
          expect(fixture.log).toEqual(faults.next ? [] : ['failed full', 'read only full', 'reloaded', 'recovered'])
          faults.next = undefined
        }
        await sweep(fixture)
        await expectSwept(fixture, old)
        await expectRecreated(fixture, old)
      }
    },
  )

  test('fails if the store is read-only', async () => {
    const { faults, fixture } = await filledInSmallPages()
    faults.next = { fail: 'io', reachedDisk: false }
    await expect(sweep(fixture)).rejects.toMatchObject({ code: 'storage' })
    await expect(sweep(fixture)).rejects.toMatchObject({ code: 'storage' })
    expect(await keysOf(fixture, 'gone')).toHaveLength(29)
    expect(fixture.addedOf(tallyAddress('A', 'gone'))).toHaveLength(3)
  })

  test('can be stopped, and throws then', async () => {
    const { world, fixture } = await filledInSmallPages()
    const old = stateOf(fixture)
    const stopped = sweepOf(fixture)
    const run = stopped.run('gone')
    run.catch(() => undefined)
    const before = fixture.commits.length
    await until(fixture, () => fixture.commits.length > before + 3)
    stopped.stop()
    await expect(during(world, run)).rejects.toBeInstanceOf(SweepStopped)
    await expect(during(world, stopped.run('kept'))).rejects.toBeInstanceOf(SweepStopped)
    await sweep(fixture)
    await expectSwept(fixture, old)
  })
})
