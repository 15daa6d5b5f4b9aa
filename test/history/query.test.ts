import { beforeEach, describe, expect, test } from 'vitest'
import { dayMs, hourMs } from '#history/history-keys'
import type { AggregateName } from '#model/aggregate'
import type { HistoryRetention } from '#model/history-retention'
import { bucketsOf, device, QueryFixture, service, start, tenant } from '#test/history/query-fixture'

const names: readonly AggregateName[] = [
  ...(['min', 'max', 'avg', 'sum', 'count', 'first', 'last', 'delta', 'increase', 'stddev', 'twa'] as const),
]

/** The aggregates of a bucket, by their definitions. Undefined for a bucket that answers leave out. */
function reference(fixture: QueryFixture, begin: number, end: number): Record<string, number | null> | undefined {
  const { sorted, sortedMarks, now } = fixture
  const inside = sorted.filter(([time]) => time >= begin && time < end).map(([, value]) => value)
  const before = sorted.findLast(([time]) => time < begin)?.[1]
  let weighted = 0
  let ms = 0
  for (const [index, [time, value]] of sorted.entries()) {
    const next = sorted[index + 1]?.[0] ?? Number.POSITIVE_INFINITY
    const mark = sortedMarks.find((each) => each >= time) ?? Number.POSITIVE_INFINITY
    const held = Math.min(next, mark, end, now) - Math.max(time, begin)
    if (held <= 0) continue
    weighted += value * held
    ms += held
  }
  const [first] = inside
  if (first === undefined) {
    if (ms === 0) return undefined
    const nothing = Object.fromEntries(names.map((name) => [name, null]))
    return { ...nothing, count: 0, twa: weighted / ms }
  }
  const last = inside.at(-1) as number
  const sum = inside.reduce((total, value) => total + value, 0)
  const avg = sum / inside.length
  const all = before === undefined ? inside : [before, ...inside]
  const rises = all.slice(1).map((value, index) => {
    const previous = all[index] as number
    return value >= previous ? value - previous : value
  })
  return {
    min: Math.min(...inside),
    max: Math.max(...inside),
    avg,
    sum,
    count: inside.length,
    first,
    last,
    delta: last - (before ?? first),
    increase: rises.reduce((total, rise) => total + rise, 0),
    stddev: Math.sqrt(inside.reduce((total, value) => total + (value - avg) ** 2, 0) / inside.length),
    twa: ms > 0 ? weighted / ms : first,
  }
}

function rounded(value: unknown): unknown {
  return typeof value === 'number' ? Number(value.toFixed(6)) + 0 : value
}

function sumOf(counts: readonly unknown[] | undefined): number {
  return (counts as readonly number[]).reduce((sum, count) => sum + count, 0)
}

function roundedNames(find: (name: string) => unknown): Record<string, unknown> {
  return Object.fromEntries(names.map((name) => [name, rounded(find(name))]))
}

let fixture: QueryFixture
beforeEach(async () => {
  fixture = await QueryFixture.make(1)
})

