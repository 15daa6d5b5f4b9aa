import { describe, expect, test } from 'vitest'
import { pairedRatios, spreadOf } from '#bench/harness/statistics'

describe('the spread', () => {
  test.each([
    ['of one value', [7], { median: 7, min: 7, max: 7 }],
    ['of two values', [4, 1], { median: 2.5, min: 1, max: 4 }],
    ['of an odd number', [9, 1, 5], { median: 5, min: 1, max: 9 }],
    ['of an even number', [8, 1, 2, 4], { median: 3, min: 1, max: 8 }],
    ['of equal ones', [3, 3, 3, 3], { median: 3, min: 3, max: 3 }],
    ['by size and not by text', [10, 9, 100], { median: 10, min: 9, max: 100 }],
    ['below zero', [-1, -10, 0], { median: -1, min: -10, max: 0 }],
    ['with one far off', [1, 1, 1, 1, 1_000], { median: 1, min: 1, max: 1_000 }],
  ])('%s', (_, values, spread) => {
    const before = [...values]
    expect(spreadOf(values)).toEqual(spread)
    expect(values).toEqual(before)
  })

  test('of nothing is a mistake', () => {
    expect(() => spreadOf([])).toThrow(RangeError)
  })
})

describe('ratios', () => {
  test.each([
    ['are of the same round', [10, 20, 30], [10, 10, 10], { median: 2, min: 1, max: 3 }],
    ['forgive what disturbs a round', [1, 100, 1], [2, 200, 2], { median: 0.5, min: 0.5, max: 0.5 }],
    ['are not those of the medians', [1, 9, 5], [9, 1, 5], { median: 1, min: 1 / 9, max: 9 }],
  ])('%s', (_, values, baselines, spread) => {
    expect(pairedRatios(values, baselines)).toEqual(spread)
  })
})
