import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { LatencyHistogram } from '#bench/histogram'

function histogramOf(values: readonly number[]): LatencyHistogram {
  const histogram = new LatencyHistogram()
  for (const value of values) histogram.record(value)
  return histogram
}

/** Milliseconds, from one microsecond to an hour. */
const latency = fc.double({ min: 0.001, max: 3_600_000, noNaN: true })

test('a percentile is the value at its place, to 1.6 %', () => {
  fc.assert(
    fc.property(
      fc.array(latency, { minLength: 1, maxLength: 200 }),
      fc.constantFrom(0.01, 0.5, 0.9, 0.99, 1),
      (values, fraction) => {
        const sorted = [...values].sort((a, b) => a - b)
        const exact = sorted[Math.ceil(values.length * fraction) - 1] as number
        const found = histogramOf(values).percentile(fraction)
        // Half a microsecond for the rounding, a bucket above it.
        expect(found).toBeGreaterThanOrEqual(exact - 0.0005)
        expect(found).toBeLessThanOrEqual(exact * (1 + 1 / 64) + 0.001)
      },
    ),
  )
})

describe('the summary', () => {
  test.each([
    ['of nothing', [], { count: 0, p50: 0, p99: 0, p999: 0, max: 0 }],
    ['of one value', [1.5], { count: 1, p50: 1.5, p99: 1.5, p999: 1.5, max: 1.5 }],
    ['of small values, exact', [0.001, 0.002, 0.127], { count: 3, p50: 0.002, p99: 0.127, p999: 0.127, max: 0.127 }],
    ['of less than nothing', [-5], { count: 1, p50: 0, p99: 0, p999: 0, max: 0 }],
    ['of longer than it can count', [1e12], { count: 1, max: 1e12 }],
  ])('%s', (_, values, summary) => {
    expect(histogramOf(values).summary()).toMatchObject(summary)
  })

  test('one in a hundred is above the 99th percentile', () => {
    const { p50, p99, p999, max } = histogramOf([
      ...Array<number>(990).fill(1),
      ...Array<number>(10).fill(100),
    ]).summary()
    expect([p50, p99]).toEqual([expect.closeTo(1, 1), expect.closeTo(1, 1)])
    expect(p999).toBeGreaterThan(98)
    expect(max).toBe(100)
  })
})

test('added ones are as if all had been recorded in one; a cleared one is as new', () => {
  fc.assert(
    fc.property(fc.array(latency), fc.array(latency), (some, others) => {
      const histogram = histogramOf(some)
      histogram.add(histogramOf(others))
      expect(histogram.summary()).toEqual(histogramOf([...some, ...others]).summary())
      histogram.clear()
      expect(histogram.summary()).toEqual(new LatencyHistogram().summary())
    }),
  )
})
