import { Counter, Gauge, Histogram, Registry, type RegistryContentType } from 'prom-client'
import type { HistogramRow, HistogramSample, MetricRow, NumberRow } from '#figures/row'
import type { MetricSources } from '#figures/sources'
import { metricRows } from '#figures/table'
import type { Metrics, MetricsForm } from '#routes/metrics'

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
    contentTypeOf: (form) => forms[form].registry.contentType,
    async *pieces(form) {
      const { registry, names, end } = forms[form]
      for (const name of names) yield `${await registry.getSingleMetricAsString(name)}\n`
      if (end !== '') yield end
    },
  }
}

interface Form {
  readonly registry: Registry<RegistryContentType>
  /** As the registry calls them. */
  readonly names: readonly string[]
  /** What stands behind all of them. */
  readonly end: string
}

function formOf(form: MetricsForm, sources: MetricSources, rows: readonly MetricRow[]): Form {
  const registry = new Registry<RegistryContentType>()
  const isOpen = form === 'openmetrics'
  if (isOpen) registry.setContentType(Registry.OPENMETRICS_CONTENT_TYPE)
  // There a counter is a family without `_total`, which prom-client puts behind the values again.
  const nameOf = ({ type, name }: MetricRow) => (isOpen && type === 'counter' ? name.replace(/_total$/, '') : name)
  for (const row of rows) {
    if (row.type === 'histogram') registry.registerMetric(new TakenHistogram(row, sources))
    else register(registry, nameOf(row), row, sources)
  }
  return { registry, names: rows.map(nameOf), end: isOpen ? '# EOF\n' : '' }
}

function register(registry: Registry<RegistryContentType>, name: string, row: NumberRow, sources: MetricSources): void {
  const given = { name, help: row.help, labelNames: Object.keys(row.labels ?? {}), registers: [registry] }
  const samplesOf = async () => {
    const read = await row.read(sources)
    return typeof read === 'number' ? [{ labels: {}, value: read }] : read
  }
  if (row.type === 'counter') {
    new Counter({
      ...given,
      async collect() {
        const samples = await samplesOf()
        this.reset()
        for (const { labels, value } of samples) this.inc(labels, value)
      },
    })
    return
  }
  new Gauge({
    ...given,
    async collect() {
      const samples = await samplesOf()
      this.reset()
      for (const { labels, value } of samples) this.set(labels, value)
    },
  })
}

interface HistogramValue {
  readonly metricName: string
  readonly labels: Readonly<Record<string, string | number>>
  readonly sharedLabels: Readonly<Record<string, string>>
  readonly value: number
}

/** One whose buckets were filled elsewhere: prom-client's own can only be told one value at a time. */
class TakenHistogram extends Histogram<string> {
  readonly #row: HistogramRow
  readonly #sources: MetricSources

  constructor(row: HistogramRow, sources: MetricSources) {
    const { name, help, bounds } = row
    super({ name, help, buckets: [...bounds], labelNames: Object.keys(row.labels ?? {}), registers: [] })
    this.#row = row
    this.#sources = sources
  }

  /** What a registry makes its text of. */
  async getForPromString(): Promise<object> {
    const { name, help } = this.#row
    const values = this.#row.read(this.#sources).flatMap((sample) => valuesOf(name, sample))
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
