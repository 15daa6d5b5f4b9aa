import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type Gauge, gauges } from '#bench/proof/soak/gauges'
import { growthOf, slopeText } from '#bench/proof/soak/growth'
import { mediansOfSpans, type Point, pointsMin, slopeOf } from '#bench/proof/soak/slope'
import { SeededRandom } from '#bench/random'

const pointsOf = (values: readonly number[]): readonly Point[] => values.map((value, minutes) => ({ minutes, value }))
const byLine = (at: number, perMinute: number, count: number) =>
  pointsOf(Array.from({ length: count }, (_, minutes) => at + perMinute * minutes))

describe('a line through points', () => {
  test.each<[string, readonly number[], number]>([
    ['stays', [5, 5, 5, 5, 5, 5, 5, 5], 0],
    ['rises', [0, 2, 4, 6, 8, 10, 12, 14], 2],
    ['falls', [14, 12, 10, 8, 6, 4, 2, 0], -2],
    ['rises, one point far off', [0, 2, 4, 600, 8, 10, 12, 14], 2],
    ['stays, with the first ones far off', [900, 700, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5], 0],
  ])('%s', (_, values, perMinute) => {
    expect(slopeOf(pointsOf(values)).perMinute).toBe(perMinute)
  })

  test('is not drawn through few', () => {
    expect(() => slopeOf(byLine(0, 1, pointsMin - 1))).toThrow(RangeError)
  })

  const line = fc.record({
    at: fc.integer({ min: -1e6, max: 1e6 }),
    perMinute: fc.integer({ min: -1e3, max: 1e3 }),
    count: fc.integer({ min: pointsMin, max: 60 }),
  })

  test('is the one that they lie on, in whatever order they come', () => {
    fc.assert(
      fc.property(line, fc.integer(), ({ at, perMinute, count }, seed) => {
        const random = new SeededRandom(seed)
        const shuffled = [...byLine(at, perMinute, count)]
          .map((point) => ({ point, rank: random.next() }))
          .sort((a, b) => a.rank - b.rank)
          .map(({ point }) => point)
        for (const figure of Object.values(slopeOf(shuffled))) expect(figure).toBeCloseTo(perMinute, 9)
      }),
    )
  })

  test('is the same though a quarter of them may be anything', () => {
    const anything = fc.array(fc.integer({ min: -1e9, max: 1e9 }), { minLength: 60, maxLength: 60 })
    fc.assert(
      fc.property(line, anything, fc.integer({ min: 0, max: 3 }), ({ at, perMinute, count }, others, first) => {
        const off = byLine(at, perMinute, count).map((point, place) =>
          place % 4 === first && place < Math.floor(count / 4) * 4
            ? { ...point, value: others[place] as number }
            : point,
        )
        expect(slopeOf(off).perMinute).toBe(perMinute)
      }),
    )
  })

  test('moves with what is added to every point, by as much as that rises', () => {
    const values = fc.array(fc.integer({ min: -1e6, max: 1e6 }), { minLength: pointsMin, maxLength: 40 })
    fc.assert(
      fc.property(values, fc.integer({ min: -1e3, max: 1e3 }), (found, perMinute) => {
        const before = slopeOf(pointsOf(found))
        const after = slopeOf(pointsOf(found.map((value, minutes) => value + perMinute * minutes)))
        for (const figure of ['perMinute', 'low', 'high'] as const)
          expect(after[figure]).toBeCloseTo(before[figure] + perMinute, 5)
        expect(before.low).toBeLessThanOrEqual(before.perMinute)
        expect(before.high).toBeGreaterThanOrEqual(before.perMinute)
      }),
    )
  })

  test('lies in its interval about as often as that says', () => {
    const tries = 400
    let missed = 0
    for (let seed = 1; seed <= tries; seed++) {
      const random = new SeededRandom(seed)
      const { low, high } = slopeOf(
        byLine(100, 3, 24).map(({ minutes, value }) => ({ minutes, value: value + random.next() })),
      )
      if (low > 3 || high < 3) missed++
    }
    expect(missed / tries).toBeGreaterThan(0.01)
    expect(missed / tries).toBeLessThan(0.09)
  })
})

test('medians of spans leave out what is in none of them', () => {
  const points = [0, 1, 2, 3, 8, 9].map((minutes) => ({ minutes, value: minutes * 10 }))
  expect(mediansOfSpans(points, 3)).toEqual([
    { minutes: 1, value: 10 },
    { minutes: 3, value: 30 },
    { minutes: 8.5, value: 85 },
  ])
})

describe('what is read of a server for half an hour', () => {
  const minutes = 24
  const perMinute = 20

  /** As resident memory is: a saw-tooth of some minutes and 60 MB, noise, now and then something far off; and a leak. */
  function course(seed: number, leakBytes: number): readonly Point[] {
    const random = new SeededRandom(seed)
    const tooth = random.between(0.5, 3)
    return Array.from({ length: minutes * perMinute }, (_, place) => {
      const at = 6 + place / perMinute
      const sawed = ((at % tooth) / tooth) * 60e6
      const off = random.next() < 0.02 ? 200e6 : 0
      return { minutes: at, value: 200e6 + sawed + random.between(-10e6, 10e6) + off + leakBytes * at }
    })
  }
  const problemsOf = (gauge: Gauge, leakBytes: number) =>
    Array.from({ length: 60 }, (_, seed) => growthOf(gauge, course(seed + 1, leakBytes)).problem)

  test('does not grow when it only goes up and down', () => {
    expect(problemsOf(gauges.resident, 0).filter((problem) => problem !== undefined)).toEqual([])
  })

  test('grows by three megabytes a minute, and that is found', () => {
    for (const problem of problemsOf(gauges.resident, 3e6))
      expect(problem).toMatch(/^resident memory: grows, by \+[23]\./)
  })

  test('of what goes up and down too much nobody can say it', () => {
    const sharp = { ...gauges.resident, doubtMax: 0.01 }
    expect(growthOf(sharp, course(1, 0)).problem).toMatch(/nobody can say whether it grows/)
  })

  test('is only shown where nothing says how much it may be', () => {
    expect(growthOf(gauges.heap, course(1, 50e6)).problem).toBeUndefined()
  })

  test('is said in its unit, with signs', () => {
    expect(slopeText({ unit: 'MB' }, { perMinute: 0.001, low: -0.254, high: 1 })).toBe(
      '0.00 MB a minute (−0.25 to +1.00)',
    )
  })
})
