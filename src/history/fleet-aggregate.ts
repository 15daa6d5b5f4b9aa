import { type AggregationOptions, aggregateSeries } from '#history/aggregated-series'
import { hasAggregate, isNumeric } from '#history/aggregation'
import { isOwnValue, openJsonObject } from '#history/answer-text'
import { type Buckets, bucketFault, retainedBuckets } from '#history/buckets'
import type { FleetAggregateQuery, HistoryAnswer } from '#history/history-query'
import type { HistoryStore } from '#history/history-store'
import { numberOfValue } from '#history/points'
import type { Series } from '#history/series-table'
import { TextPieces } from '#history/text-pieces'
import type { AcrossName } from '#model/aggregate'

/** The number of devices whose points are in memory together. */
const devicesAtATime = 1_000

/** One aggregate of one property, over many devices. Contract 9. */
export async function answerFleetAggregate(store: HistoryStore, query: FleetAggregateQuery): Promise<HistoryAnswer> {
  const { tenant, from, to, now, aggregate, across } = query
  const tooMany = bucketFault(from, to, query.interval, 1)
  if (tooMany) return { faults: [tooMany] }
  const retained = store.retentions.retainedAt(now, tenant, query)
  const { buckets, interval, mayBeSummed } = retainedBuckets(query, query, retained)
  const options = { buckets, names: [aggregate], now, mayBeSummed, marksMax: 0 }
  const total = new Total(buckets)
  let lacking: string | undefined
  const devices = query.devices.split('\n')
  for (let place = 0; place < devices.length; place += devicesAtATime) {
    const found = devices
      .slice(place, place + devicesAtATime)
      .flatMap((device) => seriesOf(store, query, device) ?? [])
      .filter((series) => {
        const has = hasNumber(series, query)
        if (!has) lacking = series.type
        return has
      })
    await addAll(store, found, options, total)
  }
  if (total.devices === 0 && lacking !== undefined) {
    return { faults: [{ path: 'aggregate', message: `${lacking.toUpperCase()} has no ${aggregate} as a number` }] }
  }
  const shown = total.places
  const text = new TextPieces()
  text.add(openJsonObject({ from: buckets.from, to: buckets.to, interval, aggregate, across, devices: total.devices }))
  text.add(',"time":[')
  text.addList(shown.length, (index) => text.addNumber(buckets.startOf(shown[index] as number)))
  text.add('],"value":[')
  text.addList(shown.length, (index) => text.addNumber(total.valueAt(shown[index] as number, across)))
  text.add(']}')
  return { pieces: text.take() }
}

/** The newest series of the property, which may have had other types before. */
function seriesOf(
  store: HistoryStore,
  { tenant, service, propId }: FleetAggregateQuery,
  device: string,
): Series | undefined {
  let newest: Series | undefined
  for (const series of store.find(tenant, device)?.series() ?? []) {
    if (series.propId === propId && series.service === service && series.id > (newest?.id ?? 0)) newest = series
  }
  return newest
}

function hasNumber(series: Series, { aggregate }: FleetAggregateQuery): boolean {
  return hasAggregate(series, aggregate) && (aggregate === 'count' || series.type === 'bool' || isNumeric(series.type))
}

async function addAll(
  store: HistoryStore,
  list: readonly Series[],
  options: AggregationOptions,
  total: Total,
): Promise<void> {
  const ids = list.flatMap(({ id }) => [id, id + 1]).sort((a, b) => a - b)
  await store.pause()
  const fresh = store.freshOf(ids)
  for (const { id } of list) {
    const { aggregation } = await aggregateSeries(id, options, fresh, store)
    const [column = []] = aggregation.columns
    const numbers =
      column instanceof Float64Array
        ? column
        : Float64Array.from(column, (value) =>
            value !== null && typeof value === 'object' && isOwnValue(value) ? numberOfValue(value.value) : Number.NaN,
          )
    total.add(aggregation.times, numbers)
    aggregation.release()
  }
}

/** The values of all devices, by bucket. */
class Total {
  readonly #buckets: Buckets
  readonly #counts: Uint32Array
  readonly #sums: Float64Array
  readonly #mins: Float64Array
  readonly #maxs: Float64Array
  /** The number of devices that have values. */
  devices = 0

  constructor(buckets: Buckets) {
    this.#buckets = buckets
    this.#counts = new Uint32Array(buckets.count)
    this.#sums = new Float64Array(buckets.count)
    this.#mins = new Float64Array(buckets.count).fill(Number.POSITIVE_INFINITY)
    this.#maxs = new Float64Array(buckets.count).fill(Number.NEGATIVE_INFINITY)
  }

  /** Adds the buckets of one device, in order. */
  add(times: Float64Array, values: Float64Array): void {
    let place = 0
    let isAny = false
    for (let index = 0; index < times.length; index++) {
      const value = values[index] as number
      while (this.#buckets.startOf(place) < (times[index] as number)) place++
      if (Number.isNaN(value)) continue
      isAny = true
      this.#counts[place] = (this.#counts[place] as number) + 1
      this.#sums[place] = (this.#sums[place] as number) + value
      this.#mins[place] = Math.min(this.#mins[place] as number, value)
      this.#maxs[place] = Math.max(this.#maxs[place] as number, value)
    }
    if (isAny) this.devices++
  }

  /** The indexes of the buckets with values. */
  get places(): number[] {
    return [...this.#counts.keys()].filter((place) => (this.#counts[place] as number) > 0)
  }

  valueAt(place: number, across: AcrossName): number {
    const count = this.#counts[place] as number
    const sum = this.#sums[place] as number
    switch (across) {
      case 'count':
        return count
      case 'sum':
        return sum
      case 'avg':
        return sum / count
      case 'min':
        return this.#mins[place] as number
      case 'max':
        return this.#maxs[place] as number
    }
  }
}
