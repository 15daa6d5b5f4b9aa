import fc from 'fast-check'
import { beforeEach, describe, expect, test } from 'vitest'
import { snapshotBytesMax } from '#runtime/checkpoints'
import { forgetAfterMs } from '#runtime/system'
import { forAllAsync } from '#test/kit/for-all'
import { openFaulty, openRuntime, type RuntimeFixture } from '#test/runtime/runtime-fixture'
import { bookAddress, tallyAddress } from '#test/runtime/tally-actors'

const a = tallyAddress('A')
const b = tallyAddress('B')

const redoFroms = (fixture: RuntimeFixture) =>
  fixture.commits.flatMap(({ streams }) => streams.map(({ redoFrom }) => redoFrom))
const snapshotKeys = (fixture: RuntimeFixture) =>
  fixture.commits.map(({ records }) => [...records.keys()].filter((key) => key.startsWith('actor/')))

let fixture: RuntimeFixture
beforeEach(async () => {
  fixture = await openRuntime()
})

describe('redo starts at', () => {
  test('the first event that no snapshot holds', async () => {
    const saves = [false, false, false, true, true, false]
    for (const [turn, isCheckpointed] of saves.entries()) {
      const address = turn === 1 || turn === 4 ? b : a
      fixture.send(address, { type: 'add', add: [1], isCheckpointed })
      await fixture.settle()
    }
    expect(redoFroms(fixture)).toEqual([1, 1, 1, 2, 6, 6])
  })

  test('the next offset if every actor is saved', async () => {
    fixture.send(a, { type: 'add', add: [1, 2], isCheckpointed: true })
    fixture.send(bookAddress('K'), { type: 'add', add: [3] })
    await fixture.settle()
    expect(redoFroms(fixture)).toEqual([4])
  })

  test('an offset that never decreases, for any order of saves, crashes of actors and turns', async () => {
    const step = fc.record({
      actor: fc.nat(4),
      what: fc.constantFrom('add', 'add', 'add', 'save', 'throw', 'settle', 'step'),
    })
    await forAllAsync([fc.array(step, { maxLength: 50 })], 60, async (steps) => {
      const fixture = await openRuntime()
      const saved = new Map<number, number>()
      for (const { actor, what } of steps) {
        const address = tallyAddress(`T${actor}`)
        if (what === 'settle') await fixture.settle()
        else if (what === 'step') fixture.world.step()
        else if (what === 'throw') fixture.send(address, { type: 'throw' })
        else fixture.send(address, { type: 'add', add: [1], isCheckpointed: what === 'save' })
        if (what === 'save') saved.set(actor, fixture.system.registry.head('default').taken)
      }
      await fixture.settle()
      const froms = redoFroms(fixture)
      expect(froms).toEqual([...froms].sort((x, y) => x - y))
      // Every event before the last redo offset is in a snapshot.
      const last = froms.at(-1) ?? 1
      for (const { event, offset } of fixture.events) {
        const actor = Number('device' in event && event.device.slice(1))
        if (offset < last) expect(saved.get(actor) ?? 0).toBeGreaterThanOrEqual(offset)
      }
    })
  })
})

