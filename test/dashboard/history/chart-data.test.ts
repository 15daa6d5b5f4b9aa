import { describe, expect, test } from 'vitest'
import { axisLimits, chartData, type HistorySeries, joinedGaps, summaryOf } from '#dashboard/history/chart-data'

function history(time: readonly number[], avg: readonly number[], marks: HistorySeries['marks'] = []): HistorySeries {
  const column = (by: number) => avg.map((value) => value + by)
  return { propId: 1, type: 'FLOAT', time: [...time], avg: [...avg], min: column(-1), max: column(1), marks }
}

describe('the data of a chart', () => {
  test('has common times for all series, and the line of a series without a point continues', () => {
    const { times, series } = chartData([history([1_000, 3_000], [10, 30]), history([2_000, 3_000], [5, 6])], [])
    expect(times).toEqual([1, 2, 3])
    expect(series.map(({ avg }) => avg)).toEqual([
      [10, undefined, 30],
      [undefined, 5, 6],
    ])
    expect(series[0]).toMatchObject({ min: [9, undefined, 29], max: [11, undefined, 31] })
  })

  test('has an interrupted line at a mark or gap of the series', () => {
    const broken = history([1_000, 2_000, 9_000], [1, 2, 3], [{ time: 1_500, tag: 'error', error: 'broken' }])
    const { times, series } = chartData([broken, history([1_000, 1_200], [7, 8])], [{ from: 4_000, to: 6_000 }])
    expect(times).toEqual([1, 1.2, 1.5, 2, 5, 9])
    expect(series[0]?.avg).toEqual([1, undefined, null, 2, null, 3])
    expect(series[0]?.min).toEqual([0, undefined, null, 1, null, 2])
    // This series ends before the gap.
    expect(series[1]?.avg).toEqual([7, 8, undefined, undefined, undefined, undefined])
  })

  test('has no times for a series without points', () => {
    expect(chartData([undefined], [])).toEqual({ times: [], series: [{ avg: [], min: [], max: [] }] })
  })

  test('has a summary of the span, in which buckets are weighted by their points', () => {
    const weighed = { ...history([1_000, 2_000, 3_000], [10, 20, 90]), count: [3, 1, 1], last: [11, '19', 90] }
    expect(summaryOf(weighed, { from: 1_000, to: 3_000 })).toEqual({ min: 9, max: 21, avg: 12.5, last: 19 })
    expect(summaryOf(weighed, { from: 4_000, to: 5_000 })).toBeUndefined()
  })

  test.each([
    [0, 100, [], [-8, 108]],
    [0, 100, [200], [-16, 216]],
    [50, 50, [], [45, 55]],
    [0, 0, [], [-1, 1]],
    [null, null, [], [0, 1]],
    [null, null, [10], [9, 11]],
  ])('has for values from %s to %s with thresholds %o the axis %o', (min, max, thresholds, limits) => {
    expect(axisLimits(min, max, thresholds)).toEqual(limits)
  })

  test('has the joined gaps of several histories, without gaps outside the span', () => {
    const gaps = [
      [
        { from: 0, to: 10 },
        { from: 30, to: 40 },
      ],
      [
        { from: 35, to: 50 },
        { from: 90, to: 99 },
      ],
    ]
    expect(joinedGaps(gaps, { from: 20, to: 80 })).toEqual([{ from: 30, to: 50 }])
  })
})
