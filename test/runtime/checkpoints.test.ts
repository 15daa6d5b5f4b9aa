import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { snapshotBytesMax } from '#runtime/checkpoints'
import { forgetAfterMs } from '#runtime/system'
import { ManualWorld } from '#test/runtime/manual-world'
import { faultyPlace, openStage, type RuntimeFixture } from '#test/runtime/runtime-fixture'
import { bookAddress, tallyAddress } from '#test/runtime/tally-actors'

const a = tallyAddress('A')
const b = tallyAddress('B')

const redoFroms = (stage: RuntimeFixture) =>
  stage.commits.flatMap(({ streams }) => streams.map(({ redoFrom }) => redoFrom))
const snapshotKeys = (stage: RuntimeFixture) =>
  stage.commits.map(({ records }) => [...records.keys()].filter((key) => key.startsWith('actor/')))

describe('redo starts at', () => {
  test('the first event that no snapshot holds', async () => {
    const stage = await openStage()
    for (const [address, isCheckpointed] of [
      [a, false],
      [b, false],
      [a, false],
      [a, true],
      [b, true],
      [a, false],
    ] as const) {
      stage.send(address, { type: 'add', add: [1], isCheckpointed })
      await stage.settle()
    }
    expect(redoFroms(stage)).toEqual([1, 1, 1, 2, 6, 6])
  })

  test('the next offset if every actor is saved', async () => {
    const stage = await openStage()
    stage.send(a, { type: 'add', add: [1, 2], isCheckpointed: true })
    stage.send(bookAddress('K'), { type: 'add', add: [3] })
    await stage.settle()
    expect(redoFroms(stage)).toEqual([4])
  })

  test('an offset that never decreases, for any order of saves, crashes of actors and turns', async () => {
    const step = fc.record({
      actor: fc.nat(4),
      what: fc.constantFrom('add', 'add', 'add', 'save', 'throw', 'settle', 'step'),
    })
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 50 }), async (steps) => {
        const stage = await openStage()
        const saved = new Map<number, number>()
        for (const { actor, what } of steps) {
          const address = tallyAddress(`T${actor}`)
          if (what === 'settle') await stage.settle()
          else if (what === 'step') stage.world.step()
          else if (what === 'throw') stage.send(address, { type: 'throw' })
          else stage.send(address, { type: 'add', add: [1], isCheckpointed: what === 'save' })
          if (what === 'save') saved.set(actor, stage.system.registry.head('default').taken)
        }
        await stage.settle()
        const froms = redoFroms(stage)
        expect(froms).toEqual([...froms].sort((x, y) => x - y))
        // Every event before the last redo offset is in a snapshot.
        const last = froms.at(-1) ?? 1
        for (const { event, offset } of stage.events) {
          const actor = Number('device' in event && event.device.slice(1))
          if (offset < last) expect(saved.get(actor) ?? 0).toBeGreaterThanOrEqual(offset)
        }
      }),
      { numRuns: 60 },
    )
  })
})

