import { describe, expect, test } from 'vitest'
import { endFaults, endsText } from '#bench/load/end-counts'
import { normalLatencyOf, recoveredAfter, type Second, worstOf } from '#bench/proof/overload/recovery'

/** One value for each second, from 10 s on. */
const seconds = (...p99s: readonly number[]): Second[] => p99s.map((p99, place) => ({ at: (10 + place) * 1000, p99 }))

describe('the recovery of latency', () => {
  test('allows twice the median, or 10 ms more', () => {
    expect(normalLatencyOf(seconds(5, 90, 4))).toEqual({ p99: 5, allowed: 15 })
    expect(normalLatencyOf(seconds(40, 41, 42, 43))).toEqual({ p99: 41.5, allowed: 83 })
  })

  test.each<[string, readonly number[], number | undefined]>([
    ['at once', [5, 5, 5], 0.5],
    ['at the limit', [15, 15, 15], 0.5],
    ['later', [900, 20, 5, 6, 7], 2.5],
    ['not after one good second', [900, 5, 900, 5, 5, 5], 3.5],
    ['not after two', [5, 5, 900, 5, 5], undefined],
    ['never', [900, 900, 900, 900], undefined],
    ['not without events', [Number.MAX_VALUE, 5, 5], undefined],
    ['not without measurements', [], undefined],
  ])('%s', (_, p99s, expected) => {
    expect(recoveredAfter(seconds(...p99s), 9_500, { allowed: 15 })).toBe(expected)
  })

  test('ignores seconds that began before the end of the overload', () => {
    expect(recoveredAfter(seconds(5, 5, 5, 900, 5, 5, 5), 11_000, { allowed: 15 })).toBe(3)
    expect(worstOf(seconds(5, 70, 900), 10_000, 12_000)).toBe(70)
  })
})

describe('the ends of requests', () => {
  const rules = { allowed: ['200', '503', 'close 1013'], needed: [['503', '429'], ['200']] }

  test.each<[string, Record<string, number>, readonly string[]]>([
    ['as required', { '200': 5, '503': 1 }, []],
    ['without an answer', { '200': 5, '503': 1, 'no answer in time': 2 }, ["2 ended by 'no answer in time'"]],
    ['without a refusal', { '200': 5 }, ["nothing ended by '503' or '429'"]],
    ['without any end', {}, ["nothing ended by '503' or '429'", "nothing ended by '200'"]],
  ])('%s', (_, ends, faults) => {
    expect(endFaults(ends, rules)).toEqual(faults)
  })

  test('a rare end is a fault if it is frequent', () => {
    const rare = { allowed: ['413'], rare: ['reset'], needed: [] }
    expect(endFaults({ '413': 90, reset: 10 }, rare)).toEqual([])
    expect(endFaults({ '413': 89, reset: 11 }, rare)).toEqual(["11 ended by 'reset'"])
  })

  test('rare ends are compared with ends of the same kind', () => {
    const rare = { allowed: ['a: 413', 'b: 413'], rare: ['a: reset', 'b: reset'], needed: [] }
    expect(endFaults({ 'a: 413': 90, 'a: reset': 10, 'b: 413': 5 }, rare)).toEqual([])
    expect(endFaults({ 'a: 413': 9, 'a: reset': 3, 'b: 413': 900 }, rare)).toEqual(["3 ended by 'a: reset'"])
    // Too few to judge.
    expect(endFaults({ 'a: 413': 1, 'a: reset': 2, 'b: 413': 900 }, rare)).toEqual([])
  })

  test('the text begins with the most frequent end', () => {
    expect(endsText({ '503': 2, '200': 70 })).toBe('70 × 200, 2 × 503')
    expect(endsText({})).toBe('nothing')
  })
})
