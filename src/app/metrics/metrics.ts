import { Counter, Gauge, Histogram, Registry, type RegistryContentType } from 'prom-client'
import type { HistogramRow, HistogramSample, MetricRow, NumberRow, Sample } from '#app/metrics/row'
import type { MetricSources } from '#app/metrics/sources'
import { metricRows } from '#app/metrics/table'
import type { Metrics, MetricsForm } from '#routes/metrics'

/** The number of samples of a metric that are formatted together, which takes a few tenths of a millisecond. */
const samplesAtOnce = 100
const histogramsAtOnce = 10

/**
 * All metrics as text, in both formats. Only this file uses prom-client. Nothing is counted here: the sources count in
 * plain numbers, which are collected on request.
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
  /** One generator per metric, which returns its text in pieces. */
  readonly metrics: readonly (() => AsyncIterable<string>)[]
  /** The text after all metrics. */
  readonly end: string
}

function formOf(form: MetricsForm, sources: MetricSources, rows: readonly MetricRow[]): Form {
  const registry = new Registry<RegistryContentType>()
  const isOpen = form === 'openmetrics'
  if (isOpen) registry.setContentType(Registry.OPENMETRICS_CONTENT_TYPE)
  const metrics = rows.map((row) => {
    if (row.type === 'histogram') return histogramOf(registry, row, sources)
    // In OpenMetrics a counter's family has no `_total`; prom-client appends it to the values.
    const name = isOpen && row.type === 'counter' ? row.name.replace(/_total$/, '') : row.name
    return numbersOf(registry, name, row, sources)
  })
  return { contentType: registry.contentType, metrics, end: isOpen ? '# EOF\n' : '' }
}

function numbersOf(registry: Registry<RegistryContentType>, name: string, row: NumberRow, sources: MetricSources) {
  const labelNames = Object.keys(row.labels ?? {})
  const options = { name, help: row.help, labelNames, registers: [registry] }
  const metric = row.type === 'counter' ? new Counter(options) : new Gauge(options)
  const setSamples = (samples: readonly Sample[]) => {
    metric.reset()
    // After a reset the value is 0, so `inc` sets it.
    for (const { labels, value } of samples) metric.inc(labels, value)
    // An unknown value is left out, not shown as 0.
    if (samples.length === 0 && labelNames.length === 0) metric.remove()
  }
  return async function* () {
    const read = await row.read(sources)
    if (typeof read !== 'number') yield* pages(registry, name, read, samplesAtOnce, setSamples)
    else yield* pages(registry, name, [{ labels: {}, value: read }], 1, setSamples)
  }
}

function histogramOf(registry: Registry<RegistryContentType>, row: HistogramRow, sources: MetricSources) {
  const metric = new CountedHistogram(row)
  registry.registerMetric(metric)
  const setSamples = (samples: readonly HistogramSample[]) => {
    metric.samples = samples
  }
  return () => pages(registry, row.name, row.read(sources), histogramsAtOnce, setSamples)
}

/** Concurrent requests do not mix: a registry reads a metric before it waits for anything. */
async function* pages<T>(
  registry: Registry<RegistryContentType>,
  name: string,
  samples: readonly T[],
  countMax: number,
  setSamples: (samples: readonly T[]) => void,
): AsyncGenerator<string> {
  for (let from = 0; from === 0 || from < samples.length; from += countMax) {
    setSamples(samples.slice(from, from + countMax))
    const text = `${await registry.getSingleMetricAsString(name)}\n`
    yield from === 0 ? text : text.replace(headPattern, '')
  }
}

/** The HELP and TYPE lines of a metric, which appear once. */
const headPattern = /^(?:# .*\n){2}/

interface HistogramValue {
  readonly metricName: string
  readonly labels: Readonly<Record<string, string | number>>
  readonly sharedLabels: Readonly<Record<string, string>>
  readonly value: number
}

/** A histogram with externally counted buckets: prom-client's own accepts only single values. */
class CountedHistogram extends Histogram<string> {
  samples: readonly HistogramSample[] = []
  readonly #row: HistogramRow

  constructor(row: HistogramRow) {
    const { name, help, bounds } = row
    super({ name, help, buckets: [...bounds], labelNames: Object.keys(row.labels ?? {}), registers: [] })
    this.#row = row
  }

  /** The values that a registry formats. */
  async getForPromString(): Promise<object> {
    const { name, help } = this.#row
    const values = this.samples.flatMap((sample) => valuesOf(name, sample))
    return { name, help, type: 'histogram', values, aggregator: 'sum' }
  }
}

/** The values are cumulative: each bucket includes the buckets before it. */
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
