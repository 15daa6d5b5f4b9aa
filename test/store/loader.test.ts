import { describe, expect, test } from 'vitest'
import type { Entry } from '#model/entry'
import type { AnyDefinition } from '#runtime/activation'
import type { Operation } from '#runtime/storage'
import { tellsPerCommitMax } from '#runtime/stored-tells'
import { applyCommit } from '#store/apply-commit'
import { keys } from '#store/keys'
import { packRecord } from '#store/record-codec'
import { redoFormat, wholeFormat } from '#store/store-journal'
import { ManualWorld } from '#test/runtime/manual-world'
import { during, openStage, Stage } from '#test/runtime/stage'
import { book, bookAddress, tally, tallyAddress } from '#test/runtime/tally-actors'
import { memoryPlace } from '#test/store/memory'
import { packChunk } from '#test/store/pack-chunk'
import { countRows } from '#test/store/rows-read'

const a = tallyAddress('A')
const k = bookAddress('K')

/** Writes to the store behind the server's back, while it is down. */
async function tamper(stage: Stage, operations: readonly Operation[]): Promise<void> {
  const storage = await during(stage.world, stage.place.open())
  await during(stage.world, storage.write(operations, { sync: true }))
  await during(stage.world, storage.close())
}

async function fiveCommits(): Promise<Stage> {
  const stage = await openStage()
  for (let commit = 1; commit <= 5; commit++) {
    stage.tell(a, { type: 'add', add: [commit, commit] })
    await stage.settle()
  }
  stage.crash()
  return stage
}

describe('a stream with a hole is damaged', () => {
  test.each([
    ['in the middle', 5, 'lacks entries 5 to 6'],
    ['at the beginning of what is applied again', 1, 'lacks entries 1 to 2'],
  ])('%s', async (_, offset, message) => {
    const stage = await fiveCommits()
    await tamper(stage, [{ key: keys.chunk('default', offset), value: null }])
    await expect(stage.reborn()).rejects.toMatchObject({ code: 'damaged', message: expect.stringContaining(message) })
  })

  test('where entries stand twice', async () => {
    const stage = await fiveCommits()
    const event = { kind: 'meta_set', device: 'A', at: 1, meta: { add: 9 } } as const
    await tamper(stage, [{ key: keys.chunk('default', 4), value: packChunk([event], 1, 0) }])
    await expect(stage.reborn()).rejects.toMatchObject({ code: 'damaged' })
  })

  test('before what is applied again it stops nobody: that part is history', async () => {
    const stage = await openStage()
    for (let commit = 0; commit < 3; commit++) {
      stage.tell(a, { type: 'add', add: [commit], isCheckpointed: true })
      await stage.settle()
    }
    stage.crash()
    await tamper(stage, [{ key: keys.chunk('default', 2), value: null }])
    const again = await stage.reborn()
    expect(again.addedOf(a)).toHaveLength(3)
  })
})

test('a stream that begins behind its last chunk goes on there: its tenant is being taken away', async () => {
  const stage = await fiveCommits()
  await tamper(stage, [
    { key: keys.redo('default'), value: packRecord(redoFormat, 12) },
    { key: keys.chunk('default', 1), value: null },
  ])
  const again = await stage.reborn()
  expect(again.addedOf(a)).toEqual([])
  expect(again.journal.stream('default').last).toBe(11)
  again.tell(a, { type: 'add', add: [7] })
  await again.settle()
  const added = [{ value: 7, offset: 12 }]
  expect(again.addedOf(a)).toEqual(added)
  again.crash()
  expect((await again.reborn()).addedOf(a)).toEqual(added)
})

test('behind a repair a hole is gone over at a start, and by nobody who resumes', async () => {
  const stage = await fiveCommits()
  const lost = (stage: Stage) => stage.addedOf(a).map(({ offset }) => offset)
  await tamper(stage, [
    { key: keys.chunk('default', 5), value: null },
    { key: keys.whole('default'), value: packRecord(wholeFormat, 20) },
  ])
  const again = await stage.reborn()
  expect(lost(again)).toEqual([1, 2, 3, 4, 7, 8, 9, 10])
  const stream = again.journal.stream('default')
  expect([stream.last, again.journal.retainedFrom('default')]).toEqual([19, 20])
  again.tell(a, { type: 'add', add: [7] })
  await again.settle()
  again.crash()
  const last = await again.reborn()
  expect(lost(last)).toEqual([1, 2, 3, 4, 7, 8, 9, 10, 20])
  // A hole that the repair does not know of is one all the same.
  last.crash()
  await tamper(last, [{ key: keys.whole('default'), value: packRecord(wholeFormat, 6) }])
  await expect(last.reborn()).rejects.toMatchObject({ code: 'damaged' })
})

