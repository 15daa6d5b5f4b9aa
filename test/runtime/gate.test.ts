import { describe, expect, test } from 'vitest'
import { Problem } from '#model/problem'
import { openStage, type RuntimeFixture } from '#test/runtime/runtime-fixture'
import { bookAddress, tallyAddress } from '#test/runtime/tally-actors'

const a = tallyAddress('A')

const firstOffsets = (stage: RuntimeFixture) => stage.commits.map(({ streams }) => streams[0]?.firstOffset)
const counts = (stage: RuntimeFixture) => stage.commits.map(({ streams }) => streams[0]?.events.length)

describe('commits', () => {
  test('the next commit starts when the last one ends, and holds all turns since then', async () => {
    const stage = await openStage()
    const write = holdWrites(stage)
    stage.send(a, { type: 'add', add: [1] }, 'one')
    await stage.settle()
    expect(counts(stage)).toEqual([1])
    stage.send(a, { type: 'add', add: [2, 3] }, 'two')
    stage.send(bookAddress('K'), { type: 'add', add: [4] }, 'three')
    await stage.settle()
    // The disk is writing: no further commit is sealed, and nothing is released.
    expect(counts(stage)).toEqual([1])
    expect(stage.outputs).toEqual([])
    write.finish()
    await stage.settle()
    expect(counts(stage)).toEqual([1, 3])
    expect(firstOffsets(stage)).toEqual([1, 2])
    expect(stage.outputs).toEqual(['event default 1', 'answered one undefined'])
    write.finish()
    await stage.settle()
    expect(stage.outputs.slice(2)).toEqual([
      'event default 2',
      'event default 3',
      'event default 4',
      'answered two undefined',
      'answered three undefined',
    ])
    const { commitSeconds, commitEvents, counts: counted } = stage.system.gate
    expect([commitSeconds.count, commitEvents.count, commitEvents.sum]).toEqual([2, 2, 4])
    expect([counted.bytes, counted.failed]).toEqual([stage.journal.stream('default').bytes, 0])
  })

  test('turns of one task share a commit, without a timer', async () => {
    const stage = await openStage()
    const timers = stage.world.timerCount
    for (let number = 0; number < 100; number++) stage.send(tallyAddress(`T${number}`), { type: 'add', add: [number] })
    expect(stage.world.timerCount).toBe(timers)
    await stage.settle()
    expect(counts(stage)).toEqual([100])
  })

  test('an empty value is refused, because the storage would leak memory', async () => {
    const stage = await openStage()
    const { gate } = stage.system
    expect(() => gate.put('index/present/default/A', new Uint8Array(0))).toThrow(RangeError)
    gate.put('index/present/default/A', null)
    await stage.settle()
    expect(stage.commits).toHaveLength(1)
  })

  test('records count as waiting bytes, each key once', async () => {
    const stage = await openStage({ uncommittedBytesMax: 1_000 })
    const { gate } = stage.system
    gate.put('key', new Uint8Array(100))
    gate.put('key', new Uint8Array(1_000))
    gate.put('other', null)
    expect(gate.waitingBytes).toBe(1_008)
    stage.send(a, { type: 'add', add: [1] }, 'more')
    await stage.settle()
    expect(gate.waitingBytes).toBe(0)
    expect(stage.outputs).toEqual(['refused more overloaded'])
  })

  test('a later value of a record replaces the earlier one in the same commit', async () => {
    const stage = await openStage()
    stage.send(a, { type: 'add', add: [1], isCheckpointed: true })
    stage.send(a, { type: 'add', add: [2], isCheckpointed: true })
    await stage.settle()
    expect(stage.commits).toHaveLength(1)
    expect(stage.commits[0]?.records.size).toBe(1)
    stage.crash()
    const again = await stage.restart()
    expect(again.addedOf(a).map(({ value }) => value)).toEqual([1, 2])
  })

  test('settled waits for pending turns, and resolves at once without any', async () => {
    const stage = await openStage()
    const { gate } = stage.system
    const results: string[] = []
    expect(gate.isSettled).toBe(true)
    await gate.settled()
    stage.send(a, { type: 'add', add: [1] })
    const settled = gate.settled().then(() => results.push(`settled after ${stage.outputs.length}`))
    expect(gate.isSettled).toBe(false)
    await stage.settle()
    await settled
    expect(results).toEqual(['settled after 2'])
    expect(gate.isSettled).toBe(true)
  })
})

