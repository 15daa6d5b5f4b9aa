import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { snapshotBytesMax } from '#runtime/checkpoints'
import { forgetAfterMs } from '#runtime/system'
import { ManualWorld } from '#test/runtime/manual-world'
import { faultyPlace, openStage, type Stage } from '#test/runtime/stage'
import { bookAddress, tallyAddress } from '#test/runtime/tally-actors'

const a = tallyAddress('A')
const b = tallyAddress('B')

const redoFroms = (stage: Stage) => stage.commits.flatMap(({ streams }) => streams.map(({ redoFrom }) => redoFrom))
const snapshotKeys = (stage: Stage) =>
  stage.commits.map(({ records }) => [...records.keys()].filter((key) => key.startsWith('actor/')))

describe('redo begins at', () => {
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
      stage.tell(address, { type: 'add', add: [1], isCheckpointed })
      await stage.settle()
    }
    expect(redoFroms(stage)).toEqual([1, 1, 1, 2, 6, 6])
  })

  test('the next offset where everything is saved', async () => {
    const stage = await openStage()
    stage.tell(a, { type: 'add', add: [1, 2], isCheckpointed: true })
    stage.tell(bookAddress('K'), { type: 'add', add: [3] })
    await stage.settle()
    expect(redoFroms(stage)).toEqual([4])
  })

  test('an offset that never goes back, whatever is saved, dies or is asked again', async () => {
    const step = fc.record({
      who: fc.nat(4),
      what: fc.constantFrom('add', 'add', 'add', 'save', 'throw', 'settle', 'step'),
    })
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 50 }), async (steps) => {
        const stage = await openStage()
        const saved = new Map<number, number>()
        for (const { who, what } of steps) {
          const address = tallyAddress(`T${who}`)
          if (what === 'settle') await stage.settle()
          else if (what === 'step') stage.world.step()
          else if (what === 'throw') stage.tell(address, { type: 'throw' })
          else stage.tell(address, { type: 'add', add: [1], isCheckpointed: what === 'save' })
          if (what === 'save') saved.set(who, stage.system.registry.head('default').taken)
        }
        await stage.settle()
        const froms = redoFroms(stage)
        expect(froms).toEqual([...froms].sort((x, y) => x - y))
        // The last one said: nothing before it is missing from every snapshot.
        const last = froms.at(-1) ?? 1
        for (const { event, offset } of stage.events) {
          const who = Number('device' in event && event.device.slice(1))
          if (offset < last) expect(saved.get(who) ?? 0).toBeGreaterThanOrEqual(offset)
        }
      }),
      { numRuns: 60 },
    )
  })
})

