import { describe, expect, test } from 'vitest'
import type { Entry } from '#model/entry'
import type { AnyDefinition } from '#runtime/activation'
import { type Operation, StorageFailure } from '#runtime/storage'
import { tellsPerCommitMax } from '#runtime/stored-tells'
import { keys } from '#store/key-space'
import { applyOperation, putSnapshotsFirst } from '#store/loader'
import { packRecord } from '#store/record-codec'
import { redoFormat, wholeFormat } from '#store/store-journal'
import { ManualWorld } from '#test/runtime/manual-world'
import { during, openRuntime, type RuntimeFixture, type RuntimeFixtureOptions } from '#test/runtime/runtime-fixture'
import { book, bookAddress, tally, tallyAddress } from '#test/runtime/tally-actors'
import { memoryStorage } from '#test/store/memory'
import { packChunk } from '#test/store/pack-chunk'
import { countRows } from '#test/store/wrapped-scans'

const a = tallyAddress('A')
const k = bookAddress('K')

/** Writes to the store directly, while the server is down. */
async function tamper(fixture: RuntimeFixture, operations: readonly Operation[]): Promise<void> {
  const storage = await during(fixture.world, fixture.backend.open())
  await during(fixture.world, storage.write(operations, { sync: true }))
  await during(fixture.world, storage.close())
}

async function fiveCommits(): Promise<RuntimeFixture> {
  const fixture = await openRuntime()
  for (let commit = 1; commit <= 5; commit++) {
    fixture.send(a, { type: 'add', add: [commit, commit] })
    await fixture.settle()
  }
  fixture.crash()
  return fixture
}

describe('a stream is damaged', () => {
  test.each([
    ['in the middle', 5, 'lacks entries 5 to 6'],
    ['at the beginning of the redo window', 1, 'lacks entries 1 to 2'],
  ])('by a hole %s', async (_, offset, message) => {
    const fixture = await fiveCommits()
    await tamper(fixture, [{ key: keys.chunk('default', offset), value: null }])
    await expect(fixture.restart()).rejects.toMatchObject({
      code: 'damaged',
      message: expect.stringContaining(message),
    })
  })

  test('by entries that are stored twice', async () => {
    const fixture = await fiveCommits()
    const event = { kind: 'meta_set', device: 'A', at: 1, meta: { add: 9 } } as const
    await tamper(fixture, [{ key: keys.chunk('default', 4), value: packChunk([event], 1, 0) }])
    await expect(fixture.restart()).rejects.toMatchObject({ code: 'damaged' })
  })

  test('but not if entries before the redo window are missing', async () => {
    const fixture = await openRuntime()
    for (let commit = 0; commit < 3; commit++) {
      fixture.send(a, { type: 'add', add: [commit], isCheckpointed: true })
      await fixture.settle()
    }
    fixture.crash()
    await tamper(fixture, [{ key: keys.chunk('default', 2), value: null }])
    const again = await fixture.restart()
    expect(again.addedOf(a)).toHaveLength(3)
  })
})

test('the stream of a deleted tenant continues at its redo mark', async () => {
  const fixture = await fiveCommits()
  const redo = { key: keys.redo('default'), value: packRecord(redoFormat, 12) }
  await tamper(fixture, [redo, { key: keys.chunk('default', 1), value: null }])
  const again = await fixture.restart()
  expect(again.addedOf(a)).toEqual([])
  expect(again.journal.stream('default').last).toBe(11)
  again.send(a, { type: 'add', add: [7] })
  await again.settle()
  const added = [{ value: 7, offset: 12 }]
  expect(again.addedOf(a)).toEqual(added)
  again.crash()
  expect((await again.restart()).addedOf(a)).toEqual(added)
})

test('a start skips a hole that a repair left, and clients cannot resume before it', async () => {
  const fixture = await fiveCommits()
  const lost = (fixture: RuntimeFixture) => fixture.addedOf(a).map(({ offset }) => offset)
  const whole = { key: keys.whole('default'), value: packRecord(wholeFormat, 20) }
  await tamper(fixture, [{ key: keys.chunk('default', 5), value: null }, whole])
  const again = await fixture.restart()
  expect(lost(again)).toEqual([1, 2, 3, 4, 7, 8, 9, 10])
  const stream = again.journal.stream('default')
  expect([stream.last, again.journal.retainedFrom('default')]).toEqual([19, 20])
  again.send(a, { type: 'add', add: [7] })
  await again.settle()
  again.crash()
  const last = await again.restart()
  expect(lost(last)).toEqual([1, 2, 3, 4, 7, 8, 9, 10, 20])
  // A hole after the repair is still damage.
  last.crash()
  await tamper(last, [{ key: keys.whole('default'), value: packRecord(wholeFormat, 6) }])
  await expect(last.restart()).rejects.toMatchObject({ code: 'damaged' })
})