describe('checkpoints', () => {
  const redo = { eventsMax: 8_000, bytesMax: 1_000_000 }
  const boundOf = (fixture: RuntimeFixture) =>
    fixture.commits.flatMap(({ streams }) =>
      streams.map(({ firstOffset, events, redoFrom }) => firstOffset + events.length - redoFrom),
    )

  test('limit the events that a start applies again', async () => {
    const fixture = await openRuntime({ redo })
    // A has no later event, so it holds redo back until it is saved.
    fixture.send(a, { type: 'add', add: [1] })
    for (let turn = 0; turn < 2_000; turn++) {
      fixture.send(tallyAddress(`T${turn % 700}`), { type: 'add', add: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10] })
      if (turn % 50 === 49) await fixture.settle()
    }
    expect(Math.max(...boundOf(fixture))).toBeLessThanOrEqual(redo.eventsMax)
    expect(redoFroms(fixture).at(-1)).toBeGreaterThan(20_001 - redo.eventsMax)
    expect(new Set(snapshotKeys(fixture).flat()).has('actor/tally/default/A')).toBe(true)
    fixture.crash()
    const again = await fixture.restart()
    expect(again.addedOf(a)).toEqual([{ value: 1, offset: 1 }])
    const counts = Array.from({ length: 700 }, (_, turn) => again.addedOf(tallyAddress(`T${turn}`)).length)
    expect(counts.reduce((sum, count) => sum + count, 0)).toBe(20_000)
  })

  test('limit the bytes too', async () => {
    const turns = async (fixture: RuntimeFixture, count: number) => {
      for (let turn = 0; turn < count; turn++) {
        fixture.send(tallyAddress(`T${turn % 30}`), { type: 'add', add: [1] }, 'it', 300)
        await fixture.settle()
      }
      return fixture
    }
    // The stored size counts, not the estimate; so it is measured first.
    const { bytesTaken } = (await turns(await openRuntime(), 300)).system.registry.head('default')
    const fixture = await turns(await openRuntime({ redo: { eventsMax: 1_000_000, bytesMax: bytesTaken } }), 1_500)
    expect(Math.max(...boundOf(fixture))).toBeLessThanOrEqual(300)
    // Each of the 30 actors is saved once in 210 events.
    const saved = snapshotKeys(fixture).slice(600).flat().length
    expect(saved).toBeGreaterThan((900 / 210) * 30 * 0.85)
    expect(saved).toBeLessThan((900 / 210) * 30 * 1.1)
  })

  test('of actors that began together are spread evenly over the events up to the bound', async () => {
    const fixture = await openRuntime({ redo: { eventsMax: 8_000, bytesMax: 100_000_000 } })
    for (let next = 0; next < 1_000; next++) fixture.send(tallyAddress(`T${next}`), { type: 'add', add: [1] })
    await fixture.settle()
    const before = fixture.commits.length
    for (let next = 0; next < 20_000; next++) {
      fixture.send(tallyAddress(`T${next % 1_000}`), { type: 'add', add: [1] })
      if (next % 20 === 19) await fixture.settle()
    }
    const perCommit = snapshotKeys(fixture).slice(before)
    // None in the first quarter of the limit. Then each actor once in 5 600 events: 20 events save a 280th of them.
    for (const keys of perCommit.slice(0, 49)) expect(keys).toEqual([])
    for (const keys of perCommit.slice(51)) expect([3, 4]).toContain(keys.length)
    // The remaining 19 000 events are three rounds and a third.
    const keys = perCommit.flat()
    const times = Array.from({ length: 1_000 }, (_, n) => keys.filter((key) => key.endsWith(`/T${n}`)).length)
    expect(Math.min(...times)).toBeGreaterThanOrEqual(3)
    expect(Math.max(...times)).toBeLessThanOrEqual(4)
    expect(Math.max(...boundOf(fixture))).toBeLessThanOrEqual(8_000)
  })

  describe('with many actors', () => {
    const eventsMax = 200
    const many = { eventsMax, bytesMax: 100_000_000, growth: { eventsPerActor: 4, timesMax: 5 } }
    const perCommit = 20

    /** Actors add in turn, 20 in a commit; returns the number of snapshots in each commit. */
    async function report(fixture: RuntimeFixture, actors: number, events: number): Promise<number[]> {
      const before = fixture.commits.length
      for (let event = 0; event < events; event += perCommit) {
        for (let turn = event; turn < event + perCommit; turn++) {
          fixture.send(tallyAddress(`T${turn % actors}`), { type: 'add', add: [1] })
        }
        await fixture.settle()
      }
      return snapshotKeys(fixture)
        .slice(before)
        .map((keys) => keys.length)
    }
    const sum = (counts: readonly number[]) => counts.reduce((all, count) => all + count, 0)

    test('come less often than events: each actor has several events before it is saved', async () => {
      const fixture = await openRuntime({ redo: many })
      await report(fixture, 250, 2_000)
      const saved = await report(fixture, 250, 1_000)
      expect(sum(saved)).toBeGreaterThanOrEqual(1_000 / 4)
      expect(sum(saved)).toBeLessThan(1_000 / 2.5)
      expect(Math.max(...boundOf(fixture))).toBeLessThanOrEqual(1_000)
    })

    test('come no faster when most actors fall silent, until the bound is the normal one again', async () => {
      const fixture = await openRuntime({ redo: many })
      await report(fixture, 250, 2_000)
      const saved = await report(fixture, 10, 15_000)
      // 1 000 actors within 70 % of 4 000 events.
      expect(Math.max(...saved)).toBeLessThanOrEqual((perCommit * 250) / 700 + 1)
      expect(boundOf(fixture).at(-1)).toBeLessThanOrEqual(eventsMax)
    })

    test('are spread over the unsaved actors of an earlier process too', async () => {
      const fixture = await openRuntime({ redo: many })
      await report(fixture, 250, 2_000)
      fixture.crash()
      const again = await fixture.restart({ redo: many })
      expect(Math.max(...(await report(again, 250, 1_000)))).toBeLessThanOrEqual(perCommit)
      expect(Math.max(...boundOf(again))).toBeLessThanOrEqual(1_000)
    })

    test('keep the highest limit for any number of actors', async () => {
      const fixture = await openRuntime({ redo: { ...many, growth: { eventsPerActor: 40, timesMax: 2 } } })
      await report(fixture, 250, 1_500)
      expect(Math.max(...boundOf(fixture))).toBeLessThanOrEqual(2 * eventsMax)
    })
  })

  test('catch up at once at the hard bound', async () => {
    const fixture = await openRuntime({ redo })
    for (let turn = 0; turn < 3_000; turn++) fixture.send(tallyAddress(`T${turn}`), { type: 'add', add: [1, 2, 3] })
    await fixture.settle()
    expect(Math.max(...boundOf(fixture))).toBeLessThanOrEqual(redo.eventsMax)
  })

  test('save dead actors too, by waking them again', async () => {
    const fixture = await openRuntime({ redo: { eventsMax: 40, bytesMax: 1_000_000 } })
    fixture.send(a, { type: 'add', add: [1, 2] })
    fixture.send(a, { type: 'throw' })
    await fixture.settle()
    for (let turn = 0; turn < 60; turn++) {
      fixture.send(b, { type: 'add', add: [turn] })
      await fixture.settle()
    }
    expect(snapshotKeys(fixture).flat()).toContain('actor/tally/default/A')
    expect(fixture.valuesOf(a)).toEqual([1, 2])
    expect(Math.max(...boundOf(fixture))).toBeLessThanOrEqual(40)
  })
})