describe('checkpoints', () => {
  const redo = { eventsMax: 8_000, bytesMax: 1_000_000 }
  const boundOf = (stage: RuntimeFixture) =>
    stage.commits.flatMap(({ streams }) =>
      streams.map(({ firstOffset, events, redoFrom }) => firstOffset + events.length - redoFrom),
    )

  test('limit the events that a start applies again', async () => {
    const stage = await openStage({ redo })
    // A has no later event, so it holds redo back until it is saved.
    stage.send(a, { type: 'add', add: [1] })
    for (let turn = 0; turn < 2_000; turn++) {
      stage.send(tallyAddress(`T${turn % 700}`), { type: 'add', add: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10] })
      if (turn % 50 === 49) await stage.settle()
    }
    expect(Math.max(...boundOf(stage))).toBeLessThanOrEqual(redo.eventsMax)
    expect(redoFroms(stage).at(-1)).toBeGreaterThan(20_001 - redo.eventsMax)
    expect(new Set(snapshotKeys(stage).flat()).has('actor/tally/default/A')).toBe(true)
    stage.crash()
    const again = await stage.restart()
    expect(again.addedOf(a)).toEqual([{ value: 1, offset: 1 }])
    const counts = Array.from({ length: 700 }, (_, turn) => again.addedOf(tallyAddress(`T${turn}`)).length)
    expect(counts.reduce((sum, count) => sum + count, 0)).toBe(20_000)
  })

  test('limit the bytes too', async () => {
    const turns = async (stage: RuntimeFixture, count: number) => {
      for (let turn = 0; turn < count; turn++) {
        stage.send(tallyAddress(`T${turn % 100}`), { type: 'add', add: [1] }, 'it', 300)
        await stage.settle()
      }
      return stage
    }
    // The stored size counts, not the estimate; so it is measured first.
    const { bytesTaken } = (await turns(await openStage(), 1_000)).system.registry.head('default')
    const stage = await turns(await openStage({ redo: { eventsMax: 1_000_000, bytesMax: bytesTaken } }), 5_000)
    expect(Math.max(...boundOf(stage))).toBeLessThanOrEqual(1_000)
    // Each of the 100 actors is saved once in 700 events.
    const saved = snapshotKeys(stage).slice(2_000).flat().length
    expect(saved).toBeGreaterThan((3_000 / 700) * 100 * 0.85)
    expect(saved).toBeLessThan((3_000 / 700) * 100 * 1.1)
  })

  test('of actors that began together are spread evenly over the events up to the bound', async () => {
    const stage = await openStage({ redo: { eventsMax: 8_000, bytesMax: 100_000_000 } })
    for (let next = 0; next < 1_000; next++) stage.send(tallyAddress(`T${next}`), { type: 'add', add: [1] })
    await stage.settle()
    const before = stage.commits.length
    for (let next = 0; next < 20_000; next++) {
      stage.send(tallyAddress(`T${next % 1_000}`), { type: 'add', add: [1] })
      if (next % 20 === 19) await stage.settle()
    }
    const perCommit = snapshotKeys(stage).slice(before)
    // None in the first quarter. Then each actor once in 5 600 events: 20 events save a 280th of them.
    for (const keys of perCommit.slice(0, 49)) expect(keys).toEqual([])
    for (const keys of perCommit.slice(51)) expect([3, 4]).toContain(keys.length)
    // 18 000 events are three rounds and a fifth.
    const times = Array.from(
      { length: 1_000 },
      (_, n) => perCommit.flat().filter((key) => key.endsWith(`/T${n}`)).length,
    )
    expect(Math.min(...times)).toBeGreaterThanOrEqual(3)
    expect(Math.max(...times)).toBeLessThanOrEqual(4)
    expect(Math.max(...boundOf(stage))).toBeLessThanOrEqual(8_000)
  })

  describe('with many actors', () => {
    const eventsMax = 800
    const many = { eventsMax, bytesMax: 100_000_000, growth: { eventsPerActor: 4, timesMax: 5 } }
    const perCommit = 20

    /** Actors add in turn, 20 in a commit; returns the number of snapshots in each commit. */
    async function report(stage: RuntimeFixture, actors: number, events: number): Promise<number[]> {
      const before = stage.commits.length
      for (let event = 0; event < events; event += perCommit) {
        for (let turn = event; turn < event + perCommit; turn++) {
          stage.send(tallyAddress(`T${turn % actors}`), { type: 'add', add: [1] })
        }
        await stage.settle()
      }
      return snapshotKeys(stage)
        .slice(before)
        .map((keys) => keys.length)
    }
    const sum = (counts: readonly number[]) => counts.reduce((all, count) => all + count, 0)

    test('come less often than events: each actor has several events before it is saved', async () => {
      const stage = await openStage({ redo: many })
      await report(stage, 1_000, 8_000)
      const saved = await report(stage, 1_000, 4_000)
      expect(sum(saved)).toBeGreaterThanOrEqual(4_000 / 4)
      expect(sum(saved)).toBeLessThan(4_000 / 2.5)
      expect(Math.max(...boundOf(stage))).toBeLessThanOrEqual(4_000)
    })

    test('come no faster when most actors fall silent, until the bound is the normal one again', async () => {
      const stage = await openStage({ redo: many })
      await report(stage, 1_000, 8_000)
      const saved = await report(stage, 10, 60_000)
      // 1 000 actors within 70 % of 4 000 events.
      expect(Math.max(...saved)).toBeLessThanOrEqual((perCommit * 1_000) / 2_800 + 1)
      expect(boundOf(stage).at(-1)).toBeLessThanOrEqual(eventsMax)
    })

    test('are spread over the unsaved actors of an earlier process too', async () => {
      const stage = await openStage({ redo: many })
      await report(stage, 1_000, 8_000)
      stage.crash()
      const again = await stage.restart({ redo: many })
      expect(Math.max(...(await report(again, 1_000, 4_000)))).toBeLessThanOrEqual(perCommit)
      expect(Math.max(...boundOf(again))).toBeLessThanOrEqual(4_000)
    })

    test('keep the highest limit for any number of actors', async () => {
      const stage = await openStage({ redo: { ...many, growth: { eventsPerActor: 40, timesMax: 2 } } })
      await report(stage, 1_000, 6_000)
      expect(Math.max(...boundOf(stage))).toBeLessThanOrEqual(2 * eventsMax)
    })
  })

  test('catch up at once at the hard bound', async () => {
    const stage = await openStage({ redo })
    for (let turn = 0; turn < 3_000; turn++) stage.send(tallyAddress(`T${turn}`), { type: 'add', add: [1, 2, 3] })
    await stage.settle()
    expect(Math.max(...boundOf(stage))).toBeLessThanOrEqual(redo.eventsMax)
  })

  test('save dead actors too, by waking them again', async () => {
    const stage = await openStage({ redo: { eventsMax: 40, bytesMax: 1_000_000 } })
    stage.send(a, { type: 'add', add: [1, 2] })
    stage.send(a, { type: 'throw' })
    await stage.settle()
    for (let turn = 0; turn < 60; turn++) {
      stage.send(b, { type: 'add', add: [turn] })
      await stage.settle()
    }
    expect(snapshotKeys(stage).flat()).toContain('actor/tally/default/A')
    expect(stage.addedOf(a).map(({ value }) => value)).toEqual([1, 2])
    expect(Math.max(...boundOf(stage))).toBeLessThanOrEqual(40)
  })
})

