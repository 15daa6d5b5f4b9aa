import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Entry } from '#model/entry'
import type { AnyDefinition } from '#runtime/activation'
import { addressKey } from '#runtime/actor'
import { Reminders } from '#runtime/due-queue'
import { forAllAsync } from '#test/kit/for-all'
import { ManualWorld } from '#test/runtime/manual-world'
import { openRuntime, type RuntimeFixture } from '#test/runtime/runtime-fixture'
import { tally, tallyAddress } from '#test/runtime/tally-actors'

const a = tallyAddress('A')
const b = tallyAddress('B')
const dayMs = 24 * 60 * 60_000

describe('a reminder', () => {
  test('that is overdue fires at once', async () => {
    const fixture = await openRuntime()
    fixture.send(a, { type: 'add', reminder: 5 })
    await fixture.world.advance(0)
    expect(fixture.valuesOf(a)).toEqual([5])
  })

  test('is visible to the turns of its actor, as it was last set', async () => {
    const reminders: (number | null)[] = []
    const watched = {
      ...tally,
      decide(...[state, command, turn]: Parameters<typeof tally.decide>) {
        reminders.push(turn.reminder())
        return tally.decide(state, command, turn)
      },
    }
    const definitions = () => [watched] as unknown as AnyDefinition<Entry>[]
    const fixture = await openRuntime({ definitions })
    const dueAt = fixture.world.now() + 10_000
    fixture.send(a, { type: 'add', reminder: dueAt })
    fixture.send(b, { type: 'read' })
    fixture.send(a, { type: 'add', reminder: dueAt + 5 })
    fixture.send(a, { type: 'read' })
    await fixture.settle()
    fixture.crash()
    const again = await fixture.restart({ definitions })
    again.send(a, { type: 'read' })
    // It is cleared when it fires.
    await again.world.advance(20_000)
    expect(reminders).toEqual([null, null, dueAt, dueAt + 5, dueAt + 5, null])
  })

  test('may be later than the longest timer', async () => {
    const fixture = await openRuntime()
    const dueAt = fixture.world.now() + 60 * dayMs
    fixture.send(a, { type: 'add', reminder: dueAt })
    await fixture.settle()
    await jump(fixture, 59 * dayMs)
    expect(fixture.valuesOf(a)).toEqual([])
    await jump(fixture, dayMs)
    expect(fixture.valuesOf(a)).toEqual([dueAt])
  })

  test('survives a crash, and fires at the start if it was due while the server was down', async () => {
    const fixture = await openRuntime()
    const now = fixture.world.now()
    fixture.send(a, { type: 'add', reminder: now + 10_000 })
    fixture.send(b, { type: 'add', reminder: now + 60_000 })
    await fixture.settle()
    fixture.crash()
    fixture.world.spend(30_000)
    const again = await fixture.restart()
    await again.world.advance(0)
    expect(again.valuesOf(a)).toEqual([now + 10_000])
    expect(again.valuesOf(b)).toEqual([])
    await again.world.advance(30_000)
    expect(again.valuesOf(b)).toEqual([now + 60_000])
    again.crash()
    const third = await again.restart()
    await third.world.advance(60_000)
    expect(third.valuesOf(a)).toEqual([now + 10_000])
  })

  test('fires again if a crash lost its turn', async () => {
    const fixture = await openRuntime()
    const dueAt = fixture.world.now() + 1_000
    fixture.send(a, { type: 'add', reminder: dueAt })
    await fixture.settle()
    const write = fixture.journal.write
    fixture.journal.write = async (commit) => {
      fixture.crash(0)
      return await write(commit)
    }
    await fixture.world.advance(1_000)
    const again = await fixture.restart()
    await again.world.advance(0)
    expect(again.valuesOf(a)).toEqual([dueAt])
  })

  test('is logged if its turn throws, and does not stop the others', async () => {
    const fixture = await openRuntime()
    const dueAt = fixture.world.now() + 1_000
    fixture.send({ kind: 'unknown', tenant: 'default', id: 'X' }, { type: 'read' })
    fixture.system.reminders.set({ kind: 'unknown', tenant: 'default', id: 'X' }, dueAt)
    fixture.send(a, { type: 'add', reminder: dueAt })
    await fixture.world.advance(1_000)
    expect(fixture.valuesOf(a)).toEqual([dueAt])
    expect(fixture.bugs).toContain('a reminder of unknown X: Internal Server Error')
  })
})

