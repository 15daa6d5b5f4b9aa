import { Counter, Gauge, Histogram, Registry, type RegistryContentType } from 'prom-client'
import type { HistogramRow, HistogramSample, MetricRow, NumberRow, Sample } from '#app/metrics/row'
import type { MetricSources } from '#app/metrics/sources'
import { metricRows } from '#app/metrics/table'
import type { Metrics, MetricsForm } from '#routes/metrics'

/** Of one metric in a piece, so that none takes long: a few tenths of a millisecond. */
const samplesAtOnce = 100
const histogramsAtOnce = 10

/**
 * The table of metrics as text, in both forms there are: the only door to prom-client. Nothing counts here: what is counted
 * elsewhere, in plain numbers, is collected when somebody asks.
 */
export function metricsOf(sources: MetricSources, rows: readonly MetricRow[] = metricRows): Metrics {
  const forms: Readonly<Record<MetricsForm, Form>> = {
    prometheus: formOf('prometheus', sources, rows),
    openmetrics: formOf('openmetrics', sources, rows),
  }
  return {
    contentTypeOf: (form) => forms[form].contentType,
    async *pieces(form) {
      const { metrics, end } = forms[form]
      for (const metric of metrics) yield* metric()
      if (end !== '') yield end
    },
  }
}

interface Form {
  readonly contentType: string
  /** Each gives its text, in pieces. */
  readonly metrics: readonly (() => AsyncIterable<string>)[]
  /** What stands behind all of them. */
  readonly end: string
}

function formOf(form: MetricsForm, sources: MetricSources, rows: readonly MetricRow[]): Form {
  const registry = new Registry<RegistryContentType>()
  const isOpen = form === 'openmetrics'
  if (isOpen) registry.setContentType(Registry.OPENMETRICS_CONTENT_TYPE)
  const metrics = rows.map((row) => {
    if (row.type === 'histogram') return histogramOf(registry, row, sources)
    // There a counter is a family without `_total`, which prom-client puts behind the values again.
    const name = isOpen && row.type === 'counter' ? row.name.replace(/_total$/, '') : row.name
    return numbersOf(registry, name, row, sources)
  })
  return { contentType: registry.contentType, metrics, end: isOpen ? '# EOF\n' : '' }
}

function numbersOf(registry: Registry<RegistryContentType>, name: string, row: NumberRow, sources: MetricSources) {
  const labelNames = Object.keys(row.labels ?? {})
  const given = { name, help: row.help, labelNames, registers: [registry] }
  const metric = row.type === 'counter' ? new Counter(given) : new Gauge(given)
  const take = (samples: readonly Sample[]) => {
    metric.reset()
    // Of a counter that was set back, it sets it.
    for (const { labels, value } of samples) metric.inc(labels, value)
    // What is not known is not 0.
    if (samples.length === 0 && labelNames.length === 0) metric.remove()
  }
  return async function* () {
    const read = await row.read(sources)
    if (typeof read !== 'number') yield* pages(registry, name, read, samplesAtOnce, take)
    else yield* pages(registry, name, [{ labels: {}, value: read }], 1, take)
  }
}

function histogramOf(registry: Registry<RegistryContentType>, row: HistogramRow, sources: MetricSources) {
  const metric = new TakenHistogram(row)
  registry.registerMetric(metric)
  const take = (samples: readonly HistogramSample[]) => {
    metric.samples = samples
  }
  return () => pages(registry, row.name, row.read(sources), histogramsAtOnce, take)
}

/** Who else asks meanwhile takes nothing out of it: a registry looks at a metric before it waits for anything. */
async function* pages<T>(
  registry: Registry<RegistryContentType>,
  name: string,
  samples: readonly T[],
  countMax: number,
  take: (samples: readonly T[]) => void,
): AsyncGenerator<string> {
  for (let from = 0; from === 0 || from < samples.length; from += countMax) {
    take(samples.slice(from, from + countMax))
    const text = `${await registry.getSingleMetricAsString(name)}\n`
    yield from === 0 ? text : text.replace(headPattern, '')
  }
}

/** What a metric is, which is said once. */
const headPattern = /^(?:# .*\n){2}/

interface HistogramValue {
  readonly metricName: string
  readonly labels: Readonly<Record<string, string | number>>
  readonly sharedLabels: Readonly<Record<string, string>>
  readonly value: number
}

/** One whose buckets were filled elsewhere: prom-client's own can only be told one value at a time. */
class TakenHistogram extends Histogram<string> {
  samples: readonly HistogramSample[] = []
  readonly #row: HistogramRow

  constructor(row: HistogramRow) {
    const { name, help, bounds } = row
    super({ name, help, buckets: [...bounds], labelNames: Object.keys(row.labels ?? {}), registers: [] })
    this.#row = row
  }

  /** What a registry makes its text of. */
  async getForPromString(): Promise<object> {
    const { name, help } = this.#row
    const values = this.samples.flatMap((sample) => valuesOf(name, sample))
    return { name, help, type: 'histogram', values, aggregator: 'sum' }
  }
}

/** Cumulative: each bucket holds those before it. */
function valuesOf(name: string, { labels: sharedLabels, histogram }: HistogramSample): readonly HistogramValue[] {
  const { bounds, counts, sum, count } = histogram
  let upTo = 0
  const buckets = bounds.map((le, bucket) => {
    upTo += counts[bucket] ?? 0
    return { metricName: `${name}_bucket`, labels: { le }, sharedLabels, value: upTo }
  })
  return [
    ...buckets,
    { metricName: `${name}_bucket`, labels: { le: '+Inf' }, sharedLabels, value: count },
    { metricName: `${name}_sum`, labels: {}, sharedLabels, value: sum },
    { metricName: `${name}_count`, labels: {}, sharedLabels, value: count },
  ]
}