test('settled rejects if the gate closed since the caller read closedCount', async () => {
  const stage = await openStage()
  const { gate } = stage.system
  const { closedCount } = gate
  stage.send(a, { type: 'add', add: [1] })
  gate.close(new Problem('storage'))
  await expect(gate.settled(closedCount)).rejects.toMatchObject({ code: 'storage' })
  await gate.settled()
})

describe('the release', () => {
  /** Releasing each event takes a millisecond. */
  async function openSlowRelease(): Promise<RuntimeFixture> {
    const stage = await openStage()
    stage.onReleased = () => stage.world.spend(1)
    return stage
  }

  test('yields to the event loop about every two milliseconds', async () => {
    const stage = await openSlowRelease()
    stage.send(a, { type: 'add', add: Array.from({ length: 200 }, (_, index) => index) }, 'many')
    let longestSlice = 0
    let slices = 0
    for (let round = 0; round < 1_000 && !stage.outputs.includes('answered many undefined'); round++) {
      const before = stage.outputs.length
      if (!stage.world.step()) await new Promise((resolve) => setImmediate(resolve))
      const released = stage.outputs.length - before
      longestSlice = Math.max(longestSlice, released)
      if (released > 0) slices++
    }
    expect(stage.outputs).toHaveLength(201)
    // The gate reads the clock every 16 steps.
    expect(longestSlice).toBeLessThanOrEqual(32)
    expect(slices).toBeGreaterThan(200 / 32)
    expect(stage.releases).toBeGreaterThanOrEqual(slices)
  })

  test('keeps its order over slices, with later turns at the end', async () => {
    const stage = await openSlowRelease()
    const many = Array.from({ length: 100 }, (_, index) => index)
    stage.send(a, { type: 'add', add: many }, 'first')
    stage.onReleased = (offset) => {
      stage.world.spend(1)
      if (offset === 30) stage.send(a, { type: 'add', add: many }, 'second')
      if (offset === 31) stage.send(a, { type: 'read' }, 'look')
    }
    await stage.settle()
    const offsets = stage.events.map(({ offset }) => offset)
    expect(offsets).toEqual(Array.from({ length: 200 }, (_, index) => index + 1))
    const answers = stage.outputs.filter((line) => line.startsWith('answered')).map((line) => line.split(' ')[1])
    expect(answers).toEqual(['first', 'second', 'look'])
    expect(stage.outputs[100]).toBe('answered first undefined')
  })

  test('counts waiting bytes until it is over', async () => {
    const stage = await openSlowRelease()
    stage.send(a, { type: 'add', add: Array.from({ length: 100 }, (_, index) => index) }, 'many', 5_000)
    while (stage.events.length === 0) {
      if (!stage.world.step()) await new Promise((resolve) => setImmediate(resolve))
    }
    expect(stage.events.length).toBeLessThan(100)
    expect(stage.system.gate.waitingBytes).toBe(5_000)
    await stage.settle()
    expect(stage.system.gate.waitingBytes).toBe(0)
  })

  test('reports a lost event to a listener that throws, and delivers the other events', async () => {
    const stage = await openStage()
    stage.onReleased = (offset) => {
      if (offset === 2) throw new Error('could not deliver')
    }
    stage.send(a, { type: 'add', add: [1, 2, 3] })
    await stage.settle()
    expect(stage.events.map(({ offset }) => offset)).toEqual([1, 2, 3])
    expect(stage.outputs).toEqual([
      'event default 1',
      'event default 2',
      'lost default 2',
      'event default 3',
      'answered it undefined',
    ])
    expect(stage.bugs).toEqual(['release: could not deliver'])
  })

  test('advances the released, committed and taken offsets of the head', async () => {
    const stage = await openStage()
    const write = holdWrites(stage)
    const head = stage.system.registry.head('default')
    const where = () => [head.released, head.committed, head.taken]
    const seen: number[][] = []
    stage.onReleased = () => seen.push(where())
    stage.send(a, { type: 'add', add: [1, 2] })
    expect(where()).toEqual([0, 0, 2])
    await stage.settle()
    stage.send(a, { type: 'add', add: [3] })
    write.finish()
    await stage.settle()
    expect(seen).toEqual([
      [1, 2, 3],
      [2, 2, 3],
    ])
    write.finish()
    await stage.settle()
    expect(where()).toEqual([3, 3, 3])
  })
})

/** Each write to the store waits for `finish`. */
function holdWrites(stage: RuntimeFixture): { finish(): void } {
  const waiting: (() => void)[] = []
  const { journal } = stage
  const write = journal.write
  journal.write = async (commit) => {
    const written = write(commit)
    await new Promise<void>((finished) => waiting.push(finished))
    return await written
  }
  return { finish: () => waiting.shift()?.() }
}
