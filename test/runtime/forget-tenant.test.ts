import { beforeEach, describe, expect, test } from 'vitest'
import type { Activation } from '#runtime/activation'
import { forgetAfterMs } from '#runtime/system'
import { keys } from '#store/key-space'
import { openRuntime, type RuntimeFixture } from '#test/runtime/runtime-fixture'
import { bookAddress, tallyAddress } from '#test/runtime/tally-actors'

const gone = (id: string) => tallyAddress(id, 'gone')
const kept = (id: string) => tallyAddress(id, 'kept')

/** Unsaved tallies and a book in two tenants. */
async function filled(count = 3): Promise<RuntimeFixture> {
  const fixture = await openRuntime({ redo: { eventsMax: 400, bytesMax: 1_000_000 } })
  for (const tenant of ['gone', 'kept']) {
    for (let id = 0; id < count; id++) fixture.send(tallyAddress(`${id}`, tenant), { type: 'add', add: [id] })
    fixture.send(bookAddress('K', tenant), { type: 'add', add: [1], reminder: fixture.world.now() + 1_000 })
    fixture.send(tallyAddress('0', tenant), { type: 'add', reminder: fixture.world.now() + 1_000 })
  }
  await fixture.settle()
  return fixture
}

const snapshotsStored = (fixture: RuntimeFixture, from: number) =>
  fixture.commits.slice(from).flatMap(({ records }) => [...records.keys()].filter((key) => key.startsWith('actor/')))

const awakeOf = (fixture: RuntimeFixture, id: string, tenant: string): Activation<unknown> | undefined =>
  fixture.system.registry.awake(tallyAddress(id, tenant))

let fixture: RuntimeFixture
beforeEach(async () => {
  fixture = await filled()
})

