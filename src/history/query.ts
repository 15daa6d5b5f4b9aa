import { aggregateSeries, charactersMax } from '#history/aggregated-series'
import { defaultAggregates, hasAggregate } from '#history/aggregation'
import {
  addAggregates,
  addBucketRows,
  addMark,
  addPointRows,
  addValue,
  headOf,
  isWrittenAsNumber,
  openJsonObject,
} from '#history/answer-text'
import { type Piece, type Pieces, piecesOfDay, pointsBetween, readDay } from '#history/blocks'
import { bucketFault, cellsMax, leastRetained, retainedBuckets } from '#history/buckets'
import { readGaps } from '#history/gaps'
import { dayMs, dayOf } from '#history/history-keys'
import type {
  AskedSeries,
  HistoryAnswer,
  HistoryQuery,
  QueriedBuckets,
  QueriedProperty,
  QueriedService,
  QueryFault,
} from '#history/history-query'
import type { HistoryStore } from '#history/history-store'
import { Points } from '#history/points'
import { type Series, statusKind } from '#history/series-table'
import { TextPieces } from '#history/text-pieces'

const limits = { pointsMax: 100_000, pointsDefault: 10_000, marksMax: 20_000, seriesMax: 100 } as const
/** The limit of cells in one part of an export, whose rows are in memory together. */
const exportCellsMax = 200_000

export async function answerQuery(store: HistoryStore, query: HistoryQuery): Promise<HistoryAnswer> {
  const faults: QueryFault[] = []
  const found = query.services.map((service) => askedSeries(store, query.tenant, service, faults))
  if (query.form === 'service' && found.includes(undefined)) return 'unknown'
  if (faults.length > 0) return { faults }
  const series = found.flatMap((each) => each ?? [])
  if (query.form === 'series' && series.length > limits.seriesMax) {
    const message = `has ${series.length} properties; at most ${limits.seriesMax} are possible`
    return { faults: [{ path: 'series', message }] }
  }
  if (query.buckets) return await aggregated(store, query, query.buckets, series)
  return await raw(store, query, series)
}

/**
 * The series of a service that the query asks for, including former properties with history. Undefined if the
 * service has neither declared properties nor history. Adds a fault for each unknown property.
 */