describe.each([1, 2, 3, 4, 5, 6])('a history with seed %i', (seed) => {
  beforeEach(async () => {
    fixture = await QueryFixture.make(seed)
    await fixture.fill()
  })

  test('has the aggregates of the points, in buckets of any size, wherever the points are stored', async () => {
    for (const interval of [600_000, 2_700_000, hourMs, 3 * hourMs, dayMs, 3 * dayMs]) {
      const from = start + fixture.random.below(fixture.now - start - 1)
      const to = from + 1 + fixture.random.below(fixture.now - from)
      const [series, answer] = await fixture.one({ from, to, buckets: bucketsOf(interval, names) })
      const span = { from: Math.floor(from / interval) * interval, to: Math.ceil(to / interval) * interval }
      expect(answer).toMatchObject({ interval, ...span })
      const expected: [number, Record<string, unknown>][] = []
      for (let begin = answer.from; begin < answer.to; begin += interval) {
        const found = reference(fixture, begin, begin + interval)
        if (found) expected.push([begin, roundedNames((name) => found[name])])
      }
      expect(series.time.map((time, index) => [time, roundedNames((name) => series[name]?.[index])])).toEqual(expected)
      expect(series.marks.map(({ time }) => time)).toEqual(
        fixture.sortedMarks.filter((time) => time >= answer.from && time < answer.to),
      )
    }
  })

  test('has all points in pages that repeat none, in both orders', async () => {
    for (const isDescending of [false, true]) {
      const found: unknown[] = []
      const raw = { limit: 7, isDescending }
      for await (const page of fixture.pages({ propIds: [0], from: start + hourMs, to: fixture.now, raw })) {
        const [series] = page.series
        expect(series?.time.length).toBeLessThanOrEqual(7)
        found.push(...(series?.time ?? []).map((time, index) => [time, series?.value[index]]))
      }
      const expected = fixture.sorted.filter(([time]) => time >= start + hourMs)
      expect(found).toEqual(isDescending ? expected.reverse() : expected)
    }
  })

  test('answers the same hours after its points were deleted', async () => {
    await fixture.mergeAll()
    const buckets = bucketsOf(hourMs, names)
    const [before] = await fixture.one({ buckets })
    expect(before.time.length).toBeGreaterThan(0)
    await fixture.expire(fixture.now + 302 * dayMs)
    const [after] = await fixture.one({ buckets })
    // Marks are kept as long as points.
    expect(after).toEqual({ ...before, marks: [] })
    expect((await fixture.one({}))[0].time).toEqual([])
    await fixture.expire(fixture.now + 702 * dayMs)
    const [days] = await fixture.one({ buckets: { ...buckets, interval: dayMs } })
    expect(sumOf(days.count)).toBe(fixture.points.size)
  })

  test('gives the duration of each value of a switch', async () => {
    const [series] = await fixture.one({ propIds: [1], buckets: bucketsOf(hourMs, ['duration']) })
    const total = { '0': 0, '1': 0 }
    const durations = series.duration as Record<'0' | '1', number>[]
    for (const each of durations) {
      for (const key of ['0', '1'] as const) total[key] += each[key] ?? 0
    }
    const expected = { '0': 0, '1': 0 }
    for (const [index, [time, value]] of fixture.sorted.entries()) {
      expected[value > 5 ? '1' : '0'] += (fixture.sorted[index + 1]?.[0] ?? fixture.now) - time
    }
    expect(total).toEqual(expected)
  })

  test('has all points and buckets as rows of an export', async () => {
    const iso = (time: number) => new Date(time).toISOString()
    const rows = fixture.sorted.map(([time, value]) => `D,service,0,,${iso(time)},${value}\n`)
    const raw = { limit: 7, isDescending: false }
    expect(await fixture.exported({ propIds: [0], form: 'csv', raw })).toBe(rows.join(''))
    const buckets = { ...bucketsOf(hourMs, ['count', 'max']), since: start }
    const [{ time, count, max }] = await fixture.one({ buckets })
    const objects = (await fixture.exported({ propIds: [0], form: 'ndjson', buckets })).trimEnd().split('\n')
    const names = { deviceIdentifier: device, serviceIdentifier: service, propId: 0 }
    expect(objects.map((each) => JSON.parse(each))).toEqual(
      time.map((at, index) => ({ ...names, time: iso(at), count: count?.[index], max: max?.[index] })),
    )
  })
})