describe('checkpoints', () => {
  const redo = { eventsMax: 8_000, bytesMax: 1_000_000 }
  const boundOf = (stage: Stage) =>
    stage.commits.flatMap(({ streams }) =>
      streams.map(({ firstOffset, events, redoFrom }) => firstOffset + events.length - redoFrom),
    )

  test('keep what a start applies again within its bound', async () => {
    const stage = await openStage({ redo })
    // The one that is never heard of again holds redo back until it is saved.
    stage.tell(a, { type: 'add', add: [1] })
    for (let turn = 0; turn < 2_000; turn++) {
      stage.tell(tallyAddress(`T${turn % 700}`), { type: 'add', add: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10] })
      if (turn % 50 === 49) await stage.settle()
    }
    expect(Math.max(...boundOf(stage))).toBeLessThanOrEqual(redo.eventsMax)
    expect(redoFroms(stage).at(-1)).toBeGreaterThan(20_001 - redo.eventsMax)
    expect(new Set(snapshotKeys(stage).flat()).has('actor/tally/default/A')).toBe(true)
    stage.crash()
    const again = await stage.reborn()
    expect(again.addedOf(a)).toEqual([{ value: 1, offset: 1 }])
    const counts = Array.from({ length: 700 }, (_, turn) => again.addedOf(tallyAddress(`T${turn}`)).length)
    expect(counts.reduce((sum, count) => sum + count, 0)).toBe(20_000)
  })

  test('count bytes too', async () => {
    const turns = async (stage: Stage, count: number) => {
      for (let turn = 0; turn < count; turn++) {
        stage.tell(tallyAddress(`T${turn % 100}`), { type: 'add', add: [1] }, 'it', 300)
        await stage.settle()
      }
      return stage
    }
    // What is stored counts, not what was thought of it; so it is measured first.
    const { bytesTaken } = (await turns(await openStage(), 1_000)).system.registry.head('default')
    const stage = await turns(await openStage({ redo: { eventsMax: 1_000_000, bytesMax: bytesTaken } }), 5_000)
    expect(Math.max(...boundOf(stage))).toBeLessThanOrEqual(1_000)
    // As many as there are with each 700 events.
    const saved = snapshotKeys(stage).slice(2_000).flat().length
    expect(saved).toBeGreaterThan((3_000 / 700) * 100 * 0.85)
    expect(saved).toBeLessThan((3_000 / 700) * 100 * 1.1)
  })

  test('of many that began together are spread evenly over the events up to the bound', async () => {
    const stage = await openStage({ redo: { eventsMax: 8_000, bytesMax: 100_000_000 } })
    for (let next = 0; next < 1_000; next++) stage.tell(tallyAddress(`T${next}`), { type: 'add', add: [1] })
    await stage.settle()
    const before = stage.commits.length
    for (let next = 0; next < 20_000; next++) {
      stage.tell(tallyAddress(`T${next % 1_000}`), { type: 'add', add: [1] })
      if (next % 20 === 19) await stage.settle()
    }
    const perCommit = snapshotKeys(stage).slice(before)
    // None in the first quarter. Then each with 5 600 events, so a 280th of those that wait with twenty.
    for (const keys of perCommit.slice(0, 49)) expect(keys).toEqual([])
    for (const keys of perCommit.slice(51)) expect([3, 4]).toContain(keys.length)
    // Each in its turn: 18 000 events are three rounds and a fifth.
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

    /** Actors add in turn, twenty in a commit; how many snapshots each commit held. */
    async function report(stage: Stage, actors: number, events: number): Promise<number[]> {
      const before = stage.commits.length
      for (let event = 0; event < events; event += perCommit) {
        for (let turn = event; turn < event + perCommit; turn++) {
          stage.tell(tallyAddress(`T${turn % actors}`), { type: 'add', add: [1] })
        }
        await stage.settle()
      }
      return snapshotKeys(stage)
        .slice(before)
        .map((keys) => keys.length)
    }
    const sum = (counts: readonly number[]) => counts.reduce((all, count) => all + count, 0)

    test('come less often than events: each of them has several before it is saved', async () => {
      const stage = await openStage({ redo: many })
      await report(stage, 1_000, 8_000)
      const saved = await report(stage, 1_000, 4_000)
      expect(sum(saved)).toBeGreaterThanOrEqual(4_000 / 4)
      expect(sum(saved)).toBeLessThan(4_000 / 2.5)
      expect(Math.max(...boundOf(stage))).toBeLessThanOrEqual(4_000)
    })

    test('come no faster when most of them fall silent, until the bound is the usual one again', async () => {
      const stage = await openStage({ redo: many })
      await report(stage, 1_000, 8_000)
      const saved = await report(stage, 10, 60_000)
      // A thousand within 70 % of 4 000 events.
      expect(Math.max(...saved)).toBeLessThanOrEqual((perCommit * 1_000) / 2_800 + 1)
      expect(boundOf(stage).at(-1)).toBeLessThanOrEqual(eventsMax)
    })

    test('are spread also over what an earlier process left', async () => {
      const stage = await openStage({ redo: many })
      await report(stage, 1_000, 8_000)
      stage.crash()
      const again = await stage.reborn({ redo: many })
      expect(Math.max(...(await report(again, 1_000, 4_000)))).toBeLessThanOrEqual(perCommit)
      expect(Math.max(...boundOf(again))).toBeLessThanOrEqual(4_000)
    })

    test('are bound by the highest limit, however many there are', async () => {
      const stage = await openStage({ redo: { ...many, growth: { eventsPerActor: 40, timesMax: 2 } } })
      await report(stage, 1_000, 6_000)
      expect(Math.max(...boundOf(stage))).toBeLessThanOrEqual(2 * eventsMax)
    })
  })

  test('catch up at once where the hard bound is met', async () => {
    const stage = await openStage({ redo })
    for (let turn = 0; turn < 3_000; turn++) stage.tell(tallyAddress(`T${turn}`), { type: 'add', add: [1, 2, 3] })
    await stage.settle()
    expect(Math.max(...boundOf(stage))).toBeLessThanOrEqual(redo.eventsMax)
  })

  test('take the dead too: they are made anew for it', async () => {
    const stage = await openStage({ redo: { eventsMax: 40, bytesMax: 1_000_000 } })
    stage.tell(a, { type: 'add', add: [1, 2] })
    stage.tell(a, { type: 'throw' })
    await stage.settle()
    for (let turn = 0; turn < 60; turn++) {
      stage.tell(b, { type: 'add', add: [turn] })
      await stage.settle()
    }
    expect(snapshotKeys(stage).flat()).toContain('actor/tally/default/A')
    expect(stage.addedOf(a).map(({ value }) => value)).toEqual([1, 2])
    expect(Math.max(...boundOf(stage))).toBeLessThanOrEqual(40)
  })
})

