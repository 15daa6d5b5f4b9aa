import { Aggregation } from '#history/aggregation'
import { aggregateText, headOf, markText, opened, TextPieces, valueAt, valueText } from '#history/answer-text'
import type { Pieces } from '#history/blocks'
import { type Buckets, bucketsOf } from '#history/buckets'
import { dayMs, hourMs } from '#history/history-keys'
import type {
  AskedSeries,
  HistoryAnswer,
  HistoryQuery,
  QueriedBuckets,
  QueriedProperty,
  QueriedService,
  QueryFault,
  Retained,
} from '#history/history-query'
import type { HistoryStore } from '#history/history-store'
import { Points } from '#history/points'
import { readPage } from '#history/raw-page'
import { feed } from '#history/series-feed'
import type { Series } from '#history/series-table'
import type { AggregateName } from '#model/aggregate'
import type { Storage } from '#runtime/storage'

const limits = {
  bucketsMax: 100_000,
  cellsMax: 1_000_000,
  pointsMax: 100_000,
  pointsDefault: 10_000,
  /** Of texts in one answer, for memory. */
  charactersMax: 8 * 1024 * 1024,
  marksMax: 20_000,
} as const
const seriesMax = 100

const numericTypes: ReadonlySet<string> = new Set([
  ...['uint8', 'uint16', 'uint32', 'uint64', 'int8', 'int16', 'int32', 'int64', 'float', 'float64'],
])
const aggregatesOfAll: readonly AggregateName[] = ['first', 'last', 'count']
const defaultOfNumbers: readonly AggregateName[] = ['min', 'avg', 'max']
const defaultOfOthers: readonly AggregateName[] = ['last']

export async function answerQuery(
  store: HistoryStore,
  query: HistoryQuery,
  retained: Retained,
): Promise<HistoryAnswer> {
  const faults: QueryFault[] = []
  const found = query.services.map((service) => askedSeries(store, query.tenant, service, faults))
  if (query.form === 'service' && found.includes(undefined)) return 'unknown'
  if (faults.length > 0) return { faults }
  const series = found.flatMap((each) => each ?? [])
  if (query.form === 'series' && series.length > seriesMax) {
    const message = `has ${series.length} properties; at most ${seriesMax} are possible`
    return { faults: [{ path: 'series', message }] }
  }
  if (query.buckets) return await aggregated(store, query, query.buckets, series, retained)
  return await raw(store, query, series, retained)
}

/** The series of declared properties, and all others with history. Undefined if there are neither. */
function askedSeries(
  store: HistoryStore,
  tenant: string,
  { device, service, declared, propIds, path }: QueriedService,
  faults: QueryFault[],
): AskedSeries[] | undefined {
  const stored = [...(store.find(tenant, device)?.series() ?? [])].filter((series) => series.service === service)
  if (stored.length === 0 && declared.length === 0) return undefined
  const idOf = ({ propId, type }: QueriedProperty) =>
    stored.find((series) => series.propId === propId && series.type === type)?.id
  const former = stored.filter(
    ({ propId, type }) => !declared.some((each) => each.propId === propId && each.type === type),
  )
  const named = (series: Series) => {
    const { name, unit } = declared.find(({ propId }) => propId === series.propId) ?? {}
    return { ...series, ...(name !== undefined && { name }), ...(unit !== undefined && { unit }) }
  }
  const all = [...declared.map((property) => ({ ...property, id: idOf(property) })), ...former.map(named)]
  for (const propId of propIds ?? []) {
    if (!all.some((each) => each.propId === propId))
      faults.push({ path, message: `the service has no property ${propId}` })
  }
  return all
    .filter(({ propId }) => propIds?.includes(propId) ?? true)
    .sort((a, b) => a.propId - b.propId)
    .map((each) => ({ ...each, device, service, isNamed: propIds !== undefined }))
}