describe('a query', () => {
  test('finds values as long as the spans in the schema', async () => {
    const own = { raw: '1d', hourly: '3d', daily: '5d' }
    const properties = new Map([own, false, { raw: '0' }].map((each, id) => [id, each as HistoryRetention]))
    fixture.store.retentions.replace([{ tenant, service, properties }])
    await fixture.reportEachHour(8 * 24)
    const { now } = fixture
    const to = now + 1
    for (const step of [async () => {}, () => fixture.mergeAll(), () => fixture.expire(now)]) {
      await step()
      const points = await fixture.ask({ to })
      expect(points.series.map(({ time }) => time.length)).toEqual([25, 0, 1])
      expect(points.series.map(({ retainedFrom }) => retainedFrom)).toEqual([now - dayMs, now, now])
      for (const [propId, count] of [49, 0, 49].entries()) {
        const buckets = bucketsOf(hourMs, ['count'])
        const [series, { interval }] = await fixture.one({ propIds: [propId], from: now - 2 * dayMs, to, buckets })
        expect([interval, sumOf(series.count)]).toEqual([hourMs, count])
      }
    }
    // The first moment of the oldest day is more than five days ago.
    const [series] = await fixture.one({ to, buckets: bucketsOf(dayMs, ['count']) })
    expect(series.time[0]).toBe(start + 2 * dayMs)
  })

  test('finds values of each type; a bucket of values that are no numbers has only the last one', async () => {
    fixture.now += 5
    await fixture.report(fixture.now)
    const value = [...fixture.points.values()][0] as number
    fixture.now += 5
    const raw = await fixture.ask({})
    expect(raw.series.map((each) => each.value)).toEqual([[value], [value > 5], [`text ${value}`]])
    const buckets = bucketsOf(hourMs)
    const { series } = await fixture.ask({ buckets })
    expect(series.map(({ min, avg, max, last }) => [min, avg, max, last])).toEqual([
      [[value], [value], [value], undefined],
      [undefined, undefined, undefined, [value > 5]],
      [undefined, undefined, undefined, [`text ${value}`]],
    ])
  })

  test.each([
    [{ propIds: [7] }, 'properties'],
    [{ propIds: [2], buckets: bucketsOf(hourMs, ['avg']) }, 'aggregates'],
    [{ buckets: bucketsOf(1_000), from: 0, to: 10 * 365 * dayMs }, 'interval'],
    [{ raw: { limit: 400_000, isDescending: false } }, 'limit'],
  ])('that asks for what is not possible is refused: %j', async (part, path) => {
    await fixture.report(start)
    expect(await fixture.try({ to: start + 1, ...part })).toMatchObject({ faults: [{ path }] })
  })

  test('by days begins at midnight in its time zone, also when clocks change', async () => {
    // Two days in Berlin: on 31 March 2024 clocks changed, so the second one has 23 hours.
    const first = Date.UTC(2024, 2, 29, 23)
    const times = [0, dayMs - 1, dayMs, dayMs + 23 * hourMs - 1, dayMs + 23 * hourMs].map((after) => first + after)
    fixture.now = first + 3 * dayMs
    for (const time of times) await fixture.report(time)
    const buckets = bucketsOf(dayMs, ['count'], 'Europe/Berlin')
    const [{ count }, { from, to, tz }] = await fixture.one({ from: first, to: first + 2 * dayMs, buckets })
    expect([from, to, tz]).toEqual([first, first + dayMs + 23 * hourMs + dayMs, 'Europe/Berlin'])
    expect(count).toEqual([2, 2, 1])
  })

  test('finds that a history above its size loses the oldest points first, then hours, then days, never today', async () => {
    const seen = new Set<string>()
    const counts: number[] = []
    for (const bytesMax of [Number.POSITIVE_INFINITY, 15_000, 12_000, 10_000, 8_000, 5_000, 1]) {
      const fixture = await QueryFixture.make(1, bytesMax)
      await fixture.reportEachHour(20 * 24)
      await fixture.mergeAll()
      const { now } = fixture
      await fixture.expire(now)
      const today = now - (now % dayMs)
      const inBuckets = (from: number, interval: number) =>
        fixture.one({ from, to: now + 1, buckets: bucketsOf(interval, ['count']) })
      const [raw] = await fixture.one({ to: now + 1 })
      const rawFrom = Math.max(start, raw.retainedFrom as unknown as number)
      const [{ count: days = [] }] = await inBuckets(start, dayMs)
      const areHoursCut = (await inBuckets(start, hourMs))[1].interval === dayMs
      const areNoHours = (await inBuckets(today - dayMs, hourMs))[1].interval === dayMs
      // The remaining values are complete, and coarser ones are only deleted when no finer ones remain.
      expect(raw.time).toEqual(fixture.sorted.map(([time]) => time).filter((time) => time >= rawFrom))
      expect(days.every((count) => count === 24)).toBe(true)
      if (areHoursCut) expect(rawFrom).toBe(today)
      if (days.length < 20) expect(areNoHours).toBe(true)
      seen.add(days.length < 20 ? 'days cut' : areHoursCut ? 'hours cut' : rawFrom > start ? 'points cut' : 'all')
      counts.push(days.length)
    }
    expect([...seen]).toEqual(['all', 'points cut', 'hours cut', 'days cut'])
    expect(counts.at(-1)).toBe(1)
  })

  test('by days in a time zone with a half hour uses the stored hours after the points were deleted', async () => {
    for (let hour = 0; hour < 48; hour++) await fixture.report(start + hour * hourMs + 10 * 60_000, hour)
    fixture.now = start + 310 * dayMs
    await fixture.mergeAll()
    await fixture.expire(start + 303 * dayMs)
    // Midnight in Kolkata is at 18:30.
    const midnight = start + 18.5 * hourMs
    const buckets = bucketsOf(dayMs, ['count', 'first'], 'Asia/Kolkata')
    const [series, { from, tz }] = await fixture.one({ from: midnight, to: midnight + dayMs, buckets })
    expect([from, tz]).toEqual([midnight, 'Asia/Kolkata'])
    expect(series).toMatchObject({ time: [midnight], count: [24], first: [19] })
  })

  test('finds the summaries of a day unchanged when a point arrives after the points of that day were deleted', async () => {
    for (let hour = 0; hour < 24; hour++) await fixture.report(start + hour * hourMs, hour)
    await fixture.mergeAll()
    fixture.now = start + dayMs
    await fixture.report(start + 5_000, 77)
    await fixture.expire(start + 302 * dayMs)
    const buckets = bucketsOf(dayMs, ['count', 'max'])
    const expected = { count: [24], max: [23] }
    expect((await fixture.one({ buckets }))[0]).toMatchObject(expected)
    await fixture.mergeAll()
    expect((await fixture.one({ buckets }))[0]).toMatchObject(expected)
  })

  test('has pages of limited size for texts, and refuses buckets with too many texts', async () => {
    const long = 'x'.repeat(1024 * 1024)
    fixture.now = start + 30 * hourMs
    for (let index = 0; index < 12; index++) await fixture.apply([2, `${index}${long}`], start + index * hourMs)
    for (const isDescending of [false, true]) {
      const found: unknown[] = []
      let pages = 0
      const raw = { limit: 1_000, isDescending }
      for await (const page of fixture.pages({ propIds: [2], from: start, to: fixture.now, raw })) {
        const { length } = JSON.stringify(page)
        expect([pages++ < 3, length < 9 * long.length, length > long.length]).toEqual([true, true, true])
        found.push(...(page.series[0]?.time ?? []))
      }
      const times = Array.from({ length: 12 }, (_, index) => start + index * hourMs)
      expect(found).toEqual(isDescending ? times.reverse() : times)
    }
    const refused = await fixture.try({ propIds: [2], buckets: bucketsOf(hourMs) })
    expect(refused).toMatchObject({ faults: [{ path: 'interval' }] })
  })

  test('across devices has the aggregate of each device, and then of all that have one', async () => {
    await fixture.apply([0, 1], start, 'A')
    await fixture.apply([0, 3], start + 1, 'A')
    await fixture.mergeAll()
    await fixture.apply([0, 10], start + 5, 'B')
    await fixture.apply([0, 20], start + 2 * hourMs, 'B')
    fixture.now = start + 3 * hourMs
    const devices = 'A\nB\nUNKNOWN'
    const head = { from: start, to: fixture.now, interval: hourMs, aggregate: 'avg', devices: 2 }
    const time = [start, start + 2 * hourMs]
    for (const [across, value] of [
      ['avg', [6, 20]],
      ['sum', [12, 20]],
      ['min', [2, 20]],
      ['max', [10, 20]],
      ['count', [2, 1]],
    ] as const) {
      expect(await fixture.across({ devices, aggregate: 'avg', across })).toEqual({ ...head, across, time, value })
    }
    expect(await fixture.across({ devices, aggregate: 'last', across: 'min' })).toMatchObject({ value: [3, 20] })
  })

  test.each([
    [{ interval: 1_000, from: 0, to: 10 * 365 * dayMs }, 'interval'],
    [{ propId: 2 }, 'aggregate'],
  ])('across devices that asks for what is not possible is refused: %j', async (part, path) => {
    await fixture.report(start)
    const answer = await fixture.across({ devices: device, aggregate: 'avg', across: 'avg', ...part })
    expect(answer).toMatchObject({ faults: [{ path }] })
  })

  test('for an export quotes texts as in RFC 4180', async () => {
    fixture.now = start + 10
    await fixture.apply([2, 'one, "two"\nthree'], start)
    const head = `D,service,2,,${new Date(start).toISOString()},`
    expect(await fixture.exported({ propIds: [2], form: 'csv' })).toBe(`${head}"one, ""two""\nthree"\n`)
  })
})
