import { describe, expect, test } from 'vitest'
import type { Activation } from '#runtime/activation'
import { forgetAfterMs } from '#runtime/system'
import { keys } from '#store/keys'
import { openStage, type Stage } from '#test/runtime/stage'
import { bookAddress, tallyAddress } from '#test/runtime/tally-actors'

const gone = (id: string) => tallyAddress(id, 'gone')
const kept = (id: string) => tallyAddress(id, 'kept')

/** Unsaved tallies and a book in two tenants. */
async function filled(count = 3): Promise<Stage> {
  const stage = await openStage({ redo: { eventsMax: 400, bytesMax: 1_000_000 } })
  for (const tenant of ['gone', 'kept']) {
    for (let id = 0; id < count; id++) stage.tell(tallyAddress(`${id}`, tenant), { type: 'add', add: [id] })
    stage.tell(bookAddress('K', tenant), { type: 'add', add: [1], reminder: stage.world.now() + 1_000 })
    stage.tell(tallyAddress('0', tenant), { type: 'add', reminder: stage.world.now() + 1_000 })
  }
  await stage.settle()
  return stage
}

const snapshotsSaid = (stage: Stage, from: number) =>
  stage.commits.slice(from).flatMap(({ records }) => [...records.keys()].filter((key) => key.startsWith('actor/')))

const awakeOf = (stage: Stage, id: string, tenant: string): Activation<unknown> | undefined =>
  stage.system.registry.awake(tallyAddress(id, tenant))

