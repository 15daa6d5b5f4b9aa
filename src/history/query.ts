import { type AggregateValue, Aggregation } from '#history/aggregation'
import { merged, readBlocks, readDayBefore, readDays } from '#history/blocks'
import { type Buckets, bucketsOf } from '#history/buckets'
import { dayMs, dayOf, hourMs } from '#history/history-keys'
import type { HistoryStore } from '#history/history-store'
import { Points } from '#history/points'
import { between, type Pieces } from '#history/series-reader'
import { type Series, statusKind } from '#history/series-table'
import type { SeriesValue } from '#history/summary'
import type { AggregateName } from '#model/aggregate'
import { DeviceStatus } from '#model/meta'
import type { Storage } from '#runtime/storage'

/** A property of a service that is declared now, or that has history. */
export interface QueriedProperty {
  readonly propId: number
  /** Lower-case name of its type. */
  readonly type: string
  readonly name?: string
  readonly unit?: string
  /** Its values have names: they can be counted by time. */
  readonly isEnum?: boolean
}

/** A question about the history of one service of one device. */
export interface HistoryQuery {
  readonly tenant: string
  readonly device: string
  readonly service: string
  /** Those that the device declares. */
  readonly declared: readonly QueriedProperty[]
  /** Only these; undefined: all. */
  readonly propIds: readonly number[] | undefined
  readonly from: number
  readonly to: number
  readonly now: number
  /** Points, at most so many of each series; undefined: as many as the limits allow. */
  readonly raw?: { readonly limit: number | undefined; readonly isDescending: boolean }
  readonly buckets?: {
    readonly interval: number
    readonly zone: string
    readonly aggregates: readonly AggregateName[] | undefined
  }
}

/** The answer as JSON text, or what is wrong with the question. */
export type HistoryAnswer =
  | {
      readonly text: string
      /** Where the next page begins, if there is one. */
      readonly next?: { readonly from: number; readonly to: number }
    }
  | { readonly faults: readonly { readonly path: string; readonly message: string }[] }
  | 'unknown'

const limits = { bucketsMax: 100_000, cellsMax: 1_000_000, pointsMax: 100_000, pointsDefault: 10_000 } as const

const numericTypes: ReadonlySet<string> = new Set([
  ...['uint8', 'uint16', 'uint32', 'uint64', 'int8', 'int16', 'int32', 'int64', 'float', 'float64'],
])
const aggregatesOfAll: readonly AggregateName[] = ['first', 'last', 'count']
const defaultOfNumbers: readonly AggregateName[] = ['min', 'avg', 'max']
const defaultOfOthers: readonly AggregateName[] = ['last']

/** One series of the answer; `id` is undefined if the property has no history yet. */
type AskedSeries = QueriedProperty & { readonly id: number | undefined }

/** How long points and summaries of hours are kept. */
export interface Retained {
  readonly rawFrom: number
  readonly hoursFrom: number
}

export async function answerQuery(
  store: HistoryStore,
  query: HistoryQuery,
  retained: Retained,
): Promise<HistoryAnswer> {
  const asked = askedSeries(store, query)
  if (asked === 'unknown') return 'unknown'
  const unknown = (query.propIds ?? []).filter((propId) => !asked.some((each) => each.propId === propId))
  if (unknown.length > 0) {
    return {
      faults: unknown.map((propId) => ({ path: 'properties', message: `the service has no property ${propId}` })),
    }
  }
  const ids = asked.flatMap(({ id }) => (id === undefined ? [] : [id, id + 1])).sort((a, b) => a - b)
  const gapsOf = async (from: number, to: number) => JSON.stringify(await store.gapsOf(query.tenant, from, to))
  if (query.buckets) return await aggregated(store, query, query.buckets, asked, ids, retained, gapsOf)
  return await raw(store, query, asked, ids, retained, gapsOf)
}

