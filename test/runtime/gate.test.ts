import { beforeEach, describe, expect, test } from 'vitest'
import { Problem } from '#model/problem'
import { openRuntime, type RuntimeFixture } from '#test/runtime/runtime-fixture'
import { bookAddress, tallyAddress } from '#test/runtime/tally-actors'

const a = tallyAddress('A')

const firstOffsets = (fixture: RuntimeFixture) => fixture.commits.map(({ streams }) => streams[0]?.firstOffset)
const counts = (fixture: RuntimeFixture) => fixture.commits.map(({ streams }) => streams[0]?.events.length)

let fixture: RuntimeFixture
beforeEach(async () => {
  fixture = await openRuntime()
})

describe('commits', () => {
  test('the next commit starts when the last one ends, and holds all turns since then', async () => {
    const write = holdWrites(fixture)
    fixture.send(a, { type: 'add', add: [1] }, 'one')
    await fixture.settle()
    expect(counts(fixture)).toEqual([1])
    fixture.send(a, { type: 'add', add: [2, 3] }, 'two')
    fixture.send(bookAddress('K'), { type: 'add', add: [4] }, 'three')
    await fixture.settle()
    // The disk is writing: no further commit is sealed, and nothing is released.
    expect(counts(fixture)).toEqual([1])
    expect(fixture.outputs).toEqual([])
    write.finish()
    await fixture.settle()
    expect(counts(fixture)).toEqual([1, 3])
    expect(firstOffsets(fixture)).toEqual([1, 2])
    expect(fixture.outputs).toEqual(['event default 1', 'answered one undefined'])
    write.finish()
    await fixture.settle()
    expect(fixture.outputs.slice(2, 5)).toEqual(['event default 2', 'event default 3', 'event default 4'])
    expect(fixture.outputs.slice(5)).toEqual(['answered two undefined', 'answered three undefined'])
    const { commitSeconds, commitEvents, counts: counted } = fixture.system.gate
    expect([commitSeconds.count, commitEvents.count, commitEvents.sum]).toEqual([2, 2, 4])
    expect([counted.bytes, counted.failed]).toEqual([fixture.journal.stream('default').bytes, 0])
  })

  test('turns of one task share a commit, without a timer', async () => {
    const timers = fixture.world.timerCount
    for (let number = 0; number < 100; number++)
      fixture.send(tallyAddress(`T${number}`), { type: 'add', add: [number] })
    expect(fixture.world.timerCount).toBe(timers)
    await fixture.settle()
    expect(counts(fixture)).toEqual([100])
  })

  test('an empty value is refused, because the storage would leak memory', async () => {
    const { gate } = fixture.system
    expect(() => gate.put('index/present/default/A', new Uint8Array(0))).toThrow(RangeError)
    gate.put('index/present/default/A', null)
    await fixture.settle()
    expect(fixture.commits).toHaveLength(1)
  })

  test('records count as waiting bytes, each key once', async () => {
    const fixture = await openRuntime({ uncommittedBytesMax: 1_000 })
    const { gate } = fixture.system
    gate.put('key', new Uint8Array(100))
    gate.put('key', new Uint8Array(1_000))
    gate.put('other', null)
    expect(gate.waitingBytes).toBe(1_008)
    fixture.send(a, { type: 'add', add: [1] }, 'more')
    await fixture.settle()
    expect(gate.waitingBytes).toBe(0)
    expect(fixture.outputs).toEqual(['refused more overloaded'])
  })

  test('a later value of a record replaces the earlier one in the same commit', async () => {
    fixture.send(a, { type: 'add', add: [1], isCheckpointed: true })
    fixture.send(a, { type: 'add', add: [2], isCheckpointed: true })
    await fixture.settle()
    expect(fixture.commits).toHaveLength(1)
    expect(fixture.commits[0]?.records.size).toBe(1)
    fixture.crash()
    const again = await fixture.restart()
    expect(again.valuesOf(a)).toEqual([1, 2])
  })

  test('commits begin at the configured distance, and the first one begins at once', async () => {
    const fixture = await openRuntime({ commitEveryMs: 4 })
    const commitsAt: number[] = []
    for (let ms = 0; ms < 10; ms++) {
      fixture.send(a, { type: 'add', add: [ms] })
      await fixture.settle()
      commitsAt.push(fixture.commits.length)
      await fixture.world.advance(1)
    }
    await fixture.settle()
    expect(commitsAt).toEqual([1, 1, 1, 1, 2, 2, 2, 2, 3, 3])
    expect(fixture.outputs.filter((output) => output.startsWith('answer'))).toHaveLength(8)
  })

  test('whenStored waits for pending turns, and resolves at once if there are none', async () => {
    const { gate } = fixture.system
    const results: string[] = []
    expect(gate.isSettled).toBe(true)
    await gate.whenStored()
    fixture.send(a, { type: 'add', add: [1] })
    const stored = gate.whenStored().then(() => results.push(`stored after ${fixture.outputs.length}`))
    expect(gate.isSettled).toBe(false)
    await fixture.settle()
    await stored
    expect(results).toEqual(['stored after 2'])
    expect(gate.isSettled).toBe(true)
  })
})

