import { describe, expect, test } from 'vitest'
import { ManualWorld } from '#test/runtime/manual-world'
import { type Faults, faultyPlace, openStage, type Stage } from '#test/runtime/stage'
import { bookAddress, tallyAddress } from '#test/runtime/tally-actors'

const a = tallyAddress('A')
const b = tallyAddress('B')
const k = bookAddress('K')

async function openFaulty(): Promise<{ stage: Stage; faults: Faults }> {
  const world = new ManualWorld()
  const { place, faults } = faultyPlace(world)
  return { stage: await openStage({ world, place }), faults }
}

const full = { fail: 'full', reachedDisk: false } as const

describe('a failed commit', () => {
  test('refuses everybody who waits, in order, and says nothing', async () => {
    const { stage, faults } = await openFaulty()
    faults.next = full
    stage.tell(a, { type: 'add', add: [1], effects: [() => stage.said.push('effect')] }, 'in flight')
    stage.world.step()
    stage.tell(b, { type: 'add', add: [2] }, 'open')
    stage.tell(a, { type: 'look' }, 'look')
    stage.tell(a, { type: 'refuse' }, 'refused anyhow')
    stage.tell(a, { type: 'throw' }, 'a bug')
    await stage.settle()
    expect(stage.said).toEqual([
      'refused in flight storage',
      'refused open storage',
      'refused look storage',
      'refused refused anyhow storage',
      'refused a bug storage',
    ])
    expect(stage.events).toEqual([])
    expect(stage.system.gate.waitingBytes).toBe(0)
  })

  test('rejects who waits for the gate', async () => {
    const { stage, faults } = await openFaulty()
    faults.next = full
    stage.tell(a, { type: 'add', add: [1] })
    const settled = stage.system.gate.settled()
    const outcome = expect(settled).rejects.toMatchObject({ code: 'storage' })
    await stage.settle()
    await outcome
  })

  test('forgets every activation; the next one is what is stored', async () => {
    const { stage, faults } = await openFaulty()
    stage.tell(a, { type: 'add', add: [1] })
    stage.tell(k, { type: 'add', add: [1] })
    await stage.settle()
    const before = stage.system.registry.awake(a)
    faults.next = full
    stage.tell(a, { type: 'add', add: [2], change: 5 })
    stage.tell(k, { type: 'add', add: [2] })
    await stage.settle()
    expect(before?.isAlive).toBe(false)
    stage.said.length = 0
    stage.tell(a, { type: 'look' }, 'tally')
    stage.tell(k, { type: 'look' }, 'book')
    expect(stage.said).toEqual(['answered tally [1]', 'answered book [1]'])
    expect(stage.system.peek(a)).toMatchObject({ quiet: 0 })
  })

  test('is followed by reads alone until there is room, and then by writes at the offsets that nobody heard', async () => {
    const { stage, faults } = await openFaulty()
    stage.tell(a, { type: 'add', add: [1] })
    await stage.settle()
    faults.next = full
    stage.place.setRoom(false)
    stage.tell(a, { type: 'add', add: [2, 3] })
    await stage.settle()
    expect(stage.log).toEqual(['failed full', 'read only full'])
    expect(stage.database.status).toBe('read_only')
    stage.said.length = 0
    stage.tell(a, { type: 'look' }, 'look')
    stage.tell(a, { type: 'add', add: [4] }, 'add')
    expect(stage.said).toEqual(['answered look [1]', 'refused add storage'])
    await stage.world.advance(5_000)
    expect(stage.database.status).toBe('read_only')
    stage.place.setRoom(true)
    await stage.world.advance(1_000)
    expect(stage.log.slice(2)).toEqual(['reloaded', 'recovered'])
    stage.said.length = 0
    stage.tell(a, { type: 'add', add: [5] }, 'add')
    await stage.settle()
    expect(stage.said).toEqual(['event default 2', 'answered add undefined'])
    expect(stage.addedOf(a)).toEqual([
      { value: 1, offset: 1 },
      { value: 5, offset: 2 },
    ])
  })

  test('that reached the disk all the same is found after reopening, told to nobody who was refused', async () => {
    const { stage, faults } = await openFaulty()
    faults.next = { fail: 'full', reachedDisk: true }
    stage.tell(a, { type: 'add', add: [1] }, 'refused')
    await stage.settle()
    expect(stage.said).toEqual(['refused refused storage'])
    await stage.world.advance(1_000)
    expect(stage.addedOf(a)).toEqual([{ value: 1, offset: 1 }])
    stage.tell(a, { type: 'add', add: [2] }, 'next')
    await stage.settle()
    expect(stage.said.slice(1)).toEqual(['event default 2', 'answered next undefined'])
  })

  test('of an earlier commit leaves what that one said in place', async () => {
    const { stage, faults } = await openFaulty()
    stage.tell(a, { type: 'add', add: [1] }, 'first')
    stage.world.step()
    faults.next = undefined
    stage.tell(a, { type: 'add', add: [2] }, 'second')
    stage.onReleased = () => {
      faults.next = full
    }
    await stage.settle()
    // The second was sealed before the first one was told, so its fault comes with the third.
    stage.tell(a, { type: 'add', add: [3] }, 'third')
    await stage.settle()
    expect(stage.said.filter((said) => !said.startsWith('event'))).toEqual([
      'answered first undefined',
      'answered second undefined',
      'refused third storage',
    ])
  })

  test('by an error of the disk is read only until the process starts anew', async () => {
    const { stage, faults } = await openFaulty()
    faults.next = { fail: 'io', reachedDisk: false }
    stage.tell(a, { type: 'add', add: [1] })
    await stage.world.advance(60_000)
    expect(stage.log).toEqual(['failed io', 'read only io'])
    expect(stage.database.status).toBe('read_only')
    stage.tell(a, { type: 'look' }, 'look')
    expect(stage.said.at(-1)).toBe('answered look []')
    stage.crash()
    const again = await stage.reborn()
    again.tell(a, { type: 'add', add: [1] }, 'add')
    await again.settle()
    expect(again.said).toEqual(['event default 1', 'answered add undefined'])
  })

  test('keeps reminders and tells as they are stored', async () => {
    const { stage, faults } = await openFaulty()
    const dueAt = stage.world.now() + 10_000
    stage.tell(a, { type: 'add', add: [1], reminder: dueAt })
    await stage.settle()
    faults.next = full
    stage.tell(a, { type: 'add', add: [2], reminder: dueAt + 5_000 })
    stage.tell(b, { type: 'add', add: [3], reminder: dueAt, tells: [{ to: a, command: { type: 'add', add: [4] } }] })
    await stage.world.advance(2_000)
    expect(stage.system.reminders.dueAt(a)).toBe(dueAt)
    expect(stage.system.reminders.dueAt(b)).toBeUndefined()
    await stage.world.advance(20_000)
    expect(stage.addedOf(a).map(({ value }) => value)).toEqual([1, dueAt])
    expect(stage.addedOf(b)).toEqual([])
  })
})

test('a commit that throws before it is written fails like any other', async () => {
  const { stage } = await openFaulty()
  const { journal } = stage
  journal.write = () => {
    throw new Error('could not pack')
  }
  stage.tell(a, { type: 'add', add: [1] })
  await stage.settle()
  expect(stage.said).toEqual(['refused it storage'])
  expect(stage.log).toEqual(['failed io', 'read only io'])
})
