import { describe, expect, test } from 'vitest'
import type { Activation } from '#runtime/activation'
import { forgetAfterMs } from '#runtime/system'
import { keys } from '#store/keys'
import { openStage, type RuntimeFixture } from '#test/runtime/runtime-fixture'
import { bookAddress, tallyAddress } from '#test/runtime/tally-actors'

const gone = (id: string) => tallyAddress(id, 'gone')
const kept = (id: string) => tallyAddress(id, 'kept')

/** Unsaved tallies and a book in two tenants. */
async function filled(count = 3): Promise<RuntimeFixture> {
  const stage = await openStage({ redo: { eventsMax: 400, bytesMax: 1_000_000 } })
  for (const tenant of ['gone', 'kept']) {
    for (let id = 0; id < count; id++) stage.send(tallyAddress(`${id}`, tenant), { type: 'add', add: [id] })
    stage.send(bookAddress('K', tenant), { type: 'add', add: [1], reminder: stage.world.now() + 1_000 })
    stage.send(tallyAddress('0', tenant), { type: 'add', reminder: stage.world.now() + 1_000 })
  }
  await stage.settle()
  return stage
}

const snapshotsStored = (stage: RuntimeFixture, from: number) =>
  stage.commits.slice(from).flatMap(({ records }) => [...records.keys()].filter((key) => key.startsWith('actor/')))

const awakeOf = (stage: RuntimeFixture, id: string, tenant: string): Activation<unknown> | undefined =>
  stage.system.registry.awake(tallyAddress(id, tenant))

