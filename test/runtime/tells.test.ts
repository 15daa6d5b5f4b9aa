import { describe, expect, test } from 'vitest'
import type { Tell } from '#runtime/actor'
import { tellsPerCommitMax } from '#runtime/stored-tells'
import { openStage, type Stage } from '#test/runtime/stage'
import { tallyAddress } from '#test/runtime/tally-actors'

const a = tallyAddress('A')
const b = tallyAddress('B')
const c = tallyAddress('C')

const tellAdd = (to: typeof a, add: number, tells?: Tell[]): Tell => ({
  to,
  command: { type: 'add', add: [add], ...(tells ? { tells } : {}) },
})

describe('tells', () => {
  test('run in the commit of the turn that told, in order, and theirs behind them', async () => {
    const stage = await openStage()
    stage.tell(a, { type: 'add', add: [1], tells: [tellAdd(b, 2, [tellAdd(c, 4)]), tellAdd(b, 3)] })
    expect(stage.addedOf(b).map(({ value }) => value)).toEqual([2, 3])
    expect(stage.addedOf(c)).toEqual([{ value: 4, offset: 4 }])
    await stage.settle()
    expect(stage.commits).toHaveLength(1)
    expect(stage.commits[0]?.streams[0]?.events).toHaveLength(4)
  })

  test('reach an actor that tells back to who told it', async () => {
    const stage = await openStage()
    stage.tell(a, { type: 'add', add: [1], tells: [tellAdd(b, 2, [tellAdd(a, 3)])] })
    await stage.settle()
    expect(stage.addedOf(a).map(({ value }) => value)).toEqual([1, 3])
  })

  test('that are refused or throw are said loudly, and the others run', async () => {
    const stage = await openStage()
    const tells: Tell[] = [{ to: b, command: { type: 'refuse' } }, { to: b, command: { type: 'throw' } }, tellAdd(c, 5)]
    stage.tell(a, { type: 'add', add: [1], tells })
    await stage.settle()
    expect(stage.refusedTells).toEqual(tells.slice(0, 2))
    expect(stage.bugs).toEqual(['a turn of tally B: decided to throw'])
    expect(stage.addedOf(c).map(({ value }) => value)).toEqual([5])
  })

  test('are not refused because too much waits', async () => {
    const stage = await openStage({ uncommittedBytesMax: 10 })
    stage.tell(a, { type: 'add', add: [1], tells: [tellAdd(b, 2)] }, 'it', 11)
    await stage.settle()
    expect(stage.addedOf(b)).toHaveLength(1)
  })
})

describe('more tells than one commit takes', () => {
  const manyCount = tellsPerCommitMax * 2 + 5_000
  const many = (): Tell[] => Array.from({ length: manyCount }, (_, index) => tellAdd(b, index))
  const all = Array.from({ length: manyCount }, (_, index) => index)
  const valuesOf = (stage: Stage) => stage.addedOf(b).map(({ value }) => value)

  test('are stored with it and run with the following ones, each once and in order', async () => {
    const stage = await openStage()
    stage.tell(a, { type: 'add', add: [1], tells: many() })
    expect(stage.addedOf(b)).toHaveLength(tellsPerCommitMax)
    await stage.settle()
    expect(valuesOf(stage)).toEqual(all)
    const perCommit = stage.commits.map(({ streams }) => streams[0]?.events.length)
    expect(perCommit).toEqual([tellsPerCommitMax + 1, tellsPerCommitMax, 5_000])
    stage.crash()
    const again = await stage.reborn()
    await again.settle()
    expect(valuesOf(again)).toEqual(all)
  })

  test('survive a crash before any of the stored ones ran', async () => {
    const stage = await openStage()
    stage.tell(a, { type: 'add', add: [1], tells: many() })
    // Sealed; the disk has it, the process does not live to hear of it.
    stage.world.step()
    stage.crash(1)
    const again = await stage.reborn()
    await again.settle()
    expect(valuesOf(again)).toEqual(all)
  })

  test('survive a crash between two of their commits', async () => {
    const stage = await openStage()
    stage.tell(a, { type: 'add', add: [1], tells: many() })
    while (stage.commits.length < 2) {
      if (!stage.world.step()) await new Promise((told) => setImmediate(told))
    }
    // The second commit was sealed and never reached the disk.
    stage.crash(0)
    const again = await stage.reborn()
    expect(again.addedOf(b).length).toBeGreaterThanOrEqual(tellsPerCommitMax)
    await again.settle()
    expect(valuesOf(again)).toEqual(all)
    again.tell(a, { type: 'add', add: [2], tells: [tellAdd(b, -1)] })
    await again.settle()
    expect(valuesOf(again)).toEqual([...all, -1])
  })

  test('keep their order against tells that come later', async () => {
    const stage = await openStage()
    stage.tell(a, { type: 'add', add: [1], tells: many() })
    stage.tell(a, { type: 'add', add: [2], tells: [tellAdd(b, -1)] })
    await stage.settle()
    expect(valuesOf(stage)).toEqual([...all, -1])
  })
})

test('an answer does not overtake the tells of its turn', async () => {
  const stage = await openStage()
  stage.tell(a, { type: 'add', tells: [tellAdd(b, 1)], answer: 'told' })
  expect(stage.said).toEqual([])
  await stage.settle()
  expect(stage.said).toEqual(['event default 1', 'answered it "told"'])
})
