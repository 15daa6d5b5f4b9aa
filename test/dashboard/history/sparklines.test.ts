import { describe, expect, test } from 'vitest'
import { isNumeric, numericSeries, seriesByService, seriesKey, seriesLabels } from '#dashboard/history/chart-series'
import { linePoints, SparklineCache } from '#dashboard/history/sparkline-points'

const series = (device: string, propId = 1, service = 'air') => ({
  ...{ deviceIdentifier: device, serviceIdentifier: service, propId },
  ...{ name: `P${propId}`, unit: undefined },
})

describe('the series of charts', () => {
  test.each([
    ['FLOAT', undefined, true],
    ['UINT64', undefined, true],
    ['INT8', undefined, true],
    ['UINT8', { name: 'Mode', enum: { 0: { name: 'Off' } } }, false],
    ['BOOL', undefined, false],
    ['DATETIME', undefined, false],
    ['FLOAT-ARRAY', undefined, false],
  ])('can have the type %s with the schema %o: %s', (type, about, isChart) => {
    expect(isNumeric({ type }, about)).toBe(isChart)
  })

  test('are the numeric properties of a device, with names and units', () => {
    const property = (propId: number, type: string) => [propId, { propId, type }] as const
    const device = {
      deviceIdentifier: 'A',
      services: new Map([['air', new Map([property(0x2000, 'FLOAT'), property(0x2001, 'BOOL')])]]),
    } as unknown as Parameters<typeof numericSeries>[0]
    const schemas = new Map([['air', { name: 'Air', properties: { '0x2000': { name: 'Temperature', unit: '°C' } } }]])
    expect(numericSeries(device, schemas)).toEqual([
      { deviceIdentifier: 'A', serviceIdentifier: 'air', propId: 0x2000, name: 'Temperature', unit: '°C' },
    ])
  })

  test('are read with one request for each service of each device', () => {
    const all = [series('A'), series('B'), series('A', 2), series('A', 1, 'power')]
    expect(seriesByService(all)).toEqual([[all[0], all[2]], [all[1]], [all[3]]])
  })

  test('have labels with the device if there are several devices', () => {
    expect(seriesLabels([series('A'), series('A', 2)])).toEqual(['P1', 'P2'])
    expect(seriesLabels([series('A'), series('B')])).toEqual(['P1 · A', 'P1 · B'])
  })
})

describe('sparklines', () => {
  test('are read with one query for unknown series and those older than a minute, at most a hundred', () => {
    const cache = new SparklineCache()
    const wanted = Array.from({ length: 120 }, (_, index) => series(`D${index}`))
    const [first] = wanted
    expect(cache.due(wanted, 0)).toEqual(wanted.slice(0, 100))
    for (const each of cache.due(wanted, 0)) cache.add(seriesKey(each), { time: [1], avg: [2] }, 0)
    expect(cache.due(wanted, 59_999)).toEqual(wanted.slice(100))
    // A series that had no answer is not requested again at once.
    for (const each of cache.due(wanted, 59_999)) cache.add(seriesKey(each), undefined, 59_999)
    expect(cache.due(wanted, 59_999)).toEqual([])
    expect(cache.due(wanted, 60_000)).toHaveLength(100)
    expect(cache.pointsOf(seriesKey(first as (typeof wanted)[0]))).toEqual({ time: [1], avg: [2] })
  })

  test('have a line over the last hour, which ends at the current value', () => {
    const now = 7_200_000
    const line = linePoints({ time: [3_500_000, 3_600_001, 5_400_000], avg: [99, 10, 20] }, 30, now)
    expect(line.map(([x, y]) => [Math.round(x), y])).toEqual([
      [0, 25],
      [60, 14],
      [120, 3],
    ])
  })

  test('have a flat line without a report in the last hour, and no line before the answer', () => {
    expect(linePoints({ time: [], avg: [] }, 5, 7_200_000)).toEqual([
      [0, 14],
      [120, 14],
    ])
    expect(linePoints(undefined, 5, 7_200_000)).toEqual([])
    expect(linePoints({ time: [], avg: [] }, undefined, 7_200_000)).toEqual([])
  })
})