describe('what a newer release wrote is refused', () => {
  test.each([
    ['the key space', keys.format, packRecord({ name: 'key space', version: 2, upgrades: {} }, null)],
    ['a snapshot', keys.snapshot(a), packRecord({ name: 'tally', version: 2, upgrades: {} }, { offset: 1, state: {} })],
    ['a redo mark', keys.redo('default'), packRecord({ ...redoFormat, version: 9 }, 1)],
    ['a chunk', keys.chunk('default', 9), Buffer.concat([Buffer.of(200), Buffer.alloc(30)])],
    ['a reminder', keys.reminder(a), packRecord({ name: 'reminder', version: 3, upgrades: {} }, 1)],
    ['a tell', keys.tell(1), packRecord({ name: 'tell', version: 3, upgrades: {} }, 1)],
    ['an epoch', keys.epoch(99), packRecord({ name: 'epoch', version: 3, upgrades: {} }, 1)],
  ])('%s', async (_, key, value) => {
    const stage = await fiveCommits()
    await tamper(stage, [{ key, value }])
    await expect(stage.reborn()).rejects.toMatchObject({ code: 'damaged' })
  })
})

test('an older snapshot is led up when its actor wakes', async () => {
  const stage = await openStage()
  stage.tell(a, { type: 'add', add: [1, 2], isCheckpointed: true })
  await stage.settle()
  stage.crash()
  const [tally] = (await import('#test/runtime/tally-actors')).tallies
  if (!tally) throw new Error('no tally')
  const upgrade = (stored: unknown) => {
    const { offset, state } = stored as { offset: number; state: { added: unknown; quiet: number } }
    return { offset, state: { ...state, quiet: 100 } }
  }
  const formats = { '': { name: 'tally', version: 2, upgrades: { 1: upgrade } } }
  const again = await stage.reborn({ definitions: () => [{ ...tally, formats }] })
  expect(again.system.peek(a)).toMatchObject({ quiet: 100, added: [{ value: 1 }, { value: 2 }] })
})

test('everything is found again: redo actors, written-through ones, reminders, heads of all tenants', async () => {
  const stage = await openStage()
  const dueAt = stage.world.now() + 3_600_000
  for (const tenant of ['default', 'other-1']) {
    stage.tell(tallyAddress('A', tenant), { type: 'add', add: [1], reminder: dueAt })
    stage.tell(bookAddress('K', tenant), { type: 'add', add: [2, 3] })
    await stage.settle()
  }
  stage.crash()
  const again = await stage.reborn()
  for (const tenant of ['default', 'other-1']) {
    expect(again.system.registry.head(tenant)).toMatchObject({ taken: 3, committed: 3, released: 3 })
    expect(again.addedOf(tallyAddress('A', tenant))).toEqual([{ value: 1, offset: 1 }])
    expect(again.system.reminders.dueAt(tallyAddress('A', tenant))).toBe(dueAt)
    again.tell(bookAddress('K', tenant), { type: 'look' }, tenant)
  }
  expect(again.said).toEqual(['answered default [2,3]', 'answered other-1 [2,3]'])
})

test('records beside snapshots are not read: there may be one for every device', async () => {
  const stage = await openStage()
  stage.tell(k, { type: 'add', add: [1, 2] })
  await stage.settle()
  stage.crash()
  const secrets = Array.from({ length: 1_000 }, (_, index) => ({
    key: keys.part(tallyAddress(`T${index}`), 'secret'),
    value: Buffer.of(index & 0xff),
  }))
  await tamper(stage, secrets)
  const rowsRead = countRows(stage.place, 'part/')
  const again = await stage.reborn()
  again.tell(k, { type: 'look' })
  expect(again.said).toEqual(['answered it [1,2]'])
  expect(rowsRead()).toBeLessThan(10)
})

test('a chunk that begins before what is applied again is used from there only', async () => {
  const stage = await openStage()
  stage.tell(k, { type: 'add', add: [1, 2] })
  stage.tell(a, { type: 'add', add: [3], isCheckpointed: true, change: 5 })
  stage.tell(a, { type: 'add', add: [4] })
  await stage.settle()
  expect(stage.commits[0]?.streams[0]).toMatchObject({ firstOffset: 1, redoFrom: 4 })
  stage.crash()
  const again = await stage.reborn()
  expect(again.system.peek(a)).toEqual({
    id: 'A',
    quiet: 5,
    added: [
      { value: 3, offset: 3 },
      { value: 4, offset: 4 },
    ],
  })
  // And it can be woken anew from there.
  again.tell(a, { type: 'throw' })
  expect(again.addedOf(a)).toHaveLength(2)
})

test('an empty store is opened, used and opened again', async () => {
  const stage = await openStage()
  stage.crash()
  const second = await stage.reborn()
  second.tell(a, { type: 'add', add: [1] })
  await second.settle()
  second.crash()
  expect((await second.reborn()).addedOf(a)).toHaveLength(1)
})

test('a store that is closed in order is opened in order, and only by one at a time', async () => {
  const stage = await openStage()
  const second = new Stage({ world: stage.world, place: stage.place })
  await expect(second.open()).rejects.toMatchObject({ code: 'locked' })
  stage.tell(a, { type: 'add', add: [1] })
  await stage.settle()
  await stage.close()
  expect(stage.database.status).toBe('closed')
  expect((await second.open()).addedOf(a)).toHaveLength(1)
})