/** The series of declared properties, and all others with history. */
function askedSeries(store: HistoryStore, query: HistoryQuery): AskedSeries[] | 'unknown' {
  const { tenant, device, service, declared, propIds } = query
  const stored = [...(store.find(tenant, device)?.series() ?? [])].filter((series) => series.service === service)
  if (stored.length === 0 && declared.length === 0) return 'unknown'
  const isAsked = ({ propId }: { readonly propId: number }) => propIds?.includes(propId) ?? true
  const idOf = ({ propId, type }: QueriedProperty) =>
    stored.find((series) => series.propId === propId && series.type === type)?.id
  const former = stored.filter(
    ({ propId, type }) => !declared.some((each) => each.propId === propId && each.type === type),
  )
  const named = (series: Series) => {
    const { name, unit } = declared.find(({ propId }) => propId === series.propId) ?? {}
    return { ...series, ...(name !== undefined && { name }), ...(unit !== undefined && { unit }) }
  }
  return [...declared.map((property) => ({ ...property, id: idOf(property) })), ...former.map(named)]
    .filter(isAsked)
    .sort((a, b) => a.propId - b.propId)
}

type GapsOf = (from: number, to: number) => Promise<string>

async function raw(
  store: HistoryStore,
  { from, to, now, raw: asked = { limit: undefined, isDescending: false } }: HistoryQuery,
  series: readonly AskedSeries[],
  ids: readonly number[],
  { rawFrom }: Retained,
  gapsOf: GapsOf,
): Promise<HistoryAnswer> {
  const most = Math.min(limits.pointsMax, Math.floor(limits.cellsMax / Math.max(1, series.length)))
  const limit = asked.limit ?? Math.min(limits.pointsDefault, most)
  if (limit > most) {
    return { faults: [{ path: 'limit', message: `must be at most ${most} for ${series.length} properties` }] }
  }
  const span = { from: Math.max(from, rawFrom), to: Math.min(to, now + dayMs) }
  const page = await store.reading(ids, (fresh, storage) => readPage(storage, fresh, span, limit, asked.isDescending))
  const list = series.map((each) => {
    const points = (each.id === undefined ? undefined : page.points.get(each.id)) ?? new Points(1)
    const marks = (each.id === undefined ? undefined : page.points.get(each.id + 1)) ?? new Points(1)
    const order = indexes(points, asked.isDescending)
    const times = order.map((index) => points.times[index] as number)
    const values = order.map((index) => valueText(valueAt(points, index), each.type))
    return `{${headOf(each)},"retainedFrom":${rawFrom},"time":[${times.join(',')}],"value":[${values.join(',')}],"marks":[${marksText(marks)}]}`
  })
  const text = `${opened({ from, to })},"gaps":${await gapsOf(from, to)},"series":[${list.join(',')}]}`
  if (page.cut === undefined) return { text }
  return { text, next: asked.isDescending ? { from, to: page.cut } : { from: page.cut, to } }
}

interface Page {
  readonly points: ReadonlyMap<number, Points>
  /** Where the next page begins, or, if it is descending, ends. */
  readonly cut: number | undefined
}

/** Days are read one after the other, until there are enough points. */
async function readPage(
  storage: Storage,
  fresh: Pieces,
  { from, to }: { readonly from: number; readonly to: number },
  limit: number,
  isDescending: boolean,
): Promise<Page> {
  const settled = new Map([...fresh].map(([id, pieces]) => [id, merged(pieces)]))
  const found = new Map([...fresh.keys()].map((id) => [id, new Points(1)]))
  const days =
    from < to ? Array.from({ length: dayOf(to - 1) - dayOf(from) + 1 }, (_, place) => dayOf(from) + place) : []
  for (const day of isDescending ? days.reverse() : days) {
    const span = [Math.max(from, day * dayMs), Math.min(to, (day + 1) * dayMs)] as const
    let cut: number | undefined
    for (const [id, all] of found) {
      const pieces = await readBlocks(storage, id, day, day)
      const last = { sequence: Infinity, points: between(settled.get(id) as Points, ...span) }
      all.append(between(merged([...pieces, last]), ...span))
      all.settle()
      // Marks are few.
      if (id % 2 === 1 || all.count <= limit) continue
      const time = all.times[isDescending ? all.count - limit - 1 : limit] as number
      cut = isDescending ? Math.max(cut ?? 0, time + 1) : Math.min(cut ?? Infinity, time)
    }
    if (cut === undefined) continue
    const kept = isDescending ? ([cut, to] as const) : ([from, cut] as const)
    return { points: new Map([...found].map(([id, points]) => [id, between(points, ...kept)])), cut }
  }
  return { points: found, cut: undefined }
}