function askedSeries(
  store: HistoryStore,
  tenant: string,
  { device, service, declared, propIds, path }: QueriedService,
  faults: QueryFault[],
): AskedSeries[] | undefined {
  const stored = [...(store.find(tenant, device)?.series() ?? [])].filter(
    (series) => series.service === service && store.retentions.of(tenant, series).isKept,
  )
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

async function raw(store: HistoryStore, query: HistoryQuery, series: readonly AskedSeries[]): Promise<HistoryAnswer> {
  const { tenant, form, from, to, now, raw: asked = { limit: undefined, isDescending: false } } = query
  const rawFromOf = (each: AskedSeries) => store.retentions.retainedAt(now, tenant, each).rawFrom
  const rawFroms = new Map(series.map((each) => [each.id, rawFromOf(each)]))
  const fromOf = (id: number) => Math.max(from, rawFroms.get(id - (id % 2)) ?? 0)
  const { isDescending } = asked
  const most = Math.min(limits.pointsMax, Math.floor(cellsMax / Math.max(1, series.length)))
  const isExport = form === 'csv' || form === 'ndjson'
  const exported = Math.ceil(exportCellsMax / Math.max(1, series.length))
  const limit = asked.limit ?? Math.min(isExport ? exported : limits.pointsDefault, most)
  if (limit > most) {
    return { faults: [{ path: 'limit', message: `must be at most ${most} for ${series.length} properties` }] }
  }
  const range = {
    from: Math.max(from, Math.min(...rawFroms.values())),
    to: Math.min(to, now + dayMs),
    limit,
    charactersMax: Math.floor(charactersMax / Math.max(1, series.length)),
    isDescending,
  }
  const page = await readPage(store, store.freshOf(idsOf(series)), range, fromOf)
  const { cut } = page
  const next = cut === undefined ? {} : { next: isDescending ? { from, to: cut } : { from: cut, to } }
  const text = new TextPieces()
  if (isExport) {
    for (const each of series) addPointRows(text, form, each, pointsIn(page, each.id))
    return { pieces: text.take(), ...next }
  }
  text.add(openJsonObject({ from, to }))
  if (form === 'status') addStatus(text, pointsIn(page, series[0]?.id), isDescending)
  else {
    text.add(`,"gaps":${JSON.stringify(await readGaps(store.storage, tenant, { from, to }))},"series":[`)
    for (const [place, each] of series.entries()) {
      if (place > 0) text.add(',')
      text.add(`${headOf(each, form === 'series')},"retainedFrom":${rawFromOf(each)},`)
      addColumns(text, 'value', pointsIn(page, each.id), each.type, isDescending)
      const marks = pointsIn(page, each.id === undefined ? undefined : each.id + 1)
      text.add(',"marks":[')
      text.addList(marks.count, (index) => addMark(text, marks, index))
      text.add(']}')
    }
    text.add(form === 'series' && next.next ? `],"next":${JSON.stringify(next.next)}` : ']')
  }
  text.add('}')
  return { pieces: text.take(), ...next }
}

function pointsIn({ points }: RawPage, id: number | undefined): Points {
  return (id === undefined ? undefined : points.get(id)) ?? new Points(1)
}

function addStatus(text: TextPieces, points: Points, isDescending: boolean): void {
  text.add(',')
  addColumns(text, 'status', points, statusKind.type, isDescending)
}

function addColumns(text: TextPieces, name: string, points: Points, type: string, isDescending: boolean): void {
  const inOrder = (numbers: Float64Array) => {
    const present = numbers.subarray(0, points.count)
    return isDescending ? present.toReversed() : present
  }
  text.add('"time":[')
  text.addNumbers(inOrder(points.times))
  text.add(`],"${name}":[`)
  if (points.texts.size === 0 && isWrittenAsNumber(type)) text.addNumbers(inOrder(points.values))
  else {
    const at = (index: number) => (isDescending ? points.count - 1 - index : index)
    text.addList(points.count, (index) => addValue(text, points.valueAt(at(index)), type))
  }
  text.add(']')
}

async function aggregated(
  store: HistoryStore,
  query: HistoryQuery,
  asked: QueriedBuckets,
  series: readonly AskedSeries[],
  partCells = exportCellsMax,
): Promise<HistoryAnswer> {
  const { tenant, form, from, to, now } = query
  const isExport = form === 'csv' || form === 'ndjson'
  const partMs = asked.interval * Math.ceil(partCells / Math.max(1, series.length))
  const end = isExport ? Math.min(to, (Math.floor(from / asked.interval) + 1) * asked.interval + partMs) : to
  const tooMany = isExport ? undefined : bucketFault(from, to, asked.interval, series.length)
  if (tooMany) return { faults: [tooMany] }
  const faults: QueryFault[] = []
  const chosen = series.flatMap((each) => {
    const names = asked.aggregates ?? defaultAggregates(each.type)
    const lacking = names.find((name) => !hasAggregate(each, name))
    if (lacking === undefined) return [{ each, names }]
    if (each.isNamed && !isExport)
      faults.push({ path: 'aggregates', message: `${each.type.toUpperCase()} has no ${lacking}` })
    return []
  })
  const kept = chosen.flatMap(({ each }) => (store.retentions.of(tenant, each).isKept ? [each] : []))
  const retained = leastRetained(kept.map((each) => store.retentions.retainedAt(now, tenant, each)))
  const { buckets, interval, zone, mayBeSummed } = retainedBuckets({ from, to: end }, asked, retained, asked.since)
  const next = buckets.to < to ? { next: { from: buckets.to, to } } : {}
  if (asked.aggregates?.includes('duration') && buckets.from < retained.rawFrom) {
    faults.push({ path: 'from', message: `duration is known from ${retained.rawFrom} on` })
  }
  if (faults.length > 0) return { faults }
  const text = new TextPieces()
  const gaps = await readGaps(store.storage, tenant, buckets)
  if (!isExport)
    text.add(`${openJsonObject({ from: buckets.from, to: buckets.to, interval, tz: zone, gaps })},"series":[`)
  const marksMax = Math.ceil(limits.marksMax / Math.max(1, chosen.length))
  let characters = 0
  const fresh = store.freshOf(idsOf(series))
  for (const [place, { each, names }] of chosen.entries()) {
    const options = { buckets, names, now, mayBeSummed, marksMax }
    const { aggregation, marks } = await aggregateSeries(each.id, options, fresh, store)
    characters += aggregation.characters
    if (characters > charactersMax) {
      if (isExport && partCells > 1) return await aggregated(store, query, asked, series, Math.ceil(partCells / 16))
      const message = `gives more than ${charactersMax} characters of text: ask for fewer buckets or properties`
      return { faults: [{ path: 'interval', message }] }
    }
    if (isExport) {
      addBucketRows(text, form, each, names, aggregation)
      aggregation.release()
      continue
    }
    text.add(`${place > 0 ? ',' : ''}${headOf(each, form === 'series')},"time":[`)
    addAggregates(text, aggregation.times, each.type)
    for (const [column, name] of names.entries()) {
      text.add(`],"${name}":[`)
      addAggregates(text, aggregation.columns[column] ?? [], each.type)
    }
    aggregation.release()
    text.add('],"marks":[')
    text.addList(marks.count, (index) => addMark(text, marks, index))
    text.add(']}')
  }
  if (!isExport) text.add(']}')
  return { pieces: text.take(), ...next }
}

interface PageRange {
  readonly from: number
  readonly to: number
  /** The limit of points of each series. */
  readonly limit: number
  /** The limit of characters in the texts of each series. One point may have more. */
  readonly charactersMax: number
  readonly isDescending: boolean
}

interface RawPage {
  readonly points: ReadonlyMap<number, Points>
  /** Where the next page begins; in descending order, where it ends. */
  readonly cut: number | undefined
}

/**
 * The first points of some series and their marks. Days are read until one series has enough points. `fromOf` returns
 * the start of the span of one series.
 */
export async function readPage(
  { storage, pause }: Pick<HistoryStore, 'storage' | 'pause'>,
  fresh: Pieces,
  range: PageRange,
  fromOf: (id: number) => number,
): Promise<RawPage> {
  const { from, to, isDescending } = range
  const found = new Map([...fresh.keys()].map((id) => [id, new FirstPoints({ ...range, from: fromOf(id) })]))
  const count = from < to ? dayOf(to - 1) - dayOf(from) + 1 : 0
  const days = Array.from({ length: count }, (_, place) => dayOf(from) + place)
  for (const day of isDescending ? days.reverse() : days) {
    for (const [id, first] of found) {
      const isOfMarks = id % 2 === 1
      const { blocks = [], markBlocks = [] } = readDay(storage, isOfMarks ? id - 1 : id, day) ?? {}
      const sequences = isOfMarks ? markBlocks : blocks
      for (const piece of piecesOfDay(storage, id, day, sequences, fresh.get(id) ?? [])) first.add(piece, day)
      first.shorten()
    }
    await pause()
    const cuts = [...found.values()].flatMap(({ cut }) => (cut === undefined ? [] : [cut]))
    if (cuts.length === 0) continue
    const cut = isDescending ? Math.max(...cuts) : Math.min(...cuts)
    const kept = isDescending ? ([cut, to] as const) : ([from, cut] as const)
    return { points: new Map([...found].map(([id, { points }]) => [id, pointsBetween(points, ...kept)])), cut }
  }
  return { points: new Map([...found].map(([id, { points }]) => [id, points])), cut: undefined }
}

/** The points of one series that come first, in a limited amount of memory. */
class FirstPoints {
  readonly #range: PageRange
  #from: number
  #to: number
  points = new Points(1)
  #characters = 0
  /** Points from this time on were left out; in descending order, points before it. */
  cut: number | undefined

  constructor(range: PageRange) {
    this.#range = range
    this.#from = range.from
    this.#to = range.to
  }

  /** Adds points of a day, which replace points that were added before. */
  add({ points }: Piece, day: number): void {
    const [from, to] = [Math.max(this.#from, day * dayMs), Math.min(this.#to, (day + 1) * dayMs)]
    if (from >= to) return
    const part = pointsBetween(points, from, to)
    this.points.append(part)
    for (const text of part.texts.values()) this.#characters += text.length
    const { limit, charactersMax } = this.#range
    if (this.points.count > 2 * limit || this.#characters > 2 * charactersMax) this.shorten()
  }

  shorten(): void {
    const { limit, charactersMax, isDescending } = this.#range
    this.points.settle()
    const { points } = this
    const { count } = points
    let kept = 0
    this.#characters = 0
    for (; kept < Math.min(limit, count); kept++) {
      const length = points.texts.get(isDescending ? count - 1 - kept : kept)?.length ?? 0
      if (kept > 0 && this.#characters + length > charactersMax) break
      this.#characters += length
    }
    if (kept === count) return
    if (isDescending) this.#from = (points.times[count - 1 - kept] as number) + 1
    else this.#to = points.times[kept] as number
    this.cut = isDescending ? this.#from : this.#to
    this.points = pointsBetween(points, this.#from, this.#to)
  }
}