function idsOf(series: readonly AskedSeries[]): number[] {
  return series.flatMap(({ id }) => (id === undefined ? [] : [id, id + 1])).sort((a, b) => a - b)
}

async function raw(
  store: HistoryStore,
  { tenant, form, from, to, now, raw: asked = { limit: undefined, isDescending: false } }: HistoryQuery,
  series: readonly AskedSeries[],
  { rawFrom }: Retained,
): Promise<HistoryAnswer> {
  const { isDescending } = asked
  const most = Math.min(limits.pointsMax, Math.floor(limits.cellsMax / Math.max(1, series.length)))
  const limit = asked.limit ?? Math.min(limits.pointsDefault, most)
  if (limit > most) {
    return { faults: [{ path: 'limit', message: `must be at most ${most} for ${series.length} properties` }] }
  }
  const range = {
    from: Math.max(from, rawFrom),
    to: Math.min(to, now + dayMs),
    limit,
    charactersMax: Math.floor(limits.charactersMax / Math.max(1, series.length)),
    isDescending,
  }
  const page = await store.reading(idsOf(series), (fresh, storage) => readPage(storage, fresh, range))
  const { cut } = page
  const next = cut === undefined ? {} : { next: isDescending ? { from, to: cut } : { from: cut, to } }
  const text = new TextPieces()
  text.add(opened({ from, to }))
  if (form !== 'status') text.add(`,"gaps":${JSON.stringify(await store.gapsOf(tenant, from, to))},"series":[`)
  for (const [place, each] of series.entries()) {
    const points = (each.id === undefined ? undefined : page.points.get(each.id)) ?? new Points(1)
    const marks = (each.id === undefined ? undefined : page.points.get(each.id + 1)) ?? new Points(1)
    const at = (index: number) => (isDescending ? points.count - 1 - index : index)
    if (form === 'status') text.add(',"time":[')
    else text.add(`${place > 0 ? ',' : ''}${headOf(each, form === 'series')},"retainedFrom":${rawFrom},"time":[`)
    text.addList(points.count, (index) => points.times[at(index)] as number)
    text.add(form === 'status' ? '],"status":[' : '],"value":[')
    text.addList(points.count, (index) => valueText(valueAt(points, at(index)), each.type))
    if (form === 'status') continue
    text.add('],"marks":[')
    text.addList(marks.count, (index) => markText(marks, index))
    text.add(']}')
  }
  if (form !== 'status') text.add(']}')
  else text.add(series.length > 0 ? ']}' : ',"time":[],"status":[]}')
  return { pieces: text.take(), ...next }
}

/** What is wrong with so many buckets, counted as they were asked, and not as they are raised to what is retained. */
function bucketFault(from: number, to: number, interval: number, series: number): QueryFault | undefined {
  const count = Math.ceil(to / interval) - Math.floor(from / interval)
  if (count <= limits.bucketsMax && count * series <= limits.cellsMax) return undefined
  const message = `gives ${count} buckets for ${series} properties; at most ${limits.bucketsMax} each, and ${limits.cellsMax} in all, are possible`
  return { path: 'interval', message }
}

/** The buckets, raised to what is retained. */
function retainedBuckets(
  { from, to }: { readonly from: number; readonly to: number },
  asked: { readonly interval: number; readonly zone: string },
  { rawFrom, hoursFrom }: Retained,
): { readonly buckets: Buckets; readonly interval: number; readonly zone: string; readonly mayBeSummed: boolean } {
  const step = from < hoursFrom ? dayMs : from < rawFrom ? hourMs : 1
  const interval = Math.ceil(asked.interval / step) * step
  const zone = step === dayMs ? 'UTC' : asked.zone
  const buckets = bucketsOf(from, to, interval, zone)
  return { buckets, interval, zone, mayBeSummed: buckets.areOfHours || step > 1 }
}