test('a reminder waits for its time, also after the clock is set back', async () => {
  const world = new ManualWorld()
  const now = world.now.bind(world)
  const fired: number[] = []
  const reminders = new Reminders(world, () => fired.push(world.now()))
  reminders.start()
  const dueAt = now() + 1_000
  reminders.set(a, dueAt)
  world.now = () => now() - 500
  await world.advance(1_000)
  expect(fired).toEqual([])
  await world.advance(500)
  expect(fired).toEqual([dueAt])
})

test('the reminders of one tenant are dropped, and can be set again', async () => {
  const world = new ManualWorld()
  const fired: string[] = []
  const reminders = new Reminders(world, ({ tenant, id }) => fired.push(`${tenant} ${id}`))
  reminders.start()
  for (const tenant of ['gone', 'kept', 'gone-too']) {
    for (let each = 1; each <= 3; each++) reminders.set(tallyAddress(`${each}`, tenant), world.now() + each * 1_000)
  }
  reminders.dropTenant('gone')
  reminders.dropTenant('unknown')
  expect(reminders.count).toBe(6)
  expect(reminders.dueAt(tallyAddress('1', 'gone'))).toBeUndefined()
  reminders.set(tallyAddress('2', 'gone'), world.now() + 1_500)
  await world.advance(10_000)
  expect(fired.sort()).toEqual(['gone 2', 'gone-too 1', 'gone-too 2', 'gone-too 3', 'kept 1', 'kept 2', 'kept 3'])
})

test('reminders fire once, on time and in order, for any order of set, replace and clear', async () => {
  const change = fc.record({ number: fc.nat(9), dueMs: fc.option(fc.nat(1_000)), waitMs: fc.nat(120) })
  await forAllAsync([fc.array(change, { maxLength: 60 })], 60, async (changes) => {
    const world = new ManualWorld()
    const fired: { key: string; dueAt: number; at: number }[] = []
    const expected: { key: string; dueAt: number; at: number }[] = []
    const reminders = new Reminders(world, (address, dueAt) =>
      fired.push({ key: addressKey(address), dueAt, at: world.now() }),
    )
    const due = new Map<string, { dueAt: number; setAt: number }>()
    const expectDue = () => {
      for (const [key, { dueAt, setAt }] of due) {
        if (dueAt > world.now()) continue
        expected.push({ key, dueAt, at: Math.max(dueAt, setAt) })
        due.delete(key)
      }
    }
    reminders.start()
    for (const { number, dueMs, waitMs } of changes) {
      const address = tallyAddress(`T${number}`)
      const dueAt = dueMs === null ? null : world.now() - 100 + dueMs
      reminders.set(address, dueAt)
      if (dueAt === null) due.delete(addressKey(address))
      else due.set(addressKey(address), { dueAt, setAt: world.now() })
      await world.advance(waitMs)
      expectDue()
    }
    await world.advance(2_000)
    expectDue()
    expect(reminders.count).toBe(0)
    const sorted = (list: typeof fired) => [...list].sort((x, y) => x.at - y.at || x.key.localeCompare(y.key))
    expect(sorted(fired)).toEqual(sorted(expected))
    const times = fired.map(({ at }) => at)
    expect(times).toEqual([...times].sort((x, y) => x - y))
  })
})

/** Moves time far ahead without running thousands of sweeps. */
async function jump(fixture: RuntimeFixture, ms: number): Promise<void> {
  const until = fixture.world.now() + ms
  for (let left = ms; left > 0; left = until - fixture.world.now()) {
    // Up to two seconds before the end, or before the longest timer.
    fixture.world.spend(Math.max(0, Math.min(left, 2 ** 31 - 1) - 2_000))
    await fixture.world.advance(Math.min(until - fixture.world.now(), 2_000))
  }
}
