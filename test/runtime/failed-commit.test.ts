import { describe, expect, test } from 'vitest'
import { openFaulty } from '#test/runtime/runtime-fixture'
import { bookAddress, tallyAddress } from '#test/runtime/tally-actors'

const a = tallyAddress('A')
const b = tallyAddress('B')
const k = bookAddress('K')

const full = { fail: 'full', reachedDisk: false } as const

describe('a failed commit', () => {
  test('refuses all waiting requests in order and publishes nothing', async () => {
    const { fixture, faults } = await openFaulty()
    faults.next = full
    fixture.send(a, { type: 'add', add: [1], effects: [() => fixture.outputs.push('effect')] }, 'in flight')
    fixture.world.step()
    fixture.send(b, { type: 'add', add: [2] }, 'open')
    fixture.send(a, { type: 'read' }, 'look')
    fixture.send(a, { type: 'refuse' }, 'refused anyhow')
    fixture.send(a, { type: 'throw' }, 'a bug')
    await fixture.settle()
    const labels = ['in flight', 'open', 'look', 'refused anyhow', 'a bug']
    expect(fixture.outputs).toEqual(labels.map((label) => `refused ${label} storage`))
    expect(fixture.events).toEqual([])
    expect(fixture.system.gate.waitingBytes).toBe(0)
  })

  test('rejects the promise of the gate', async () => {
    const { fixture, faults } = await openFaulty()
    faults.next = full
    fixture.send(a, { type: 'add', add: [1] })
    const settled = fixture.system.gate.whenStored()
    const outcome = expect(settled).rejects.toMatchObject({ code: 'storage' })
    await fixture.settle()
    await outcome
  })

  test('discards every activation; the next one has the stored state', async () => {
    const { fixture, faults } = await openFaulty()
    fixture.send(a, { type: 'add', add: [1] })
    fixture.send(k, { type: 'add', add: [1] })
    await fixture.settle()
    const before = fixture.system.registry.awake(a)
    faults.next = full
    fixture.send(a, { type: 'add', add: [2], change: 5 })
    fixture.send(k, { type: 'add', add: [2] })
    await fixture.settle()
    expect(before?.isAlive).toBe(false)
    fixture.outputs.length = 0
    fixture.send(a, { type: 'read' }, 'tally')
    fixture.send(k, { type: 'read' }, 'book')
    expect(fixture.outputs).toEqual(['answered tally [1]', 'answered book [1]'])
    expect(fixture.system.peek(a)).toMatchObject({ quiet: 0 })
  })

  test('does not withdraw the answers of an earlier commit', async () => {
    const { fixture, faults } = await openFaulty()
    fixture.send(a, { type: 'add', add: [1] }, 'first')
    fixture.world.step()
    faults.next = undefined
    fixture.send(a, { type: 'add', add: [2] }, 'second')
    fixture.onReleased = () => {
      faults.next = full
    }
    await fixture.settle()
    // The second was sealed before the first was released, so the fault hits the third.
    fixture.send(a, { type: 'add', add: [3] }, 'third')
    await fixture.settle()
    expect(fixture.outputs.filter((line) => !line.startsWith('event'))).toEqual([
      'answered first undefined',
      'answered second undefined',
      'refused third storage',
    ])
  })

  test('with a disk error makes the store read-only until the process restarts', async () => {
    const { fixture, faults } = await openFaulty()
    faults.next = { fail: 'io', reachedDisk: false }
    fixture.send(a, { type: 'add', add: [1] })
    await fixture.world.advance(60_000)
    expect(fixture.log).toEqual(['failed io', 'read only io'])
    expect(fixture.database.status).toBe('read_only')
    fixture.send(a, { type: 'read' }, 'look')
    expect(fixture.outputs.at(-1)).toBe('answered look []')
    fixture.crash()
    const again = await fixture.restart()
    again.send(a, { type: 'add', add: [1] }, 'add')
    await again.settle()
    expect(again.outputs).toEqual(['event default 1', 'answered add undefined'])
  })

  test('keeps reminders and messages as stored', async () => {
    const { fixture, faults } = await openFaulty()
    const dueAt = fixture.world.now() + 10_000
    fixture.send(a, { type: 'add', add: [1], reminder: dueAt })
    await fixture.settle()
    faults.next = full
    fixture.send(a, { type: 'add', add: [2], reminder: dueAt + 5_000 })
    fixture.send(b, { type: 'add', add: [3], reminder: dueAt, tells: [{ to: a, command: { type: 'add', add: [4] } }] })
    await fixture.world.advance(2_000)
    expect(fixture.system.reminders.dueAt(a)).toBe(dueAt)
    expect(fixture.system.reminders.dueAt(b)).toBeUndefined()
    await fixture.world.advance(20_000)
    expect(fixture.valuesOf(a)).toEqual([1, dueAt])
    expect(fixture.addedOf(b)).toEqual([])
  })
})

test.each([
  ['throws before it is written', () => expect.unreachable('could not pack')],
  ['fails with an unknown error', () => Promise.reject(new Error('unknown'))],
])('a commit that %s fails as after a disk error', async (_, write) => {
  const { fixture } = await openFaulty()
  fixture.journal.write = write
  fixture.send(a, { type: 'add', add: [1] })
  await fixture.settle()
  expect(fixture.outputs).toEqual(['refused it storage'])
  expect(fixture.log).toEqual(['failed io', 'read only io'])
})
