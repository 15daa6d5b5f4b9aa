import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { FairQueue } from '#runtime/fair-queue'
import { forAll } from '#test/kit/for-all'

/** `a1` is the first entry of group `a`. */
function queueOf(sizeMax: number, ...items: readonly string[]): FairQueue<string> {
  const queue = new FairQueue<string>(sizeMax)
  for (const item of items) queue.add(groupOf(item), item)
  return queue
}

function groupOf(item: string): string {
  return item.slice(0, 1)
}

function takeAll(queue: FairQueue<string>): string[] {
  const taken: string[] = []
  for (let item = queue.take(); item !== undefined; item = queue.take()) taken.push(item)
  return taken
}

describe('groups take turns', () => {
  test.each<[readonly string[], readonly string[]]>([
    [[], []],
    [
      ['a1', 'a2', 'a3'],
      ['a1', 'a2', 'a3'],
    ],
    [
      ['a1', 'a2', 'a3', 'b1'],
      ['a1', 'b1', 'a2', 'a3'],
    ],
    [
      ['a1', 'a2', 'b1', 'b2', 'c1', 'b3', 'a3'],
      ['a1', 'b1', 'c1', 'a2', 'b2', 'a3', 'b3'],
    ],
  ])('%j are taken as %j', (added, taken) => {
    expect(takeAll(queueOf(8, ...added))).toEqual(taken)
  })

  test('a group that adds again after its turn comes after the groups that wait', () => {
    const queue = queueOf(8, 'a1', 'b1')
    expect(queue.take()).toBe('a1')
    queue.add('a', 'a2')
    expect(takeAll(queue)).toEqual(['b1', 'a2'])
  })

  test('a group that is skipped keeps its turn', () => {
    const queue = queueOf(8, 'a1', 'b1', 'b2', 'c1')
    expect(queue.take((group) => group !== 'a')).toBe('b1')
    expect(queue.take(() => false)).toBeUndefined()
    expect(takeAll(queue)).toEqual(['a1', 'c1', 'b2'])
  })
})

test('an item that waits under a key keeps its place; one that is added again after its turn is the last', () => {
  const queue = new FairQueue<{ readonly id: number }>()
  const add = (group: string, id: number) => queue.add(group, { id }, id)
  for (const [group, id] of [
    ['a', 1],
    ['a', 2],
    ['b', 1],
    ['a', 1],
  ] as const)
    add(group, id)
  expect([queue.size, queue.has('a', 1), queue.has('a', 3)]).toEqual([3, true, false])
  expect(queue.take()).toEqual({ id: 1 })
  add('a', 1)
  add('a', 2)
  expect(queue.remove('b', 1)).toBe(true)
  expect([queue.take(), queue.take(), queue.take()]).toEqual([{ id: 2 }, { id: 1 }, undefined])
})

test('forgetting a group removes its items, and clearing removes all', () => {
  const queue = queueOf(8, 'a1', 'a2', 'b1')
  expect([...queue.of('a')]).toEqual(['a1', 'a2'])
  queue.forget('a')
  queue.forget('nowhere')
  expect([queue.size, [...queue.of('a')], queue.has('a', 'a1')]).toEqual([1, [], false])
  expect(takeAll(queue)).toEqual(['b1'])
  queue.add('a', 'a1')
  queue.clear()
  expect([queue.size, queue.take()]).toEqual([0, undefined])
})

describe('a full queue', () => {
  test('drops the last entry of the largest group for a smaller one, until they are equal', () => {
    const queue = queueOf(6, 'a1', 'a2', 'a3', 'a4', 'b1', 'b2')
    expect(['a', 'b', 'c'].map((group) => queue.hasRoom(group))).toEqual([false, true, true])
    expect(queue.add('c', 'c1')).toBe('a4')
    expect(queue.hasRoom('b')).toBe(false)
    expect(queue.add('c', 'c2')).toBe('a3')
    expect([queue.size, queue.hasRoom('c'), queue.hasRoom('d')]).toEqual([6, false, true])
  })

  test('refuses a group without entries if no other has two', () => {
    const queue = queueOf(3, 'a1', 'b1', 'c1')
    expect(queue.hasRoom('d')).toBe(false)
    queue.take()
    expect(queue.hasRoom('d')).toBe(true)
  })

  test('drops an entry of the group with the later turn if two are equal', () => {
    expect(queueOf(4, 'a1', 'a2', 'b1', 'b2').add('c', 'c1')).toBe('b2')
  })
})

test('a queue gets a free place when a waiting entry leaves', () => {
  const queue = queueOf(3, 'a1', 'a2', 'b1')
  expect(['a1', 'b1', 'b1', 'c1'].map((item) => queue.remove(groupOf(item), item))).toEqual([true, true, false, false])
  expect([queue.size, queue.hasRoom('c')]).toEqual([1, true])
  expect(takeAll(queue)).toEqual(['a2'])
})

test('a queue stays within its maximum, loses no entry, and lets no group pass a waiting one twice', () => {
  const steps = fc.array(fc.tuple(fc.constantFrom('add', 'add', 'add', 'take', 'remove'), fc.constantFrom(...'abcde')))
  forAll([steps], (moves) => {
    const queue = new FairQueue<string>(6)
    let held: string[] = []
    /** For each group that waits: the groups of the entries that were taken since. */
    const overtakers = new Map<string, string[]>()
    const gone = (item: string | undefined) => {
      held = held.filter((other) => other !== item)
      if (item !== undefined) overtakers.delete(item)
    }
    moves.forEach(([move, group], index) => {
      const item = `${group}${index}`
      if (move === 'add' && queue.hasRoom(group)) {
        if (!held.some((other) => groupOf(other) === group)) overtakers.set(item, [])
        gone(queue.add(group, item))
        held.push(item)
      } else if (move === 'take') {
        const taken = queue.take()
        gone(taken)
        if (taken !== undefined) for (const since of overtakers.values()) since.push(groupOf(taken))
      } else if (move === 'remove') {
        const first = held.find((other) => groupOf(other) === group)
        if (first !== undefined) expect(queue.remove(group, first)).toBe(true)
        gone(first)
      }
      expect(queue.size).toBe(held.length)
      expect(held.length).toBeLessThanOrEqual(6)
      for (const since of overtakers.values()) expect(new Set(since).size).toBe(since.length)
    })
    expect(takeAll(queue).sort()).toEqual([...held].sort())
  })
})