describe('an idle activation', () => {
  test('is saved and then forgotten', async () => {
    const stage = await openStage()
    stage.send(a, { type: 'add', add: [1] })
    await stage.settle()
    await stage.world.advance(forgetAfterMs - 1_000)
    expect(stage.system.registry.awake(a)).toBeDefined()
    await stage.world.advance(3_000)
    expect(stage.system.registry.awake(a)).toBeUndefined()
    expect(snapshotKeys(stage).at(-1)).toEqual(['actor/tally/default/A'])
    expect(redoFroms(stage).at(-1)).toBe(2)
    expect(stage.addedOf(a).map(({ value }) => value)).toEqual([1])
  })

  test('is saved with few others if snapshots are large', async () => {
    const stage = await openStage()
    const large = 'x'.repeat(0.75 * snapshotBytesMax) as unknown as number
    for (const id of ['A', 'B', 'C', 'D', 'E']) stage.send(tallyAddress(id), { type: 'add', add: [large] })
    await stage.settle()
    await stage.world.advance(forgetAfterMs + 3_000)
    expect(stage.system.registry.awakeCount).toBe(0)
    expect(snapshotKeys(stage).flatMap(({ length }) => (length > 0 ? [length] : []))).toEqual([2, 2, 1])
  })

  test('stays while it gets requests', async () => {
    const stage = await openStage()
    stage.send(a, { type: 'add', add: [1] })
    for (let minute = 0; minute < 12; minute++) {
      stage.send(a, { type: 'read' })
      stage.send(bookAddress('K'), { type: 'read' })
      await stage.world.advance(60_000)
    }
    expect(stage.system.registry.awake(a)).toBeDefined()
    expect(stage.system.registry.awake(bookAddress('K'))).toBeDefined()
    await stage.world.advance(forgetAfterMs + 1_000)
    expect(stage.system.registry.awakeCount).toBe(0)
  })

  test('keeps its state when the commit with its snapshot fails', async () => {
    const world = new ManualWorld()
    const { place, faults } = faultyPlace(world)
    const stage = await openStage({ world, place })
    stage.send(a, { type: 'add', add: [1], change: 9, isCheckpointed: true })
    await stage.settle()
    stage.send(a, { type: 'add', add: [2] })
    await stage.settle()
    faults.next = { fail: 'full', reachedDisk: false }
    stage.place.setRoom(false)
    await stage.world.advance(forgetAfterMs + 1_000)
    // The commit with its snapshot failed: its event is still in the stream, and is applied again.
    expect(stage.log[0]).toBe('failed full')
    expect(stage.addedOf(a).map(({ value }) => value)).toEqual([1, 2])
    stage.place.setRoom(true)
    await stage.world.advance(2_000)
    expect(stage.addedOf(a).map(({ value }) => value)).toEqual([1, 2])
    expect(stage.system.peek(a)).toMatchObject({ quiet: 9 })
  })

  test('is kept if its definition is not forgettable', async () => {
    const stage = await openStage({
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
    stage.ask(address, {})
    const first = stage.system.registry.awake(address)
    await stage.world.advance(forgetAfterMs + 10_000)
    expect(stage.system.registry.awake(address)).toBe(first)
  })

  test('of an actor without state is forgotten at once, so unknown names use no memory', async () => {
    const stage = await openStage()
    for (let number = 0; number < 1_000; number++) stage.send(tallyAddress(`T${number}`), { type: 'read' })
    expect(stage.system.registry.awakeCount).toBe(0)
  })

  test('is found among thousands', async () => {
    const stage = await openStage()
    for (let number = 0; number < 5_000; number++) stage.send(tallyAddress(`T${number}`), { type: 'add', add: [1] })
    expect(stage.system.registry.awakeCount).toBe(5_000)
    await stage.world.advance(forgetAfterMs + 5_000)
    expect(stage.system.registry.awakeCount).toBe(0)
  })
})

test('a change without an event survives being forgotten: only a crash loses it', async () => {
  const stage = await openStage()
  stage.send(a, { type: 'add', add: [1] })
  await stage.settle()
  await stage.world.advance(forgetAfterMs + 1_000)
  stage.send(a, { type: 'add', change: 7 })
  await stage.world.advance(forgetAfterMs + 1_000)
  expect(stage.system.registry.awake(a)).toBeUndefined()
  expect(stage.system.peek(a)).toMatchObject({ quiet: 7 })
})
