import { describe, expect, test } from 'vitest'
import { Problem } from '#model/problem'
import { openStage, type Stage } from '#test/runtime/stage'
import { bookAddress, tallyAddress } from '#test/runtime/tally-actors'

const a = tallyAddress('A')

const firstOffsets = (stage: Stage) => stage.commits.map(({ streams }) => streams[0]?.firstOffset)
const counts = (stage: Stage) => stage.commits.map(({ streams }) => streams[0]?.events.length)

describe('commits', () => {
  test('one starts when the last one ends, and carries all that came meanwhile', async () => {
    const stage = await openStage()
    const write = holdWrites(stage)
    stage.tell(a, { type: 'add', add: [1] }, 'one')
    await stage.settle()
    expect(counts(stage)).toEqual([1])
    stage.tell(a, { type: 'add', add: [2, 3] }, 'two')
    stage.tell(bookAddress('K'), { type: 'add', add: [4] }, 'three')
    await stage.settle()
    // The disk is at work: nothing more is sealed, nothing is said.
    expect(counts(stage)).toEqual([1])
    expect(stage.said).toEqual([])
    write.finish()
    await stage.settle()
    expect(counts(stage)).toEqual([1, 3])
    expect(firstOffsets(stage)).toEqual([1, 2])
    expect(stage.said).toEqual(['event default 1', 'answered one undefined'])
    write.finish()
    await stage.settle()
    expect(stage.said.slice(2)).toEqual([
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

  test('turns of one task share a commit, and no timer is needed for it', async () => {
    const stage = await openStage()
    const timers = stage.world.timerCount
    for (let number = 0; number < 100; number++) stage.tell(tallyAddress(`T${number}`), { type: 'add', add: [number] })
    expect(stage.world.timerCount).toBe(timers)
    await stage.settle()
    expect(counts(stage)).toEqual([100])
  })

  test('a value of no bytes is refused: the storage would lose memory by it', async () => {
    const stage = await openStage()
    const { gate } = stage.system
    expect(() => gate.put('index/present/default/A', new Uint8Array(0))).toThrow(RangeError)
    gate.put('index/present/default/A', null)
    await stage.settle()
    expect(stage.commits).toHaveLength(1)
  })

  test('records count as bytes that wait, each key once', async () => {
    const stage = await openStage({ uncommittedBytesMax: 1_000 })
    const { gate } = stage.system
    gate.put('key', new Uint8Array(100))
    gate.put('key', new Uint8Array(1_000))
    gate.put('other', null)
    expect(gate.waitingBytes).toBe(1_008)
    stage.tell(a, { type: 'add', add: [1] }, 'more')
    await stage.settle()
    expect(gate.waitingBytes).toBe(0)
    expect(stage.said).toEqual(['refused more overloaded'])
  })

  test('a later value of a record in one commit replaces the earlier', async () => {
    const stage = await openStage()
    stage.tell(a, { type: 'add', add: [1], isCheckpointed: true })
    stage.tell(a, { type: 'add', add: [2], isCheckpointed: true })
    await stage.settle()
    expect(stage.commits).toHaveLength(1)
    expect(stage.commits[0]?.records.size).toBe(1)
    stage.crash()
    const again = await stage.reborn()
    expect(again.addedOf(a).map(({ value }) => value)).toEqual([1, 2])
  })

  test('settled waits for what was taken, and is at once where nothing was', async () => {
    const stage = await openStage()
    const { gate } = stage.system
    const heard: string[] = []
    expect(gate.isSettled).toBe(true)
    await gate.settled()
    stage.tell(a, { type: 'add', add: [1] })
    const settled = gate.settled().then(() => heard.push(`settled after ${stage.said.length}`))
    expect(gate.isSettled).toBe(false)
    await stage.settle()
    await settled
    expect(heard).toEqual(['settled after 2'])
    expect(gate.isSettled).toBe(true)
  })
})

test('who looked before what waited was taken back does not hear that it settled', async () => {
  const stage = await openStage()
  const { gate } = stage.system
  const { closedCount } = gate
  stage.tell(a, { type: 'add', add: [1] })
  gate.close(new Problem('storage'))
  await expect(gate.settled(closedCount)).rejects.toMatchObject({ code: 'storage' })
  await gate.settled()
})

describe('what leaves', () => {
  /** Every event costs a millisecond to be told. */
  async function tellingTakesTime(): Promise<Stage> {
    const stage = await openStage()
    stage.onReleased = () => stage.world.spend(1)
    return stage
  }

  test('gives the loop back about every two milliseconds', async () => {
    const stage = await tellingTakesTime()
    stage.tell(a, { type: 'add', add: Array.from({ length: 200 }, (_, index) => index) }, 'many')
    let longestSlice = 0
    let slices = 0
    for (let round = 0; round < 1_000 && !stage.said.includes('answered many undefined'); round++) {
      const before = stage.said.length
      if (!stage.world.step()) await new Promise((told) => setImmediate(told))
      const told = stage.said.length - before
      longestSlice = Math.max(longestSlice, told)
      if (told > 0) slices++
    }
    expect(stage.said).toHaveLength(201)
    // The clock is looked at every sixteen steps.
    expect(longestSlice).toBeLessThanOrEqual(32)
    expect(slices).toBeGreaterThan(200 / 32)
    expect(stage.releases).toBeGreaterThanOrEqual(slices)
  })

  test('keeps its order over slices, with what came meanwhile behind it', async () => {
    const stage = await tellingTakesTime()
    const many = Array.from({ length: 100 }, (_, index) => index)
    stage.tell(a, { type: 'add', add: many }, 'first')
    stage.onReleased = (offset) => {
      stage.world.spend(1)
      if (offset === 30) stage.tell(a, { type: 'add', add: many }, 'second')
      if (offset === 31) stage.tell(a, { type: 'look' }, 'look')
    }
    await stage.settle()
    const offsets = stage.events.map(({ offset }) => offset)
    expect(offsets).toEqual(Array.from({ length: 200 }, (_, index) => index + 1))
    const answers = stage.said.filter((said) => said.startsWith('answered')).map((said) => said.split(' ')[1])
    expect(answers).toEqual(['first', 'second', 'look'])
    expect(stage.said[100]).toBe('answered first undefined')
  })

  test('is counted until it has left', async () => {
    const stage = await tellingTakesTime()
    stage.tell(a, { type: 'add', add: Array.from({ length: 100 }, (_, index) => index) }, 'many', 5_000)
    while (stage.events.length === 0) {
      if (!stage.world.step()) await new Promise((told) => setImmediate(told))
    }
    expect(stage.events.length).toBeLessThan(100)
    expect(stage.system.gate.waitingBytes).toBe(5_000)
    await stage.settle()
    expect(stage.system.gate.waitingBytes).toBe(0)
  })

  test('a listener that throws learns which event is lost, and receives the others', async () => {
    const stage = await openStage()
    stage.onReleased = (offset) => {
      if (offset === 2) throw new Error('could not tell')
    }
    stage.tell(a, { type: 'add', add: [1, 2, 3] })
    await stage.settle()
    expect(stage.events.map(({ offset }) => offset)).toEqual([1, 2, 3])
    expect(stage.said).toEqual([
      'event default 1',
      'event default 2',
      'lost default 2',
      'event default 3',
      'answered it undefined',
    ])
    expect(stage.bugs).toEqual(['release: could not tell'])
  })

  test('the head says how far it has come: released, committed, taken', async () => {
    const stage = await openStage()
    const write = holdWrites(stage)
    const head = stage.system.registry.head('default')
    const where = () => [head.released, head.committed, head.taken]
    const seen: number[][] = []
    stage.onReleased = () => seen.push(where())
    stage.tell(a, { type: 'add', add: [1, 2] })
    expect(where()).toEqual([0, 0, 2])
    await stage.settle()
    stage.tell(a, { type: 'add', add: [3] })
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
function holdWrites(stage: Stage): { finish(): void } {
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
