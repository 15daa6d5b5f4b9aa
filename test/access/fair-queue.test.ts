import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { FairQueue } from '#access/fair-queue'

/** `a1` is the first of group `a`. */
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

  test('one that comes again is behind those who have waited since', () => {
    const queue = queueOf(8, 'a1', 'b1')
    expect(queue.take()).toBe('a1')
    queue.add('a', 'a2')
    expect(takeAll(queue)).toEqual(['b1', 'a2'])
  })
})

describe('when all places are taken', () => {
  test('the last of the largest group makes room for who has fewer, until they are alike', () => {
    const queue = queueOf(6, 'a1', 'a2', 'a3', 'a4', 'b1', 'b2')
    expect(['a', 'b', 'c'].map((group) => queue.hasRoom(group))).toEqual([false, true, true])
    expect(queue.add('c', 'c1')).toBe('a4')
    expect(queue.hasRoom('b')).toBe(false)
    expect(queue.add('c', 'c2')).toBe('a3')
    expect([queue.size, queue.hasRoom('c'), queue.hasRoom('d')]).toEqual([6, false, true])
  })

  test('who has none is refused where nobody has two', () => {
    const queue = queueOf(3, 'a1', 'b1', 'c1')
    expect(queue.hasRoom('d')).toBe(false)
    queue.take()
    expect(queue.hasRoom('d')).toBe(true)
  })

  test('of two that are alike the one makes room whose turn is later', () => {
    expect(queueOf(4, 'a1', 'a2', 'b1', 'b2').add('c', 'c1')).toBe('b2')
  })
})

test('who leaves makes room, and is not taken', () => {
  const queue = queueOf(3, 'a1', 'a2', 'b1')
  expect([queue.remove('a', 'a1'), queue.remove('b', 'b1'), queue.remove('b', 'b1'), queue.remove('c', 'c1')]).toEqual([
    true,
    true,
    false,
    false,
  ])
  expect([queue.size, queue.hasRoom('c')]).toEqual([1, true])
  expect(takeAll(queue)).toEqual(['a2'])
})

/** Whatever comes, goes and is taken, in whatever order. */
test('never holds more than it may, loses nobody, and lets nobody be overtaken twice by the same group', () => {
  const steps = fc.array(fc.tuple(fc.constantFrom('add', 'add', 'add', 'take', 'remove'), fc.constantFrom(...'abcde')))
  fc.assert(
    fc.property(steps, (moves) => {
      const queue = new FairQueue<string>(6)
      let held: string[] = []
      /** Whose turns came since, for each who waits as the first of his group. */
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
    }),
  )
})