test('slow storage changes nothing of it', async () => {
  for (let seed = 1; seed <= 5; seed++) {
    const world = new ManualWorld({ seed })
    const place = memoryPlace({ world, delayMsMax: 20 })
    const open = async () => {
      const stage = new Stage({ world, place })
      const opened = stage.open()
      let isOpen = false
      void opened.then(() => {
        isOpen = true
      })
      while (!isOpen) await world.advance(5)
      return stage
    }
    const stage = await open()
    for (let number = 0; number < 40; number++) {
      stage.tell(tallyAddress(`T${number % 4}`), { type: 'add', add: [number], isCheckpointed: number % 7 === 0 })
      if (number % 3 === 0) await world.advance(10)
    }
    await world.advance(100)
    expect(stage.said.filter((said) => said.startsWith('answered'))).toHaveLength(40)
    stage.crash()
    const again = await open()
    for (let who = 0; who < 4; who++) {
      expect(again.addedOf(tallyAddress(`T${who}`)).map(({ value }) => value)).toEqual(
        Array.from({ length: 10 }, (_, index) => index * 4 + who),
      )
    }
  }
})

test('a second node that applies the commits of the first holds the same, at each commit and after a start', async () => {
  const commits: (readonly Operation[])[] = []
  const world = new ManualWorld()
  const place = memoryPlace({ world, faults: { beforeWrite: (operations) => void commits.push(operations) } })
  const owner = await openStage({ world, place })
  let node = await openStage()
  commits.length = 0
  const b = tallyAddress('B', 'other-1')
  const follow = async () => {
    await owner.settle()
    for (const operations of commits.splice(0)) {
      await during(node.world, node.journal.storage.write(operations, { sync: false }))
      applyCommit(node, operations)
    }
    for (const address of [a, b, k]) expect(node.system.peek(address)).toEqual(owner.system.peek(address))
    for (const tenant of ['default', 'other-1']) {
      expect(node.system.registry.head(tenant).released).toBe(owner.system.registry.head(tenant).released)
      const { redoFrom, last, bytes } = owner.journal.stream(tenant)
      expect(node.journal.stream(tenant)).toMatchObject({ redoFrom, last, bytes })
      const eventsOf = ({ journal }: Stage) => [...journal.eventsSince(tenant, redoFrom)]
      expect(eventsOf(node)).toEqual(eventsOf(owner))
    }
    expect(node.system.reminders.dueAt(a)).toBe(owner.system.reminders.dueAt(a))
  }
  owner.tell(a, { type: 'add', add: [1, 2], reminder: world.now() + 3_600_000 })
  owner.tell(b, { type: 'add', add: [3] })
  await follow()
  owner.tell(k, { type: 'add', add: [4] })
  owner.tell(a, { type: 'add', add: [5], change: 6, isCheckpointed: true, reminder: null })
  await follow()
  owner.tell(k, { type: 'add', add: [7] })
  owner.tell(b, { type: 'forget_me' })
  owner.tell(a, { type: 'add', add: [8] })
  await follow()
  // More than one commit takes, so the last ones are stored and removed.
  const tells = Array.from({ length: tellsPerCommitMax + 2 }, (_, index) => {
    return { to: b, command: index < tellsPerCommitMax ? { type: 'ping' } : { type: 'add', add: [index] } }
  })
  owner.tell(a, { type: 'add', add: [9], tells })
  await follow()
  node.system.serve()
  await node.settle()
  expect(node.addedOf(b)).toEqual(owner.addedOf(b))
  expect(node.journal.recent('default', 7)).toEqual(owner.journal.recent('default', 7))
  node.crash()
  node = await node.reborn()
  await follow()
})

test('a following node receives the stored records that the first one received after its commits', async () => {
  const commits: (readonly Operation[])[] = []
  const world = new ManualWorld()
  const place = memoryPlace({ world, faults: { beforeWrite: (operations) => void commits.push(operations) } })
  const recordsOf = (list: unknown[]): AnyDefinition<Entry>[] => [
    tally as unknown as AnyDefinition<Entry>,
    { ...book, recordStored: ({ id }, { name, value }) => void list.push([id, name, value]) } as AnyDefinition<Entry>,
  ]
  const owned: unknown[] = []
  const followed: unknown[] = []
  const owner = await openStage({ world, place, definitions: () => recordsOf(owned) })
  const node = await openStage({ definitions: () => recordsOf(followed) })
  commits.length = 0
  owner.tell(k, { type: 'add', add: [4, 5] })
  expect(owned).toEqual([])
  await owner.settle()
  owner.tell(k, { type: 'add', add: [6] })
  await owner.settle()
  for (const operations of commits) applyCommit({ ...node, isServing: true }, operations)
  expect(owned).toEqual([4, 5, 6].map((page) => ['K', `page/${page}`, page]))
  expect(followed).toEqual(owned)
})
