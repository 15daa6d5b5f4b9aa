import { beforeEach, describe, expect, test } from 'vitest'
import { SeededRandom } from '#bench/random'
import { answerFleetAggregate } from '#history/fleet-aggregate'
import { dayMs, hourMs } from '#history/history-keys'
import type { FleetAggregateQuery, HistoryQuery, QueriedService } from '#history/history-query'
import { HistoryStore } from '#history/history-store'
import { answerQuery } from '#history/query'
import type { AggregateName } from '#model/aggregate'
import type { Entry } from '#model/entry'
import type { HistoryRetention } from '#model/history-retention'
import { propertyTypeOf } from '#model/property-type'
import { Shapes } from '#store/shapes'
import { memoryStorage } from '#test/store/memory'
import { packChunk } from '#test/store/pack-chunk'

const tenant = 'default'
const device = 'D'
const service = 'service'
const shapes = new Shapes(() => undefined)
const properties = ['float', 'bool', 'string'].map((name, propId) => ({
  propId,
  type: propertyTypeOf(name) as NonNullable<ReturnType<typeof propertyTypeOf>>,
  modifier: 0,
}))
const shape = shapes.intern(service, properties)
const declared = properties.map(({ propId, type }) => ({ propId, type: type.name }))
const start = 20_000 * dayMs
const names: readonly AggregateName[] = [
  ...(['min', 'max', 'avg', 'sum', 'count', 'first', 'last', 'delta', 'increase', 'stddev', 'twa'] as const),
]

function bucketsOf(interval: number, aggregates?: readonly AggregateName[], zone = 'UTC') {
  return { interval, zone, aggregates }
}

type Point = readonly [time: number, value: number]
interface Series {
  readonly time: readonly number[]
  readonly value: readonly unknown[]
  readonly marks: readonly { readonly time: number }[]
  readonly [aggregate: string]: readonly unknown[]
}
interface Span {
  readonly from: number
  readonly to: number
}
interface Answer extends Span {
  readonly interval: number
  readonly tz: string
  readonly series: readonly Series[]
}

type Question = Partial<HistoryQuery & Pick<QueriedService, 'propIds'>>

function queryOf({ propIds, ...part }: Question, now: number): HistoryQuery {
  const services = [{ device, service, declared, propIds, path: 'properties' }]
  return { tenant, services, form: 'service', from: start, to: now, now, ...part }
}

/** A history in which some points are in blocks, some in runs, and some in memory. */
class Fixture {
  readonly random: SeededRandom
  readonly points = new Map<number, number>()
  readonly marks = new Set<number>()
  readonly store: HistoryStore
  #offset = 0
  now = start

  private constructor(seed: number, store: HistoryStore) {
    this.random = new SeededRandom(seed)
    this.store = store
  }

  static async make(seed: number, bytesMax = Number.POSITIVE_INFINITY): Promise<Fixture> {
    const keep = { rawMs: 300 * dayMs, hoursMs: 700 * dayMs, bytesMax }
    const limits = { unstoredMax: 1_000, runsMax: 3, blockPointsMin: 20, ...keep }
    const store = await HistoryStore.open(await memoryStorage().open(), shapes, limits)
    const [base] = store.checkpoints
    if (!base) throw new Error('no checkpoint')
    await store.resume(base, 'epoch')
    return new Fixture(seed, store)
  }

  async fill(): Promise<void> {
    for (let step = 0; step < 60; step++) {
      this.now += Math.floor(this.random.next() ** 4 * 9 * hourMs) + 60_000
      const kind = this.random.below(20)
      if (kind < 15) await this.report(this.now)
      else if (kind === 15) await this.report(Math.max(start, this.now - this.random.below(3 * dayMs)))
      else if (kind === 16)
        await this.report([...this.points.keys(), this.now][this.random.below(this.points.size + 1)])
      else if (kind === 17) await this.fail(this.now)
      else await this.store.flush()
      if (this.random.below(10) === 0) await this.mergeConfirmed(this.random.below(2) === 0)
    }
    this.now += hourMs
  }

  async report(timestamp = this.now, value = this.random.below(100) / 10): Promise<void> {
    this.points.set(timestamp, value)
    await this.#apply({ timestamp, items: [0, value, 1, value > 5, 2, `text ${value}`] })
  }

  async reportText(timestamp: number, text: string): Promise<void> {
    await this.#apply({ timestamp, items: [2, text] })
  }

  async fail(timestamp: number): Promise<void> {
    this.marks.add(timestamp)
    await this.#apply({ timestamp, items: [0, { error: 'broken' }] })
  }

  async reportOf(name: string, timestamp: number, value: number): Promise<void> {
    await this.#apply({ timestamp, items: [0, value] }, name)
  }