describe('a tenant that is forgotten', () => {
  test('has no awake actors, and other tenants keep theirs', async () => {
    const { registry } = fixture.system
    const [dead, alive] = [awakeOf(fixture, '1', 'gone'), awakeOf(fixture, '1', 'kept')]
    const before = registry.awakeCount
    fixture.system.forgetTenant('gone')
    expect([dead?.isAlive, alive?.isAlive]).toEqual([false, true])
    expect(registry.awakeCount).toBe(before - 4)
    expect(awakeOf(fixture, '1', 'gone')).toBeUndefined()
    expect(awakeOf(fixture, '1', 'kept')).toBe(alive)
    // The record names of the other tenant's book remain.
    expect(registry.namedCount).toBe(1)
  })

  test('leaves no snapshot: none is due, and queued ones are dropped', async () => {
    await fixture.world.advance(forgetAfterMs - 1_000)
    const from = fixture.commits.length
    // The actors are idle: their snapshots are queued, but in no commit yet.
    fixture.world.spend(60_000)
    fixture.world.fire()
    fixture.system.forgetTenant('gone')
    const { redo } = fixture.system.registry.head('gone')
    expect([redo.size, redo.first]).toEqual([0, undefined])
    for (let number = 0; number < 500; number++) {
      fixture.send(bookAddress('L', 'gone'), { type: 'add', add: [number] })
      fixture.send(bookAddress('L', 'kept'), { type: 'add', add: [number] })
      await fixture.settle()
    }
    const saved = new Set(snapshotsStored(fixture, from))
    expect(saved).toEqual(new Set(['0', '1', '2'].map((id) => keys.snapshot(kept(id)))))
  })

  test('is not applied again at a start after its stream was touched', async () => {
    const head = fixture.system.registry.head('gone')
    fixture.system.forgetTenant('gone')
    fixture.system.gate.touch(head)
    await fixture.settle()
    expect(fixture.journal.stream('gone').redoFrom).toBe(head.taken + 1)
    fixture.crash()
    const again = await fixture.restart()
    expect(again.addedOf(gone('1'))).toEqual([])
    expect(again.addedOf(kept('1'))).toHaveLength(1)
    expect(again.system.registry.head('gone').taken).toBe(head.taken)
  })

  test('has no reminders', async () => {
    fixture.system.forgetTenant('gone')
    expect(fixture.system.reminders.count).toBe(2)
    await fixture.world.advance(5_000)
    expect(fixture.valuesOf(kept('0'))).toHaveLength(2)
    expect(awakeOf(fixture, '0', 'gone')).toBeUndefined()
  })

  test('wakes again with its stored state', async () => {
    fixture.send(gone('2'), { type: 'add', add: [22], isCheckpointed: true })
    await fixture.settle()
    fixture.system.forgetTenant('gone')
    fixture.outputs.length = 0
    for (const id of ['1', '2']) fixture.send(gone(id), { type: 'read' })
    fixture.send(gone('1'), { type: 'add', add: [5] })
    await fixture.settle()
    expect(fixture.outputs.slice(0, 2)).toEqual(['answered it []', 'answered it [2,22]'])
    expect(fixture.outputs.slice(2)).toEqual([expect.stringMatching(/^event gone/), 'answered it undefined'])
    expect(fixture.system.registry.head('gone').redo.size).toBe(1)
  })

  test('forgets dead activations too', async () => {
    fixture.send(gone('1'), { type: 'throw' })
    await fixture.settle()
    fixture.system.forgetTenant('gone')
    expect(fixture.system.registry.head('gone').redo.unsavedFrom(gone('1'))).toBeUndefined()
    expect(fixture.addedOf(gone('1'))).toEqual([])
  })

  test('unlinks its activations, so that a reference to one does not keep the others in memory', async () => {
    const activations = ['0', '1', '2'].map((id) => awakeOf(fixture, id, 'gone'))
    expect(activations.some((activation) => activation?.queuedBehind)).toBe(true)
    fixture.system.forgetTenant('gone')
    for (const activation of activations) {
      expect(activation?.queuedBefore ?? activation?.queuedBehind).toBeUndefined()
      expect(activation?.isUnsaved).toBe(false)
    }
  })

  test('may be unknown, and may be forgotten during a sweep for idle activations', async () => {
    const fixture = await filled(40)
    const { registry } = fixture.system
    const page = [...registry.nextForSweep(5)]
    expect(page).toHaveLength(5)
    fixture.system.forgetTenant('gone')
    fixture.system.forgetTenant('nobody')
    const rest = [...registry.nextForSweep(1_000)]
    expect(rest.every(({ isAlive }) => isAlive)).toBe(true)
    expect(registry.awakeCount).toBe(41)
  })

  test('counts as a change without an offset', async () => {
    const { silentChanges } = fixture.system.registry.head('gone')
    fixture.system.forgetTenant('gone')
    expect(fixture.system.registry.head('gone').silentChanges).toBe(silentChanges + 1)
  })

  test('cannot be forgotten during a turn', async () => {
    const fixture = await openRuntime()
    fixture.send(gone('1'), { type: 'add', inside: () => fixture.system.forgetTenant('gone') })
    await fixture.settle()
    expect(fixture.bugs).toEqual([expect.stringContaining('during a turn')])
  })
})

describe('a skipped offset', () => {
  test('is never assigned', async () => {
    const head = fixture.system.registry.head('gone')
    const { taken } = head
    head.skipOffset()
    expect([head.taken, head.committed, head.released]).toEqual(Array(3).fill(taken + 1))
    fixture.send(bookAddress('K', 'gone'), { type: 'add', add: [9] })
    await fixture.settle()
    expect(fixture.outputs.at(-2)).toBe(`event gone ${taken + 2}`)
  })

  test('is refused while a commit is pending', async () => {
    fixture.send(gone('1'), { type: 'add', add: [9] })
    expect(() => fixture.system.registry.head('gone').skipOffset()).toThrow('not released yet')
  })
})

test('a change without an event is counted for actors with redo only', async () => {
  const fixture = await openRuntime()
  const head = fixture.system.registry.head('default')
  fixture.send(bookAddress('K'), { type: 'add', change: 1 })
  await fixture.settle()
  expect(head.silentChanges).toBe(0)
  fixture.send(tallyAddress('A'), { type: 'add', change: 1 })
  await fixture.settle()
  expect(head.silentChanges).toBe(1)
})