test.each([
  ['the key space', keys.format, packRecord({ name: 'key space', version: 2, upgrades: {} }, null)],
  ['a snapshot', keys.snapshot(a), packRecord({ name: 'tally', version: 2, upgrades: {} }, { offset: 1, state: {} })],
  ['a redo mark', keys.redo('default'), packRecord({ ...redoFormat, version: 9 }, 1)],
  ['a chunk', keys.chunk('default', 9), Buffer.concat([Buffer.of(200), Buffer.alloc(30)])],
  ['a reminder', keys.reminder(a), packRecord({ name: 'reminder', version: 3, upgrades: {} }, 1)],
  ['a tell', keys.tell(1), packRecord({ name: 'tell', version: 3, upgrades: {} }, 1)],
  ['an epoch', keys.epoch(99), packRecord({ name: 'epoch', version: 3, upgrades: {} }, 1)],
])('a record of a newer release is refused: %s', async (_, key, value) => {
  const fixture = await fiveCommits()
  await tamper(fixture, [{ key, value }])
  await expect(fixture.restart()).rejects.toMatchObject({ code: 'damaged' })
})

test('an older snapshot is upgraded when its actor wakes', async () => {
  const fixture = await openRuntime()
  fixture.send(a, { type: 'add', add: [1, 2], isCheckpointed: true })
  await fixture.settle()
  fixture.crash()
  const upgrade = (stored: unknown) => {
    const { offset, state } = stored as { offset: number; state: { added: unknown; quiet: number } }
    return { offset, state: { ...state, quiet: 100 } }
  }
  const formats = { '': { name: 'tally', version: 2, upgrades: { 1: upgrade } } }
  const again = await fixture.restart({ definitions: () => [{ ...tally, formats } as unknown as AnyDefinition<Entry>] })
  expect(again.system.peek(a)).toMatchObject({ quiet: 100, added: [{ value: 1 }, { value: 2 }] })
})

test('a snapshot of another form is refused', async () => {
  const fixture = await openRuntime()
  fixture.send(a, { type: 'add', add: [1], isCheckpointed: true })
  await fixture.settle()
  fixture.crash()
  const other = { ...tally, readSnapshot: () => undefined } as unknown as AnyDefinition<Entry>
  const again = await fixture.restart({ definitions: () => [other] })
  expect(() => again.system.peek(a)).toThrow(new StorageFailure('damaged', 'a stored tally cannot be read'))
})

test('a start restores actors with redo and write-through, reminders and stream heads of all tenants', async () => {
  const fixture = await openRuntime()
  const dueAt = fixture.world.now() + 3_600_000
  for (const tenant of ['default', 'other-1']) {
    fixture.send(tallyAddress('A', tenant), { type: 'add', add: [1], reminder: dueAt })
    fixture.send(bookAddress('K', tenant), { type: 'add', add: [2, 3] })
    await fixture.settle()
  }
  fixture.crash()
  const again = await fixture.restart()
  for (const tenant of ['default', 'other-1']) {
    expect(again.system.registry.head(tenant)).toMatchObject({ taken: 3, committed: 3, released: 3 })
    expect(again.addedOf(tallyAddress('A', tenant))).toEqual([{ value: 1, offset: 1 }])
    expect(again.system.reminders.dueAt(tallyAddress('A', tenant))).toBe(dueAt)
    again.send(bookAddress('K', tenant), { type: 'read' }, tenant)
  }
  expect(again.outputs).toEqual(['answered default [2,3]', 'answered other-1 [2,3]'])
})

test('a start does not read the records of devices', async () => {
  const fixture = await openRuntime()
  fixture.send(k, { type: 'add', add: [1, 2] })
  await fixture.settle()
  fixture.crash()
  const secrets = Array.from({ length: 1_000 }, (_, index) => ({
    key: keys.part(tallyAddress(`T${index}`), 'secret'),
    value: Buffer.of(index & 0xff),
  }))
  await tamper(fixture, secrets)
  const rowsRead = countRows(fixture.backend, 'part/')
  const again = await fixture.restart()
  again.send(k, { type: 'read' })
  expect(again.outputs).toEqual(['answered it [1,2]'])
  expect(rowsRead()).toBeLessThan(10)
})