describe('an activation that is idle', () => {
  test('is forgotten, and saved before that', async () => {
    const stage = await openStage()
    stage.tell(a, { type: 'add', add: [1] })
    await stage.settle()
    await stage.world.advance(forgetAfterMs - 1_000)
    expect(stage.system.registry.awake(a)).toBeDefined()
    await stage.world.advance(3_000)
    expect(stage.system.registry.awake(a)).toBeUndefined()
    expect(snapshotKeys(stage).at(-1)).toEqual(['actor/tally/default/A'])
    expect(redoFroms(stage).at(-1)).toBe(2)
    expect(stage.addedOf(a).map(({ value }) => value)).toEqual([1])
  })

  test('is saved with few others where snapshots are large', async () => {
    const stage = await openStage()
    const large = 'x'.repeat(0.75 * snapshotBytesMax) as unknown as number
    for (const id of ['A', 'B', 'C', 'D', 'E']) stage.tell(tallyAddress(id), { type: 'add', add: [large] })
    await stage.settle()
    await stage.world.advance(forgetAfterMs + 3_000)
    expect(stage.system.registry.awakeCount).toBe(0)
    expect(snapshotKeys(stage).flatMap(({ length }) => (length > 0 ? [length] : []))).toEqual([2, 2, 1])
  })

  test('stays as long as it is asked', async () => {
    const stage = await openStage()
    stage.tell(a, { type: 'add', add: [1] })
    for (let minute = 0; minute < 12; minute++) {
      stage.tell(a, { type: 'look' })
      stage.tell(bookAddress('K'), { type: 'look' })
      await stage.world.advance(60_000)
    }
    expect(stage.system.registry.awake(a)).toBeDefined()
    expect(stage.system.registry.awake(bookAddress('K'))).toBeDefined()
    await stage.world.advance(forgetAfterMs + 1_000)
    expect(stage.system.registry.awakeCount).toBe(0)
  })

  test('is not forgotten before what would be lost by it is on its way, and stands as it stood', async () => {
    const world = new ManualWorld()
    const { place, faults } = faultyPlace(world)
    const stage = await openStage({ world, place })
    stage.tell(a, { type: 'add', add: [1], change: 9, isCheckpointed: true })
    await stage.settle()
    stage.tell(a, { type: 'add', add: [2] })
    await stage.settle()
    faults.next = { fail: 'full', reachedDisk: false }
    stage.place.setRoom(false)
    await stage.world.advance(forgetAfterMs + 1_000)
    // The commit that held its snapshot failed: its event is still in the stream, and applied again.
    expect(stage.log[0]).toBe('failed full')
    expect(stage.addedOf(a).map(({ value }) => value)).toEqual([1, 2])
    stage.place.setRoom(true)
    await stage.world.advance(2_000)
    expect(stage.addedOf(a).map(({ value }) => value)).toEqual([1, 2])
    expect(stage.system.peek(a)).toMatchObject({ quiet: 9 })
  })

  test('that says it may not be forgotten is not', async () => {
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

  test('of something that is not there goes at once: names cost nothing', async () => {
    const stage = await openStage()
    for (let number = 0; number < 1_000; number++) stage.tell(tallyAddress(`T${number}`), { type: 'look' })
    expect(stage.system.registry.awakeCount).toBe(0)
  })

  test('among thousands is found by going round', async () => {
    const stage = await openStage()
    for (let number = 0; number < 5_000; number++) stage.tell(tallyAddress(`T${number}`), { type: 'add', add: [1] })
    expect(stage.system.registry.awakeCount).toBe(5_000)
    await stage.world.advance(forgetAfterMs + 5_000)
    expect(stage.system.registry.awakeCount).toBe(0)
  })
})

test('what nobody hears of survives being forgotten: only a crash loses it', async () => {
  const stage = await openStage()
  stage.tell(a, { type: 'add', add: [1] })
  await stage.settle()
  await stage.world.advance(forgetAfterMs + 1_000)
  stage.tell(a, { type: 'add', change: 7 })
  await stage.world.advance(forgetAfterMs + 1_000)
  expect(stage.system.registry.awake(a)).toBeUndefined()
  expect(stage.system.peek(a)).toMatchObject({ quiet: 7 })
})