describe('a tenant that is forgotten', () => {
  test('has nobody awake, and others have', async () => {
    const stage = await filled()
    const { registry } = stage.system
    const [dead, alive] = [awakeOf(stage, '1', 'gone'), awakeOf(stage, '1', 'kept')]
    const before = registry.awakeCount
    stage.system.forgetTenant('gone')
    expect([dead?.isAlive, alive?.isAlive]).toEqual([false, true])
    expect(registry.awakeCount).toBe(before - 4)
    expect(awakeOf(stage, '1', 'gone')).toBeUndefined()
    expect(awakeOf(stage, '1', 'kept')).toBe(alive)
    // Names of records: those of the other's book.
    expect(registry.namedCount).toBe(1)
  })

  test('leaves no snapshot behind: none is due, and none that was asked for is taken', async () => {
    const stage = await filled()
    await stage.world.advance(forgetAfterMs - 1_000)
    const from = stage.commits.length
    // Idle by now: their snapshots are asked for, and stand in no commit yet.
    stage.world.spend(60_000)
    stage.world.fire()
    stage.system.forgetTenant('gone')
    const { redo } = stage.system.registry.head('gone')
    expect([redo.size, redo.first]).toEqual([0, undefined])
    for (let number = 0; number < 500; number++) {
      stage.tell(bookAddress('L', 'gone'), { type: 'add', add: [number] })
      stage.tell(bookAddress('L', 'kept'), { type: 'add', add: [number] })
      await stage.settle()
    }
    const saved = new Set(snapshotsSaid(stage, from))
    expect(saved).toEqual(new Set(['0', '1', '2'].map((id) => keys.snapshot(kept(id)))))
  })

  test('is not applied again at a start, once its stream was touched', async () => {
    const stage = await filled()
    const head = stage.system.registry.head('gone')
    stage.system.forgetTenant('gone')
    stage.system.gate.touch(head)
    await stage.settle()
    expect(stage.journal.stream('gone').redoFrom).toBe(head.taken + 1)
    stage.crash()
    const again = await stage.reborn()
    expect(again.addedOf(gone('1'))).toEqual([])
    expect(again.addedOf(kept('1'))).toHaveLength(1)
    expect(again.system.registry.head('gone').taken).toBe(head.taken)
  })

  test('is reminded of nothing', async () => {
    const stage = await filled()
    stage.system.forgetTenant('gone')
    expect(stage.system.reminders.count).toBe(2)
    await stage.world.advance(5_000)
    const values = (address = kept('0')) => stage.addedOf(address).map(({ value }) => value)
    expect(values()).toHaveLength(2)
    expect(awakeOf(stage, '0', 'gone')).toBeUndefined()
  })

  test('is asked again as if it had just been woken, with what is stored', async () => {
    const stage = await filled()
    stage.tell(gone('2'), { type: 'add', add: [22], isCheckpointed: true })
    await stage.settle()
    stage.system.forgetTenant('gone')
    stage.said.length = 0
    for (const id of ['1', '2']) stage.tell(gone(id), { type: 'look' })
    stage.tell(gone('1'), { type: 'add', add: [5] })
    await stage.settle()
    expect(stage.said).toEqual([
      'answered it []',
      'answered it [2,22]',
      expect.stringMatching(/^event gone/),
      'answered it undefined',
    ])
    expect(stage.system.registry.head('gone').redo.size).toBe(1)
  })

  test('one that died is forgotten like the others', async () => {
    const stage = await filled()
    stage.tell(gone('1'), { type: 'throw' })
    await stage.settle()
    stage.system.forgetTenant('gone')
    expect(stage.system.registry.head('gone').redo.unsavedFrom(gone('1'))).toBeUndefined()
    expect(stage.addedOf(gone('1'))).toEqual([])
  })

  test('no activation that somebody keeps holds the others', async () => {
    const stage = await filled()
    const activations = ['0', '1', '2'].map((id) => awakeOf(stage, id, 'gone'))
    expect(activations.some((activation) => activation?.queuedBehind)).toBe(true)
    stage.system.forgetTenant('gone')
    for (const activation of activations) {
      expect(activation?.queuedBefore ?? activation?.queuedBehind).toBeUndefined()
      expect(activation?.isUnsaved).toBe(false)
    }
  })

  test('may be one that nobody knows, and may be forgotten while idle ones are looked for', async () => {
    const stage = await filled(40)
    const { registry } = stage.system
    const looked = [...registry.nextForSweep(5)]
    expect(looked).toHaveLength(5)
    stage.system.forgetTenant('gone')
    stage.system.forgetTenant('nobody')
    const rest = [...registry.nextForSweep(1_000)]
    expect(rest.every(({ isAlive }) => isAlive)).toBe(true)
    expect(registry.awakeCount).toBe(41)
  })

  test('reads otherwise than before, though no offset says so', async () => {
    const stage = await filled()
    const { silentChanges } = stage.system.registry.head('gone')
    stage.system.forgetTenant('gone')
    expect(stage.system.registry.head('gone').silentChanges).toBe(silentChanges + 1)
  })

  test('is not forgotten during a turn', async () => {
    const stage = await openStage()
    stage.tell(gone('1'), { type: 'add', inside: () => stage.system.forgetTenant('gone') })
    await stage.settle()
    expect(stage.bugs).toEqual([expect.stringContaining('during a turn')])
  })
})

describe('an offset that is left out', () => {
  test('is never given', async () => {
    const stage = await filled()
    const head = stage.system.registry.head('gone')
    const { taken } = head
    head.skipOffset()
    expect([head.taken, head.committed, head.released]).toEqual(Array(3).fill(taken + 1))
    stage.tell(bookAddress('K', 'gone'), { type: 'add', add: [9] })
    await stage.settle()
    expect(stage.said.at(-2)).toBe(`event gone ${taken + 2}`)
  })

  test('is none while something is on its way', async () => {
    const stage = await filled()
    stage.tell(gone('1'), { type: 'add', add: [9] })
    expect(() => stage.system.registry.head('gone').skipOffset()).toThrow('on their way')
  })
})

describe('what no event tells', () => {
  test('is counted where it shows beside the stream, and only there', async () => {
    const stage = await openStage()
    const head = stage.system.registry.head('default')
    stage.tell(bookAddress('K'), { type: 'add', change: 1 })
    await stage.settle()
    expect(head.silentChanges).toBe(0)
    stage.tell(tallyAddress('A'), { type: 'add', change: 1 })
    await stage.settle()
    expect(head.silentChanges).toBe(1)
  })
})