test('a chunk that begins before the redo window is applied from the redo offset', async () => {
  const fixture = await openRuntime()
  fixture.send(k, { type: 'add', add: [1, 2] })
  fixture.send(a, { type: 'add', add: [3], isCheckpointed: true, change: 5 })
  fixture.send(a, { type: 'add', add: [4] })
  await fixture.settle()
  expect(fixture.commits[0]?.streams[0]).toMatchObject({ firstOffset: 1, redoFrom: 4 })
  fixture.crash()
  const again = await fixture.restart()
  const added = [3, 4].map((number) => ({ value: number, offset: number }))
  expect(again.system.peek(a)).toEqual({ id: 'A', quiet: 5, added })
  // The actor can be woken again with the same state.
  again.send(a, { type: 'throw' })
  expect(again.addedOf(a)).toHaveLength(2)
})

async function openOwner(options: RuntimeFixtureOptions = {}) {
  const commits: (readonly Operation[])[] = []
  const world = new ManualWorld()
  const backend = memoryStorage({ world, faults: { beforeWrite: (operations) => void commits.push(operations) } })
  return { world, commits, owner: await openRuntime({ world, backend, ...options }) }
}

test('a second node that applies the commits of the first has the same state, after each commit and after a restart', async () => {
  const { world, owner, commits } = await openOwner()
  let node = await openRuntime()
  commits.length = 0
  const b = tallyAddress('B', 'other-1')
  const follow = async () => {
    await owner.settle()
    for (const operations of commits.splice(0)) {
      await during(node.world, node.journal.storage.write(operations, { sync: false }))
      for (const operation of putSnapshotsFirst(operations)) applyOperation(node, operation)
    }
    for (const address of [a, b, k]) expect(node.system.peek(address)).toEqual(owner.system.peek(address))
    for (const tenant of ['default', 'other-1']) {
      expect(node.system.registry.head(tenant).released).toBe(owner.system.registry.head(tenant).released)
      const { redoFrom, last, bytes } = owner.journal.stream(tenant)
      expect(node.journal.stream(tenant)).toMatchObject({ redoFrom, last, bytes })
      const eventsOf = ({ journal }: RuntimeFixture) => [...journal.eventsSince(tenant, redoFrom)]
      expect(eventsOf(node)).toEqual(eventsOf(owner))
    }
    expect(node.system.reminders.dueAt(a)).toBe(owner.system.reminders.dueAt(a))
  }
  owner.send(a, { type: 'add', add: [1, 2], reminder: world.now() + 3_600_000 })
  owner.send(b, { type: 'add', add: [3] })
  await follow()
  owner.send(k, { type: 'add', add: [4] })
  owner.send(a, { type: 'add', add: [5], change: 6, isCheckpointed: true, reminder: null })
  await follow()
  owner.send(k, { type: 'add', add: [7] })
  owner.send(b, { type: 'forget_me' })
  owner.send(a, { type: 'add', add: [8] })
  await follow()
  // More than fit in one commit, so the last ones are stored and removed.
  const tells = Array.from({ length: tellsPerCommitMax + 2 }, (_, index) => {
    return { to: b, command: index < tellsPerCommitMax ? { type: 'ping' } : { type: 'add', add: [index] } }
  })
  owner.send(a, { type: 'add', add: [9], tells })
  await follow()
  node.system.serve()
  await node.settle()
  expect(node.addedOf(b)).toEqual(owner.addedOf(b))
  expect(node.journal.recent('default', 7)).toEqual(owner.journal.recent('default', 7))
  node.crash()
  node = await node.restart()
  await follow()
})

test('a following node receives the stored records that the first one received after its commits', async () => {
  const recordsOf = (list: unknown[]): AnyDefinition<Entry>[] => [
    tally as unknown as AnyDefinition<Entry>,
    { ...book, recordStored: ({ id }, { name, value }) => void list.push([id, name, value]) } as AnyDefinition<Entry>,
  ]
  const owned: unknown[] = []
  const followed: unknown[] = []
  const { owner, commits } = await openOwner({ definitions: () => recordsOf(owned) })
  const node = await openRuntime({ definitions: () => recordsOf(followed) })
  commits.length = 0
  owner.send(k, { type: 'add', add: [4, 5] })
  expect(owned).toEqual([])
  await owner.settle()
  owner.send(k, { type: 'add', add: [6] })
  await owner.settle()
  const { journal, system } = node
  const follower = { journal, system, isPublished: true }
  for (const operations of commits)
    for (const operation of putSnapshotsFirst(operations)) applyOperation(follower, operation)
  expect(owned).toEqual([4, 5, 6].map((page) => ['K', `page/${page}`, page]))
  expect(followed).toEqual(owned)
})