  async #apply(part: Pick<Extract<Entry, { kind: 'reported' }>, 'timestamp' | 'items'>, name = device): Promise<void> {
    const flakeAddress = name.charCodeAt(0)
    const entry: Entry = { kind: 'reported', device: name, flakeAddress, shape, at: this.now, seq: 1, ...part }
    const bytes = packChunk([entry], this.now, 0)
    await this.store.apply({ tenant, firstOffset: ++this.#offset, count: 1, time: this.now, bytes }, this.now)
  }

  async ask(part: Question) {
    const answer = await this.answer(part)
    return { ...(JSON.parse(Buffer.concat(answer.pieces).toString()) as Answer), next: answer.next }
  }

  async *pages(part: Question & Span): AsyncGenerator<Answer> {
    for (let span: Span | undefined = part; span; ) {
      const page: Answer & { readonly next: Span | undefined } = await this.ask({ ...part, ...span })
      yield page
      span = page.next
    }
  }

  async exported(part: Question): Promise<string> {
    let text = ''
    for (let span: Partial<Span> | undefined = {}; span; ) {
      const { pieces, next }: Awaited<ReturnType<Fixture['answer']>> = await this.answer({ ...part, ...span })
      text += Buffer.concat(pieces).toString()
      span = next
    }
    return text
  }

  async answer(part: Question) {
    const answer = await answerQuery(this.store, queryOf(part, this.now))
    if (answer === 'unknown' || 'faults' in answer) throw new Error(JSON.stringify(answer))
    return answer
  }

  async across(
    part: Pick<FleetAggregateQuery, 'devices' | 'aggregate' | 'across'> & Partial<FleetAggregateQuery>,
  ): Promise<unknown> {
    const { now } = this
    const query = { tenant, service, propId: 0, interval: hourMs, zone: 'UTC', from: start, to: now, now }
    const answer = await answerFleetAggregate(this.store, { ...query, ...part })
    return answer !== 'unknown' && 'pieces' in answer ? JSON.parse(Buffer.concat(answer.pieces).toString()) : answer
  }

  async mergeAll(): Promise<void> {
    await this.store.flush()
    await this.mergeConfirmed(true)
  }

  async mergeConfirmed(all: boolean): Promise<void> {
    this.store.confirm(this.store.flushed)
    await this.store.merge({ all, pause: async () => {} })
  }

  get sorted(): Point[] {
    return [...this.points].sort(([a], [b]) => a - b)
  }

  get sortedMarks(): number[] {
    return [...this.marks].sort((a, b) => a - b)
  }
}

/** The aggregates of a bucket, by their definitions. Undefined for a bucket that answers leave out. */
function reference(fixture: Fixture, begin: number, end: number): Record<string, number | null> | undefined {
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

function roundedNames(find: (name: string) => unknown): Record<string, unknown> {
  return Object.fromEntries(names.map((name) => [name, rounded(find(name))]))
}

let fixture: Fixture
beforeEach(async () => {
  fixture = await Fixture.make(1)
})

describe.each([1, 2, 3, 4, 5, 6])('a history with seed %i', (seed) => {
  test('has the aggregates of the points, in buckets of any size, wherever the points are stored', async () => {
    const fixture = await Fixture.make(seed)
    await fixture.fill()
    for (const interval of [600_000, 2_700_000, hourMs, 3 * hourMs, dayMs, 3 * dayMs]) {
      const from = start + fixture.random.below(fixture.now - start - 1)
      const to = from + 1 + fixture.random.below(fixture.now - from)
      const answer = await fixture.ask({ propIds: [0], from, to, buckets: bucketsOf(interval, names) })
      const span = { from: Math.floor(from / interval) * interval, to: Math.ceil(to / interval) * interval }
      expect(answer).toMatchObject({ interval, ...span })
      const [series] = answer.series
      const expected: [number, Record<string, unknown>][] = []
      for (let begin = answer.from; begin < answer.to; begin += interval) {
        const found = reference(fixture, begin, begin + interval)
        if (found) expected.push([begin, roundedNames((name) => found[name])])
      }
      const times = series?.time ?? []
      expect(times.map((time, index) => [time, roundedNames((name) => series?.[name]?.[index])])).toEqual(expected)
      expect(series?.marks.map(({ time }) => time)).toEqual(
        fixture.sortedMarks.filter((time) => time >= answer.from && time < answer.to),
      )
    }
  })

  test('has all points in pages that repeat none, in both orders', async () => {
    const fixture = await Fixture.make(seed)
    await fixture.fill()
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
    const fixture = await Fixture.make(seed)
    await fixture.fill()
    await fixture.mergeAll()
    const buckets = bucketsOf(hourMs, names)
    const before = await fixture.ask({ propIds: [0], buckets })
    const count = before.series[0]?.time.length
    expect(count).toBeGreaterThan(0)
    await fixture.store.expire(fixture.now + 302 * dayMs, async () => {})
    const after = await fixture.ask({ propIds: [0], buckets })
    // Marks are kept as long as points.
    expect(after.series).toEqual(before.series.map((series) => ({ ...series, marks: [] })))
    expect((await fixture.ask({ propIds: [0] })).series[0]?.time).toEqual([])
    await fixture.store.expire(fixture.now + 702 * dayMs, async () => {})
    const days = await fixture.ask({ propIds: [0], buckets: { ...buckets, interval: dayMs } })
    expect(days.series[0]?.count?.reduce((sum: number, each) => sum + (each as number), 0)).toBe(fixture.points.size)
  })

  test('is kept for the spans in the schema', async () => {
    const fixture = await Fixture.make(seed)
    const own = { raw: '1d', hourly: '3d', daily: '5d' }
    const retentions = new Map<number, HistoryRetention>([
      [0, own],
      [1, false],
      [2, { raw: '0' }],
    ])
    fixture.store.retentions.replace([{ tenant, service, properties: retentions }])
    for (let hour = 0; hour < 8 * 24; hour++) {
      fixture.now = start + hour * hourMs
      await fixture.report()
    }
    const { now } = fixture
    const countsOf = async (from: number, propId: number) => {
      const buckets = bucketsOf(hourMs, ['count'])
      const { interval, series } = await fixture.ask({ propIds: [propId], from, to: now + 1, buckets })
      return [interval, series[0]?.count?.reduce((sum: number, each) => sum + (each as number), 0)]
    }
    const inHours = [hourMs, 49]
    for (const step of [async () => {}, () => fixture.mergeAll(), () => fixture.store.expire(now, async () => {})]) {
      await step()
      const points = await fixture.ask({ from: start, to: now + 1 })
      expect(points.series.map(({ time }) => time.length)).toEqual([25, 0, 1])
      expect(points.series.map(({ retainedFrom }) => retainedFrom)).toEqual([now - dayMs, now, now])
      expect(await countsOf(now - 2 * dayMs, 0)).toEqual(inHours)
      expect(await countsOf(now - 2 * dayMs, 1)).toEqual([hourMs, 0])
      expect(await countsOf(now - 2 * dayMs, 2)).toEqual(inHours)
    }
    // The first moment of the oldest day is more than five days ago.
    const oldest = start + 2 * dayMs
    const buckets = bucketsOf(dayMs, ['count'])
    const { series } = await fixture.ask({ propIds: [0], from: start, to: now + 1, buckets })
    expect(series[0]?.time[0]).toBe(oldest)
  })

  test('gives the duration of each value of a switch', async () => {
    const fixture = await Fixture.make(seed)
    await fixture.fill()
    const answer = await fixture.ask({ propIds: [1], buckets: bucketsOf(hourMs, ['duration']) })
    const total = { '0': 0, '1': 0 }
    const durations = (answer.series[0]?.duration ?? []) as Record<'0' | '1', number>[]
    for (const each of durations) {
      for (const key of ['0', '1'] as const) total[key] += each[key] ?? 0
    }
    const expected = { '0': 0, '1': 0 }
    for (const [index, [time, value]] of fixture.sorted.entries()) {
      expected[value > 5 ? '1' : '0'] += (fixture.sorted[index + 1]?.[0] ?? fixture.now) - time
    }
    expect(total).toEqual(expected)
  })
})

describe('a query', () => {
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
    const answer = await answerQuery(fixture.store, queryOf({ to: start + 1, ...part }, start))
    expect(answer).toMatchObject({ faults: [{ path }] })
  })

  test('by days begins at midnight in its time zone, also when clocks change', async () => {
    // Two days in Berlin: on 31 March 2024 clocks changed, so the second one has 23 hours.
    const first = Date.UTC(2024, 2, 29, 23)
    const times = [0, dayMs - 1, dayMs, dayMs + 23 * hourMs - 1, dayMs + 23 * hourMs].map((after) => first + after)
    fixture.now = first + 3 * dayMs
    for (const time of times) await fixture.report(time)
    const buckets = bucketsOf(dayMs, ['count'], 'Europe/Berlin')
    const answer = await fixture.ask({ propIds: [0], from: first, to: first + 2 * dayMs, buckets })
    expect([answer.from, answer.to, answer.tz]).toEqual([first, first + dayMs + 23 * hourMs + dayMs, 'Europe/Berlin'])
    expect(answer.series[0]?.count).toEqual([2, 2, 1])
  })

  test('finds that a history above its size loses the oldest points first, then hours, then days, never today', async () => {
    const seen = new Set<string>()
    const counts: number[] = []
    for (const bytesMax of [Number.POSITIVE_INFINITY, 15_000, 12_000, 10_000, 8_000, 5_000, 1]) {
      const fixture = await Fixture.make(1, bytesMax)
      for (let step = 0; step < 20 * 24; step++) {
        fixture.now = start + step * hourMs
        await fixture.report()
      }
      await fixture.mergeAll()
      const { now } = fixture
      await fixture.store.expire(now, async () => {})
      const today = now - (now % dayMs)
      const inBuckets = (from: number, interval: number) =>
        fixture.ask({ propIds: [0], from, to: now + 1, buckets: bucketsOf(interval, ['count']) })
      const raw = await fixture.ask({ propIds: [0], from: start, to: now + 1 })
      const rawFrom = Math.max(start, raw.series[0]?.retainedFrom as unknown as number)
      const days = (await inBuckets(start, dayMs)).series[0]?.count ?? []
      const areHoursCut = (await inBuckets(start, hourMs)).interval === dayMs
      const areNoHours = (await inBuckets(today - dayMs, hourMs)).interval === dayMs
      // The remaining values are complete, and coarser ones are only deleted when no finer ones remain.
      expect(raw.series[0]?.time).toEqual(fixture.sorted.map(([time]) => time).filter((time) => time >= rawFrom))
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
    await fixture.store.expire(start + 303 * dayMs, async () => {})
    // Midnight in Kolkata is at 18:30.
    const midnight = start + 18.5 * hourMs
    const buckets = bucketsOf(dayMs, ['count', 'first'], 'Asia/Kolkata')
    const answer = await fixture.ask({ propIds: [0], from: midnight, to: midnight + dayMs, buckets })
    expect([answer.from, answer.tz]).toEqual([midnight, 'Asia/Kolkata'])
    expect(answer.series[0]).toMatchObject({ time: [midnight], count: [24], first: [19] })
  })

  test('finds the summaries of a day unchanged when a point arrives after the points of that day were deleted', async () => {
    for (let hour = 0; hour < 24; hour++) await fixture.report(start + hour * hourMs, hour)
    await fixture.mergeAll()
    fixture.now = start + dayMs
    await fixture.report(start + 5_000, 77)
    await fixture.store.expire(start + 302 * dayMs, async () => {})
    const buckets = bucketsOf(dayMs, ['count', 'max'])
    const expected = { count: [24], max: [23] }
    expect((await fixture.ask({ propIds: [0], buckets })).series[0]).toMatchObject(expected)
    await fixture.mergeAll()
    expect((await fixture.ask({ propIds: [0], buckets })).series[0]).toMatchObject(expected)
  })

  test('has pages of limited size for texts, and refuses buckets with too many texts', async () => {
    const long = 'x'.repeat(1024 * 1024)
    fixture.now = start + 30 * hourMs
    for (let index = 0; index < 12; index++) await fixture.reportText(start + index * hourMs, `${index}${long}`)
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
    const buckets = bucketsOf(hourMs)
    const answer = await answerQuery(fixture.store, queryOf({ propIds: [2], buckets }, fixture.now))
    expect(answer).toMatchObject({ faults: [{ path: 'interval' }] })
  })

  test('across devices has the aggregate of each device, and then of all that have one', async () => {
    await fixture.reportOf('A', start, 1)
    await fixture.reportOf('A', start + 1, 3)
    await fixture.mergeAll()
    await fixture.reportOf('B', start + 5, 10)
    await fixture.reportOf('B', start + 2 * hourMs, 20)
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

  test.each([1, 2])('for an export has all points and buckets as rows, with seed %i', async (seed) => {
    const fixture = await Fixture.make(seed)
    await fixture.fill()
    const iso = (time: number) => new Date(time).toISOString()
    const rows = fixture.sorted.map(([time, value]) => `D,service,0,,${iso(time)},${value}\n`)
    const raw = { limit: 7, isDescending: false }
    expect(await fixture.exported({ propIds: [0], form: 'csv', raw })).toBe(rows.join(''))
    const buckets = { ...bucketsOf(hourMs, ['count', 'max']), since: start }
    const [series] = (await fixture.ask({ propIds: [0], buckets })).series
    const objects = (await fixture.exported({ propIds: [0], form: 'ndjson', buckets })).trimEnd().split('\n')
    const names = { deviceIdentifier: device, serviceIdentifier: service, propId: 0 }
    expect(objects.map((each) => JSON.parse(each))).toEqual(
      series?.time.map((at, index) => {
        return { ...names, time: iso(at), count: series.count?.[index], max: series.max?.[index] }
      }),
    )
  })

  test('for an export quotes texts as in RFC 4180', async () => {
    fixture.now = start + 10
    await fixture.reportText(start, 'one, "two"\nthree')
    const head = `D,service,2,,${new Date(start).toISOString()},`
    expect(await fixture.exported({ propIds: [2], form: 'csv' })).toBe(`${head}"one, ""two""\nthree"\n`)
  })
})