async function aggregated(
  store: HistoryStore,
  { tenant, form, from, to, now }: HistoryQuery,
  asked: QueriedBuckets,
  series: readonly AskedSeries[],
  retained: Retained,
): Promise<HistoryAnswer> {
  const tooMany = bucketFault(from, to, asked.interval, series.length)
  if (tooMany) return { faults: [tooMany] }
  const { buckets, interval, zone, mayBeSummed } = retainedBuckets({ from, to }, asked, retained)
  const faults: QueryFault[] = []
  const chosen = series.flatMap((each) => {
    const names = asked.aggregates ?? (numericTypes.has(each.type) ? defaultOfNumbers : defaultOfOthers)
    const lacking = names.find((name) => !hasAggregate(each, name))
    if (lacking === undefined) return [{ each, names }]
    if (each.isNamed) faults.push({ path: 'aggregates', message: `${each.type.toUpperCase()} has no ${lacking}` })
    return []
  })
  if (asked.aggregates?.includes('duration') && buckets.from < retained.rawFrom) {
    faults.push({ path: 'from', message: `duration is known from ${retained.rawFrom} on` })
  }
  if (faults.length > 0) return { faults }
  const text = new TextPieces()
  const gaps = await store.gapsOf(tenant, buckets.from, buckets.to)
  text.add(`${opened({ from: buckets.from, to: buckets.to, interval, tz: zone, gaps })},"series":[`)
  const marksMax = Math.ceil(limits.marksMax / Math.max(1, chosen.length))
  let characters = 0
  const isWhole = await store.reading(idsOf(series), async (fresh, storage) => {
    for (const [place, { each, names }] of chosen.entries()) {
      const options = { buckets, names, now, mayBeSummed, marksMax }
      const { aggregation, marks } = await aggregateSeries(each.id, options, fresh, storage)
      characters += aggregation.characters
      if (characters > limits.charactersMax) return false
      text.add(`${place > 0 ? ',' : ''}${headOf(each, form === 'series')},"time":[`)
      text.addList(aggregation.times.length, (index) => aggregation.times[index] as number)
      for (const [column, name] of names.entries()) {
        const values = aggregation.columns[column] ?? []
        text.add(`],"${name}":[`)
        text.addList(values.length, (index) => aggregateText(values[index] ?? null, each.type))
      }
      text.add('],"marks":[')
      text.addList(marks.count, (index) => markText(marks, index))
      text.add(']}')
    }
    return true
  })
  if (!isWhole) {
    const message = `gives more than ${limits.charactersMax} characters of texts: ask for fewer buckets or properties`
    return { faults: [{ path: 'interval', message }] }
  }
  text.add(']}')
  return { pieces: text.take() }
}

interface AggregationOptions {
  readonly buckets: Buckets
  readonly names: readonly AggregateName[]
  readonly now: number
  readonly mayBeSummed: boolean
  readonly marksMax: number
}

/** `id` is undefined if the series has no history yet. */
async function aggregateSeries(
  id: number | undefined,
  { buckets, names, now, mayBeSummed, marksMax }: AggregationOptions,
  fresh: Pieces,
  storage: Storage,
): Promise<{ readonly aggregation: Aggregation; readonly marks: Points }> {
  const aggregation = new Aggregation(buckets, names, now, limits.charactersMax)
  if (id === undefined) return { aggregation, marks: new Points(1) }
  const marks = await feed(aggregation, {
    storage,
    series: id,
    values: fresh.get(id) ?? [],
    marks: fresh.get(id + 1) ?? [],
    buckets,
    mayBeSummed: mayBeSummed && !names.includes('duration'),
    marksMax,
  })
  aggregation.end()
  return { aggregation, marks }
}

function hasAggregate({ type, isEnum }: QueriedProperty, name: AggregateName): boolean {
  if (aggregatesOfAll.includes(name)) return true
  return name === 'duration' ? type === 'bool' || isEnum === true : numericTypes.has(type)
}