test('whenStored rejects if the gate closed since the caller read closedCount', async () => {
  const { gate } = fixture.system
  const { closedCount } = gate
  fixture.send(a, { type: 'add', add: [1] })
  gate.close(new Problem('storage'))
  await expect(gate.whenStored(closedCount)).rejects.toMatchObject({ code: 'storage' })
  await gate.whenStored()
})

describe('the release', () => {
  /** Releasing each event takes a millisecond. */
  async function openSlowRelease(): Promise<RuntimeFixture> {
    const fixture = await openRuntime()
    fixture.onReleased = () => fixture.world.spend(1)
    return fixture
  }

  test('yields to the event loop about every two milliseconds', async () => {
    const fixture = await openSlowRelease()
    fixture.send(a, { type: 'add', add: Array.from({ length: 200 }, (_, index) => index) }, 'many')
    let longestSlice = 0
    let slices = 0
    for (let round = 0; round < 1_000 && !fixture.outputs.includes('answered many undefined'); round++) {
      const before = fixture.outputs.length
      if (!fixture.world.step()) await new Promise((resolve) => setImmediate(resolve))
      const released = fixture.outputs.length - before
      longestSlice = Math.max(longestSlice, released)
      if (released > 0) slices++
    }
    expect(fixture.outputs).toHaveLength(201)
    // The gate reads the clock every 16 steps.
    expect(longestSlice).toBeLessThanOrEqual(32)
    expect(slices).toBeGreaterThan(200 / 32)
    expect(fixture.releases).toBeGreaterThanOrEqual(slices)
  })

  test('keeps its order over slices, with later turns at the end', async () => {
    const fixture = await openSlowRelease()
    const many = Array.from({ length: 100 }, (_, index) => index)
    fixture.send(a, { type: 'add', add: many }, 'first')
    fixture.onReleased = (offset) => {
      fixture.world.spend(1)
      if (offset === 30) fixture.send(a, { type: 'add', add: many }, 'second')
      if (offset === 31) fixture.send(a, { type: 'read' }, 'look')
    }
    await fixture.settle()
    const offsets = fixture.events.map(({ offset }) => offset)
    expect(offsets).toEqual(Array.from({ length: 200 }, (_, index) => index + 1))
    const answers = fixture.outputs.filter((line) => line.startsWith('answered')).map((line) => line.split(' ')[1])
    expect(answers).toEqual(['first', 'second', 'look'])
    expect(fixture.outputs[100]).toBe('answered first undefined')
  })

  test('counts waiting bytes until it is over', async () => {
    const fixture = await openSlowRelease()
    fixture.send(a, { type: 'add', add: Array.from({ length: 100 }, (_, index) => index) }, 'many', 5_000)
    while (fixture.events.length === 0) {
      if (!fixture.world.step()) await new Promise((resolve) => setImmediate(resolve))
    }
    expect(fixture.events.length).toBeLessThan(100)
    expect(fixture.system.gate.waitingBytes).toBe(5_000)
    await fixture.settle()
    expect(fixture.system.gate.waitingBytes).toBe(0)
  })

  test('reports a lost event to a listener that throws, and delivers the other events', async () => {
    fixture.onReleased = (offset) => {
      if (offset === 2) throw new Error('could not deliver')
    }
    fixture.send(a, { type: 'add', add: [1, 2, 3] })
    await fixture.settle()
    expect(fixture.events.map(({ offset }) => offset)).toEqual([1, 2, 3])
    const events = ['event default 1', 'event default 2', 'lost default 2']
    expect(fixture.outputs).toEqual([...events, 'event default 3', 'answered it undefined'])
    expect(fixture.bugs).toEqual(['release: could not deliver'])
  })

  test('advances the released, committed and taken offsets of the head', async () => {
    const write = holdWrites(fixture)
    const head = fixture.system.registry.head('default')
    const where = () => [head.released, head.committed, head.taken]
    const seen: number[][] = []
    fixture.onReleased = () => seen.push(where())
    fixture.send(a, { type: 'add', add: [1, 2] })
    expect(where()).toEqual([0, 0, 2])
    await fixture.settle()
    fixture.send(a, { type: 'add', add: [3] })
    write.finish()
    await fixture.settle()
    expect(seen).toEqual([
      [1, 2, 3],
      [2, 2, 3],
    ])
    write.finish()
    await fixture.settle()
    expect(where()).toEqual([3, 3, 3])
  })

  test('stores the redo position from before the tasks that follow its seal', async () => {
    fixture.send(a, { type: 'add', add: [1] })
    await fixture.settle()
    fixture.send(tallyAddress('B'), { type: 'add', add: [2] })
    // The snapshot is in the third commit, so after a crash the first event must be applied again.
    fixture.system.gate.afterSeal(() => fixture.send(a, { type: 'add', add: [3], isCheckpointed: true }))
    await fixture.settle()
    expect(fixture.commits.map(({ streams }) => streams[0]?.redoFrom)).toEqual([1, 1, 2])
  })
})

/** Each write to the store waits for `finish`. */
function holdWrites(fixture: RuntimeFixture): { finish(): void } {
  const waiting: (() => void)[] = []
  const { journal } = fixture
  const write = journal.write
  journal.write = async (commit) => {
    const written = write(commit)
    await new Promise<void>((finished) => waiting.push(finished))
    return await written
  }
  return { finish: () => waiting.shift()?.() }
}