async function aggregated(
  store: HistoryStore,
  { from, to, now, propIds }: HistoryQuery,
  asked: NonNullable<HistoryQuery['buckets']>,
  series: readonly AskedSeries[],
  ids: readonly number[],
  { rawFrom, hoursFrom }: Retained,
  gapsOf: GapsOf,
): Promise<HistoryAnswer> {
  const faults: { path: string; message: string }[] = []
  // Counted as it was asked, and not as it is raised to what is retained: the same question is always refused.
  const count = Math.ceil(to / asked.interval) - Math.floor(from / asked.interval)
  if (count > limits.bucketsMax || count * series.length > limits.cellsMax) {
    const message = `gives ${count} buckets for ${series.length} properties; at most ${limits.bucketsMax} each, and ${limits.cellsMax} in all, are possible`
    return { faults: [{ path: 'interval', message }] }
  }
  const step = from < hoursFrom ? dayMs : from < rawFrom ? hourMs : 1
  const interval = Math.ceil(asked.interval / step) * step
  const zone = step === dayMs ? 'UTC' : asked.zone
  const buckets = bucketsOf(from, to, interval, zone)
  const chosen = series.flatMap((each) => {
    const names = asked.aggregates ?? (numericTypes.has(each.type) ? defaultOfNumbers : defaultOfOthers)
    const lacking = names.find((name) => !has(each, name))
    if (lacking === undefined) return [{ each, names }]
    if (propIds) faults.push({ path: 'aggregates', message: `${each.type.toUpperCase()} has no ${lacking}` })
    return []
  })
  if (asked.aggregates?.includes('duration') && buckets.from < rawFrom) {
    faults.push({ path: 'from', message: `duration is known from ${rawFrom} on` })
  }
  if (faults.length > 0) return { faults }
  const list = await store.reading(ids, async (fresh, storage) => {
    const texts: string[] = []
    for (const { each, names } of chosen) {
      const aggregation = new Aggregation(buckets, names, now)
      const marks =
        each.id === undefined ? '' : marksText(await feed(aggregation, buckets, names, each.id, fresh, storage))
      aggregation.end()
      const columns = names.map(
        (name, place) =>
          `"${name}":[${(aggregation.columns[place] ?? []).map((value) => aggregateText(value, each.type)).join(',')}]`,
      )
      texts.push(
        `{${[headOf(each), `"time":[${aggregation.times.join(',')}]`, ...columns, `"marks":[${marks}]`].join(',')}}`,
      )
    }
    return texts
  })
  const head = opened({ from: buckets.from, to: buckets.to, interval, tz: zone })
  return { text: `${head},"gaps":${await gapsOf(buckets.from, buckets.to)},"series":[${list.join(',')}]}` }
}

/** An object as JSON, to which fields can be added. */
function opened(fields: object): string {
  return JSON.stringify(fields).slice(0, -1)
}

function has({ type, isEnum }: QueriedProperty, name: AggregateName): boolean {
  if (aggregatesOfAll.includes(name)) return true
  return name === 'duration' ? type === 'bool' || isEnum === true : numericTypes.has(type)
}

