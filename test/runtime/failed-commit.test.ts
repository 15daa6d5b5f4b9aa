import { describe, expect, test } from 'vitest'
import { ManualWorld } from '#test/runtime/manual-world'
import { type Faults, faultyPlace, openStage, type RuntimeFixture } from '#test/runtime/runtime-fixture'
import { bookAddress, tallyAddress } from '#test/runtime/tally-actors'

const a = tallyAddress('A')
const b = tallyAddress('B')
const k = bookAddress('K')

async function openFaulty(): Promise<{ stage: RuntimeFixture; faults: Faults }> {
  const world = new ManualWorld()
  const { place, faults } = faultyPlace(world)
  return { stage: await openStage({ world, place }), faults }
}

const full = { fail: 'full', reachedDisk: false } as const

describe('a failed commit', () => {
  test('refuses all waiting requests in order and publishes nothing', async () => {
    const { stage, faults } = await openFaulty()
    faults.next = full
    stage.send(a, { type: 'add', add: [1], effects: [() => stage.outputs.push('effect')] }, 'in flight')
    stage.world.step()
    stage.send(b, { type: 'add', add: [2] }, 'open')
    stage.send(a, { type: 'read' }, 'look')
    stage.send(a, { type: 'refuse' }, 'refused anyhow')
    stage.send(a, { type: 'throw' }, 'a bug')
    await stage.settle()
    expect(stage.outputs).toEqual([
      'refused in flight storage',
      'refused open storage',
      'refused look storage',
      'refused refused anyhow storage',
      'refused a bug storage',
    ])
    expect(stage.events).toEqual([])
    expect(stage.system.gate.waitingBytes).toBe(0)
  })

  test('rejects the promise of the gate', async () => {
    const { stage, faults } = await openFaulty()
    faults.next = full
    stage.send(a, { type: 'add', add: [1] })
    const settled = stage.system.gate.settled()
    const outcome = expect(settled).rejects.toMatchObject({ code: 'storage' })
    await stage.settle()
    await outcome
  })

  test('discards every activation; the next one has the stored state', async () => {
    const { stage, faults } = await openFaulty()
    stage.send(a, { type: 'add', add: [1] })
    stage.send(k, { type: 'add', add: [1] })
    await stage.settle()
    const before = stage.system.registry.awake(a)
    faults.next = full
    stage.send(a, { type: 'add', add: [2], change: 5 })
    stage.send(k, { type: 'add', add: [2] })
    await stage.settle()
    expect(before?.isAlive).toBe(false)
    stage.outputs.length = 0
    stage.send(a, { type: 'read' }, 'tally')
    stage.send(k, { type: 'read' }, 'book')
    expect(stage.outputs).toEqual(['answered tally [1]', 'answered book [1]'])
    expect(stage.system.peek(a)).toMatchObject({ quiet: 0 })
  })

  test('does not withdraw the answers of an earlier commit', async () => {
    const { stage, faults } = await openFaulty()
    stage.send(a, { type: 'add', add: [1] }, 'first')
    stage.world.step()
    faults.next = undefined
    stage.send(a, { type: 'add', add: [2] }, 'second')
    stage.onReleased = () => {
      faults.next = full
    }
    await stage.settle()
    // The second was sealed before the first was released, so the fault hits the third.
    stage.send(a, { type: 'add', add: [3] }, 'third')
    await stage.settle()
    expect(stage.outputs.filter((line) => !line.startsWith('event'))).toEqual([
      'answered first undefined',
      'answered second undefined',
      'refused third storage',
    ])
  })

  test('with a disk error makes the store read-only until the process restarts', async () => {
    const { stage, faults } = await openFaulty()
    faults.next = { fail: 'io', reachedDisk: false }
    stage.send(a, { type: 'add', add: [1] })
    await stage.world.advance(60_000)
    expect(stage.log).toEqual(['failed io', 'read only io'])
    expect(stage.database.status).toBe('read_only')
    stage.send(a, { type: 'read' }, 'look')
    expect(stage.outputs.at(-1)).toBe('answered look []')
    stage.crash()
    const again = await stage.restart()
    again.send(a, { type: 'add', add: [1] }, 'add')
    await again.settle()
    expect(again.outputs).toEqual(['event default 1', 'answered add undefined'])
  })

  test('keeps reminders and messages as stored', async () => {
    const { stage, faults } = await openFaulty()
    const dueAt = stage.world.now() + 10_000
    stage.send(a, { type: 'add', add: [1], reminder: dueAt })
    await stage.settle()
    faults.next = full
    stage.send(a, { type: 'add', add: [2], reminder: dueAt + 5_000 })
    stage.send(b, { type: 'add', add: [3], reminder: dueAt, tells: [{ to: a, command: { type: 'add', add: [4] } }] })
    await stage.world.advance(2_000)
    expect(stage.system.reminders.dueAt(a)).toBe(dueAt)
    expect(stage.system.reminders.dueAt(b)).toBeUndefined()
    await stage.world.advance(20_000)
    expect(stage.addedOf(a).map(({ value }) => value)).toEqual([1, dueAt])
    expect(stage.addedOf(b)).toEqual([])
  })
})

test.each([
  ['throws before it is written', () => expect.unreachable('could not pack')],
  ['fails with an unknown error', () => Promise.reject(new Error('unknown'))],
])('a commit that %s fails as after a disk error', async (_, write) => {
  const { stage } = await openFaulty()
  stage.journal.write = write
  stage.send(a, { type: 'add', add: [1] })
  await stage.settle()
  expect(stage.outputs).toEqual(['refused it storage'])
  expect(stage.log).toEqual(['failed io', 'read only io'])
})