describe('an idle activation', () => {
  test('is saved and then forgotten', async () => {
    fixture.send(a, { type: 'add', add: [1] })
    await fixture.settle()
    await fixture.world.advance(forgetAfterMs - 1_000)
    expect(fixture.system.registry.awake(a)).toBeDefined()
    await fixture.world.advance(3_000)
    expect(fixture.system.registry.awake(a)).toBeUndefined()
    expect(snapshotKeys(fixture).at(-1)).toEqual(['actor/tally/default/A'])
    expect(redoFroms(fixture).at(-1)).toBe(2)
    expect(fixture.valuesOf(a)).toEqual([1])
  })

  test('is saved with few others if snapshots are large', async () => {
    const large = 'x'.repeat(0.75 * snapshotBytesMax) as unknown as number
    for (const id of ['A', 'B', 'C', 'D', 'E']) fixture.send(tallyAddress(id), { type: 'add', add: [large] })
    await fixture.settle()
    await fixture.world.advance(forgetAfterMs + 3_000)
    expect(fixture.system.registry.awakeCount).toBe(0)
    expect(snapshotKeys(fixture).flatMap(({ length }) => (length > 0 ? [length] : []))).toEqual([2, 2, 1])
  })

  test('stays while it gets requests', async () => {
    fixture.send(a, { type: 'add', add: [1] })
    for (let minute = 0; minute < 12; minute++) {
      fixture.send(a, { type: 'read' })
      fixture.send(bookAddress('K'), { type: 'read' })
      await fixture.world.advance(60_000)
    }
    expect(fixture.system.registry.awake(a)).toBeDefined()
    expect(fixture.system.registry.awake(bookAddress('K'))).toBeDefined()
    await fixture.world.advance(forgetAfterMs + 1_000)
    expect(fixture.system.registry.awakeCount).toBe(0)
  })

  test('keeps its state when the commit with its snapshot fails', async () => {
    const { faults, fixture } = await openFaulty()
    fixture.send(a, { type: 'add', add: [1], change: 9, isCheckpointed: true })
    await fixture.settle()
    fixture.send(a, { type: 'add', add: [2] })
    await fixture.settle()
    faults.next = { fail: 'full', reachedDisk: false }
    fixture.backend.setRoom(false)
    await fixture.world.advance(forgetAfterMs + 1_000)
    // The commit with its snapshot failed: its event is still in the stream, and is applied again.
    expect(fixture.log[0]).toBe('failed full')
    expect(fixture.valuesOf(a)).toEqual([1, 2])
    fixture.backend.setRoom(true)
    await fixture.world.advance(2_000)
    expect(fixture.valuesOf(a)).toEqual([1, 2])
    expect(fixture.system.peek(a)).toMatchObject({ quiet: 9 })
  })

  test('is kept if its definition is not forgettable', async () => {
    const fixture = await openRuntime({
      definitions: () => [
        {
          kind: 'faithful',
          persistence: 'write_through',
          formats: {},
          isForgettable: () => false,
          wake: () => ({}),
          apply: () => {},
          decide: () => ({ type: 'answer', value: 1 }),
        },
      ],
    })
    const address = { kind: 'faithful', tenant: 'default', id: 'F' }
    fixture.ask(address, {})
    const first = fixture.system.registry.awake(address)
    await fixture.world.advance(forgetAfterMs + 10_000)
    expect(fixture.system.registry.awake(address)).toBe(first)
  })

  test('of an actor without state is forgotten at once, so unknown names use no memory', async () => {
    for (let number = 0; number < 1_000; number++) fixture.send(tallyAddress(`T${number}`), { type: 'read' })
    expect(fixture.system.registry.awakeCount).toBe(0)
  })

  test('is found among thousands', async () => {
    for (let number = 0; number < 5_000; number++) fixture.send(tallyAddress(`T${number}`), { type: 'add', add: [1] })
    expect(fixture.system.registry.awakeCount).toBe(5_000)
    await fixture.world.advance(forgetAfterMs + 5_000)
    expect(fixture.system.registry.awakeCount).toBe(0)
  })
})

test('a change without an event is kept when its activation is forgotten: only a crash loses it', async () => {
  fixture.send(a, { type: 'add', add: [1] })
  await fixture.settle()
  await fixture.world.advance(forgetAfterMs + 1_000)
  fixture.send(a, { type: 'add', change: 7 })
  await fixture.world.advance(forgetAfterMs + 1_000)
  expect(fixture.system.registry.awake(a)).toBeUndefined()
  expect(fixture.system.peek(a)).toMatchObject({ quiet: 7 })
})