/** Gives everything about a series to an aggregation, in order. Returns the marks in the span of the buckets. */
async function feed(
  aggregation: Aggregation,
  buckets: Buckets,
  names: readonly AggregateName[],
  id: number,
  fresh: Pieces,
  storage: Storage,
): Promise<Points> {
  const [values, marks] = [merged(fresh.get(id) ?? []), merged(fresh.get(id + 1) ?? [])]
  const [firstDay, lastDay] = [dayOf(buckets.from), dayOf(buckets.to - 1)]
  const days = await readDays(storage, id, firstDay, lastDay)
  for (const { times, count } of [values, marks]) {
    for (let index = 0; index < count; index++) {
      const day = dayOf(times[index] as number)
      if (day >= firstDay && day <= lastDay && !days.has(day)) days.set(day, undefined)
    }
  }
  await feedBefore(aggregation, firstDay, id, values, marks, storage)
  const shown = new Points(1)
  for (const [day, summary] of [...days].sort(([a], [b]) => a - b)) {
    const [begin, end] = [day * dayMs, Math.min((day + 1) * dayMs, buckets.to)]
    const freshValues = between(values, begin, end)
    const freshMarks = between(marks, begin, end)
    const markBlocks = summary && summary.firstMark > 0 ? await readBlocks(storage, id + 1, day, day) : []
    const dayMarks = between(merged([...markBlocks, ...(fresh.get(id + 1) ?? [])]), begin, end)
    shown.append(between(dayMarks, Math.max(begin, buckets.from), end))
    const first = Math.min(freshValues.firstTime, freshMarks.firstTime)
    const isSummed = buckets.areOfHours && !names.includes('duration') && summary?.isBefore(first)
    if (summary && isSummed) {
      const hours = summary.inOrder()
      // Later marks have ended what the summaries hold.
      const firstTime = hours[0]?.firstTime ?? Number.POSITIVE_INFINITY
      if (summary.firstMark > 0 && summary.firstMark < firstTime) aggregation.mark(summary.firstMark)
      for (const hour of hours) if (hour.firstTime < end) aggregation.summary(hour)
      feedInOrder(aggregation, freshValues, freshMarks)
    } else {
      const blocks = summary ? await readBlocks(storage, id, day, day) : []
      feedInOrder(aggregation, between(merged([...blocks, ...(fresh.get(id) ?? [])]), begin, end), dayMarks)
    }
  }
  return shown
}

/** What held before the first day. */
async function feedBefore(
  aggregation: Aggregation,
  firstDay: number,
  id: number,
  values: Points,
  marks: Points,
  storage: Storage,
): Promise<void> {
  const before = await readDayBefore(storage, id, firstDay)
  for (const summary of before?.inOrder().slice(-1) ?? []) aggregation.summary(summary)
  const begin = firstDay * dayMs
  const last = values.indexAt(begin) - 1
  const from = last < 0 ? 0 : (values.times[last] as number)
  const isNewer = last >= 0 && from >= (before?.inOrder().at(-1)?.lastTime ?? 0)
  feedInOrder(aggregation, isNewer ? between(values, from, begin) : new Points(1), between(marks, from, begin))
}

/** A mark at the time of a point comes after it. */
function feedInOrder(aggregation: Aggregation, values: Points, marks: Points): void {
  let mark = 0
  for (let index = 0; index < values.count; index++) {
    const time = values.times[index] as number
    for (; mark < marks.count && (marks.times[mark] as number) < time; mark++)
      aggregation.mark(marks.times[mark] as number)
    aggregation.point(time, valueAt(values, index))
  }
  for (; mark < marks.count; mark++) aggregation.mark(marks.times[mark] as number)
}

function valueAt(points: Points, index: number): SeriesValue {
  return points.texts.get(index) ?? (points.values[index] as number)
}

function indexes({ count }: Points, isDescending: boolean): number[] {
  return Array.from({ length: count }, (_, index) => (isDescending ? count - 1 - index : index))
}

function headOf({ propId, name, type, unit }: AskedSeries): string {
  const fields = [`"propId":${propId}`, `"type":"${type.toUpperCase()}"`]
  if (name !== undefined) fields.splice(1, 0, `"name":${JSON.stringify(name)}`)
  if (unit !== undefined) fields.push(`"unit":${JSON.stringify(unit)}`)
  return fields.join(',')
}

function valueText(value: SeriesValue, type: string): string {
  if (typeof value === 'string') return value
  if (type === statusKind.type) return JSON.stringify(DeviceStatus.options[value])
  return type === 'bool' ? String(value !== 0) : numberText(value)
}

/** A sum may be too large for a number. */
function numberText(value: number): string {
  return Number.isFinite(value) ? String(value) : 'null'
}

function aggregateText(value: AggregateValue, type: string): string {
  if (value === null) return 'null'
  if (typeof value === 'number') return numberText(value)
  return isOwnValue(value) ? valueText(value.value, type) : JSON.stringify(value)
}

function isOwnValue(value: object): value is { readonly value: SeriesValue } {
  return 'value' in value
}

function marksText(marks: Points): string {
  return indexes(marks, false)
    .map((index) => `{"time":${marks.times[index]},${(marks.texts.get(index) ?? '{"tag":"error"}').slice(1)}`)
    .join(',')
}
