import { describe, expect, test } from 'vitest'
import { type Gauge, gauges, growthOf, type Point, slopeOf } from '#bench/proof/soak/growth'
import { SeededRandom } from '#bench/random'

const pointsOf = (values: readonly number[]): readonly Point[] => values.map((value, minutes) => ({ minutes, value }))

describe('the slope of points', () => {
  test.each<[string, readonly number[], number]>([
    ['constant', [5, 5, 5, 5, 5, 5, 5, 5], 0],
    ['rising', [0, 2, 4, 6, 8, 10, 12, 14], 2],
    ['falling', [14, 12, 10, 8, 6, 4, 2, 0], -2],
    ['rising, with one outlier', [0, 2, 4, 600, 8, 10, 12, 14], 2],
  ])('%s', (_, values, perMinute) => {
    expect(slopeOf(pointsOf(values)).perMinute).toBe(perMinute)
  })

  test('is within its 95 % interval in about 95 % of the cases', () => {
    const tries = 400
    let missed = 0
    for (let seed = 1; seed <= tries; seed++) {
      const random = new SeededRandom(seed)
      const { low, high } = slopeOf(pointsOf(Array.from({ length: 24 }, (_, at) => 3 * at + random.next())))
      if (low > 3 || high < 3) missed++
    }
    expect(missed / tries).toBeGreaterThan(0.01)
    expect(missed / tries).toBeLessThan(0.09)
  })
})

describe('half an hour of resident memory', () => {
  /** A saw-tooth of 60 MB, noise, rare outliers, and a leak. */
  function course(seed: number, leakBytes: number): readonly Point[] {
    const random = new SeededRandom(seed)
    const tooth = random.between(0.5, 3)
    return Array.from({ length: 480 }, (_, place) => {
      const minutes = 6 + place / 20
      const outlier = random.next() < 0.02 ? 200e6 : 0
      const noise = random.between(-10e6, 10e6)
      return { minutes, value: 200e6 + ((minutes % tooth) / tooth) * 60e6 + noise + outlier + leakBytes * minutes }
    })
  }
  const problemsOf = (gauge: Gauge, leakBytes: number) =>
    Array.from({ length: 60 }, (_, seed) => growthOf(gauge, course(seed + 1, leakBytes)).problem)

  test('without a leak is no problem', () => {
    expect(problemsOf(gauges.resident, 0).filter((problem) => problem !== undefined)).toEqual([])
  })

  test('with a leak of 3 MB a minute is a problem', () => {
    for (const problem of problemsOf(gauges.resident, 3e6)) expect(problem).toMatch(/^resident memory.* growth [23]\./)
  })

  test('that was hardly read is a problem', () => {
    expect(growthOf(gauges.resident, course(1, 0).slice(0, 5)).problem).toMatch(/was read 5 times only/)
  })
})