describe('a tenant that is forgotten', () => {
  test('has no awake actors, and other tenants keep theirs', async () => {
    const stage = await filled()
    const { registry } = stage.system
    const [dead, alive] = [awakeOf(stage, '1', 'gone'), awakeOf(stage, '1', 'kept')]
    const before = registry.awakeCount
    stage.system.forgetTenant('gone')
    expect([dead?.isAlive, alive?.isAlive]).toEqual([false, true])
    expect(registry.awakeCount).toBe(before - 4)
    expect(awakeOf(stage, '1', 'gone')).toBeUndefined()
    expect(awakeOf(stage, '1', 'kept')).toBe(alive)
    // The record names of the other tenant's book remain.
    expect(registry.namedCount).toBe(1)
  })

  test('leaves no snapshot: none is due, and queued ones are dropped', async () => {
    const stage = await filled()
    await stage.world.advance(forgetAfterMs - 1_000)
    const from = stage.commits.length
    // The actors are idle: their snapshots are queued, but in no commit yet.
    stage.world.spend(60_000)
    stage.world.fire()
    stage.system.forgetTenant('gone')
    const { redo } = stage.system.registry.head('gone')
    expect([redo.size, redo.first]).toEqual([0, undefined])
    for (let number = 0; number < 500; number++) {
      stage.send(bookAddress('L', 'gone'), { type: 'add', add: [number] })
      stage.send(bookAddress('L', 'kept'), { type: 'add', add: [number] })
      await stage.settle()
    }
    const saved = new Set(snapshotsStored(stage, from))
    expect(saved).toEqual(new Set(['0', '1', '2'].map((id) => keys.snapshot(kept(id)))))
  })

  test('is not applied again at a start after its stream was touched', async () => {
    const stage = await filled()
    const head = stage.system.registry.head('gone')
    stage.system.forgetTenant('gone')
    stage.system.gate.touch(head)
    await stage.settle()
    expect(stage.journal.stream('gone').redoFrom).toBe(head.taken + 1)
    stage.crash()
    const again = await stage.restart()
    expect(again.addedOf(gone('1'))).toEqual([])
    expect(again.addedOf(kept('1'))).toHaveLength(1)
    expect(again.system.registry.head('gone').taken).toBe(head.taken)
  })

  test('has no reminders', async () => {
    const stage = await filled()
    stage.system.forgetTenant('gone')
    expect(stage.system.reminders.count).toBe(2)
    await stage.world.advance(5_000)
    const values = (address = kept('0')) => stage.addedOf(address).map(({ value }) => value)
    expect(values()).toHaveLength(2)
    expect(awakeOf(stage, '0', 'gone')).toBeUndefined()
  })

  test('wakes again with its stored state', async () => {
    const stage = await filled()
    stage.send(gone('2'), { type: 'add', add: [22], isCheckpointed: true })
    await stage.settle()
    stage.system.forgetTenant('gone')
    stage.outputs.length = 0
    for (const id of ['1', '2']) stage.send(gone(id), { type: 'read' })
    stage.send(gone('1'), { type: 'add', add: [5] })
    await stage.settle()
    expect(stage.outputs).toEqual([
      'answered it []',
      'answered it [2,22]',
      expect.stringMatching(/^event gone/),
      'answered it undefined',
    ])
    expect(stage.system.registry.head('gone').redo.size).toBe(1)
  })

  test('forgets dead activations too', async () => {
    const stage = await filled()
    stage.send(gone('1'), { type: 'throw' })
    await stage.settle()
    stage.system.forgetTenant('gone')
    expect(stage.system.registry.head('gone').redo.unsavedFrom(gone('1'))).toBeUndefined()
    expect(stage.addedOf(gone('1'))).toEqual([])
  })

  test('unlinks its activations, so that a reference to one does not keep the others in memory', async () => {
    const stage = await filled()
    const activations = ['0', '1', '2'].map((id) => awakeOf(stage, id, 'gone'))
    expect(activations.some((activation) => activation?.queuedBehind)).toBe(true)
    stage.system.forgetTenant('gone')
    for (const activation of activations) {
      expect(activation?.queuedBefore ?? activation?.queuedBehind).toBeUndefined()
      expect(activation?.isUnsaved).toBe(false)
    }
  })

  test('may be unknown, and may be forgotten during a sweep for idle activations', async () => {
    const stage = await filled(40)
    const { registry } = stage.system
    const page = [...registry.nextForSweep(5)]
    expect(page).toHaveLength(5)
    stage.system.forgetTenant('gone')
    stage.system.forgetTenant('nobody')
    const rest = [...registry.nextForSweep(1_000)]
    expect(rest.every(({ isAlive }) => isAlive)).toBe(true)
    expect(registry.awakeCount).toBe(41)
  })

  test('counts as a change without an offset', async () => {
    const stage = await filled()
    const { silentChanges } = stage.system.registry.head('gone')
    stage.system.forgetTenant('gone')
    expect(stage.system.registry.head('gone').silentChanges).toBe(silentChanges + 1)
  })

  test('cannot be forgotten during a turn', async () => {
    const stage = await openStage()
    stage.send(gone('1'), { type: 'add', inside: () => stage.system.forgetTenant('gone') })
    await stage.settle()
    expect(stage.bugs).toEqual([expect.stringContaining('during a turn')])
  })
})

describe('a skipped offset', () => {
  test('is never assigned', async () => {
    const stage = await filled()
    const head = stage.system.registry.head('gone')
    const { taken } = head
    head.skipOffset()
    expect([head.taken, head.committed, head.released]).toEqual(Array(3).fill(taken + 1))
    stage.send(bookAddress('K', 'gone'), { type: 'add', add: [9] })
    await stage.settle()
    expect(stage.outputs.at(-2)).toBe(`event gone ${taken + 2}`)
  })

  test('is refused while a commit is pending', async () => {
    const stage = await filled()
    stage.send(gone('1'), { type: 'add', add: [9] })
    expect(() => stage.system.registry.head('gone').skipOffset()).toThrow('on their way')
  })
})

describe('a change without an event', () => {
  test('is counted for actors with redo only', async () => {
    const stage = await openStage()
    const head = stage.system.registry.head('default')
    stage.send(bookAddress('K'), { type: 'add', change: 1 })
    await stage.settle()
    expect(head.silentChanges).toBe(0)
    stage.send(tallyAddress('A'), { type: 'add', change: 1 })
    await stage.settle()
    expect(head.silentChanges).toBe(1)
  })
})
