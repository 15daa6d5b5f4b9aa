import { beforeEach, describe, expect, test } from 'vitest'
import type { Tell } from '#runtime/actor'
import { tellsPerCommitMax } from '#runtime/stored-tells'
import { openRuntime, type RuntimeFixture } from '#test/runtime/runtime-fixture'
import { tallyAddress } from '#test/runtime/tally-actors'

const a = tallyAddress('A')
const b = tallyAddress('B')
const c = tallyAddress('C')

const tellAdd = (to: typeof a, add: number, tells?: Tell[]): Tell => ({
  to,
  command: { type: 'add', add: [add], ...(tells ? { tells } : {}) },
})

let fixture: RuntimeFixture
beforeEach(async () => {
  fixture = await openRuntime()
})

describe('messages to other actors', () => {
  test('run in the commit of the turn that sent them, in order, followed by their own messages', async () => {
    fixture.send(a, { type: 'add', add: [1], tells: [tellAdd(b, 2, [tellAdd(c, 4)]), tellAdd(b, 3)] })
    expect(fixture.valuesOf(b)).toEqual([2, 3])
    expect(fixture.addedOf(c)).toEqual([{ value: 4, offset: 4 }])
    await fixture.settle()
    expect(fixture.commits).toHaveLength(1)
    expect(fixture.commits[0]?.streams[0]?.events).toHaveLength(4)
  })

  test('reach the sender when the receiver answers with a message', async () => {
    fixture.send(a, { type: 'add', add: [1], tells: [tellAdd(b, 2, [tellAdd(a, 3)])] })
    await fixture.settle()
    expect(fixture.valuesOf(a)).toEqual([1, 3])
  })

  test('are logged if they are refused or throw, and the others run', async () => {
    const tells: Tell[] = [{ to: b, command: { type: 'refuse' } }, { to: b, command: { type: 'throw' } }, tellAdd(c, 5)]
    fixture.send(a, { type: 'add', add: [1], tells })
    await fixture.settle()
    expect(fixture.refusedTells).toEqual(tells.slice(0, 2))
    expect(fixture.bugs).toEqual(['a turn of tally B: decided to throw'])
    expect(fixture.valuesOf(c)).toEqual([5])
  })

  test('are not refused when too many bytes wait', async () => {
    const fixture = await openRuntime({ uncommittedBytesMax: 10 })
    fixture.send(a, { type: 'add', add: [1], tells: [tellAdd(b, 2)] }, 'it', 11)
    await fixture.settle()
    expect(fixture.addedOf(b)).toHaveLength(1)
  })
})

describe('more messages than fit in one commit', () => {
  const numbers = (count: number) => Array.from({ length: count }, (_, index) => index)
  const all = numbers(tellsPerCommitMax + 100)
  const many = (values = all): Tell[] => values.map((value) => tellAdd(b, value))

  test('are stored and run in the following commits, once, in order and before later messages', async () => {
    const values = numbers(tellsPerCommitMax * 2 + 100)
    fixture.send(a, { type: 'add', add: [1], tells: many(values) })
    fixture.send(a, { type: 'add', add: [2], tells: [tellAdd(b, -1)] })
    expect(fixture.addedOf(b)).toHaveLength(tellsPerCommitMax)
    await fixture.settle()
    expect(fixture.valuesOf(b)).toEqual([...values, -1])
    const perCommit = fixture.commits.map(({ streams }) => streams[0]?.events.length)
    expect(perCommit).toEqual([tellsPerCommitMax + 2, tellsPerCommitMax, 101])
    fixture.crash()
    const again = await fixture.restart()
    await again.settle()
    expect(again.valuesOf(b)).toEqual([...values, -1])
  })

  test('survive a crash before a stored message runs', async () => {
    fixture.send(a, { type: 'add', add: [1], tells: many() })
    // The commit reached the disk, but the process dies before it learns of it.
    fixture.world.step()
    fixture.crash(1)
    const again = await fixture.restart()
    await again.settle()
    expect(again.valuesOf(b)).toEqual(all)
  })

  test('survive a crash between two commits', async () => {
    fixture.send(a, { type: 'add', add: [1], tells: many() })
    while (fixture.commits.length < 2) {
      if (!fixture.world.step()) await new Promise((resolve) => setImmediate(resolve))
    }
    // The second commit was sealed and never reached the disk.
    fixture.crash(0)
    const again = await fixture.restart()
    expect(again.addedOf(b).length).toBeGreaterThanOrEqual(tellsPerCommitMax)
    await again.settle()
    expect(again.valuesOf(b)).toEqual(all)
    again.send(a, { type: 'add', add: [2], tells: [tellAdd(b, -1)] })
    await again.settle()
    expect(again.valuesOf(b)).toEqual([...all, -1])
  })
})

test('an answer comes after the messages of its turn', async () => {
  fixture.send(a, { type: 'add', tells: [tellAdd(b, 1)], answer: 'sent' })
  expect(fixture.outputs).toEqual([])
  await fixture.settle()
  expect(fixture.outputs).toEqual(['event default 1', 'answered it "sent"'])
})
