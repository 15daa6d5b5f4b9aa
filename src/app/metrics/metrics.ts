import { type Metric, Registry, type RegistryContentType } from 'prom-client'
import { type HistogramSample, metricTypeOf, type Sample } from '#app/metrics/metric'
import type { MetricSources } from '#app/metrics/sources'
import { allMetrics } from '#app/metrics/table'
import type { Metrics, MetricsForm } from '#routes/metrics'

/** The number of samples of a metric that are formatted together, which takes a few tenths of a millisecond. */
const samplesAtOnce = 100
const histogramsAtOnce = 10

const contentTypes: Readonly<Record<MetricsForm, RegistryContentType>> = {
  prometheus: Registry.PROMETHEUS_CONTENT_TYPE,
  openmetrics: Registry.OPENMETRICS_CONTENT_TYPE,
}

/** The HELP and TYPE lines of a metric, which appear once. */
const headPattern = /^(?:# .*\n){2}/

/**
 * All metrics as text, in both formats. Only this file uses prom-client, which formats them. Nothing is counted here:
 * the sources count in plain numbers, which are collected on request.
 */
export function metricsOf(sources: MetricSources, table = allMetrics): Metrics {
  return {
    contentTypeOf: (form) => contentTypes[form],
    async *pieces(form) {
      for (const [name, metric] of Object.entries(table)) {
        const read = await metric.read(sources)
        const samples = typeof read === 'number' ? [{ labels: {}, value: read }] : read
        const countMax = metric.bounds ? histogramsAtOnce : samplesAtOnce
        for (let from = 0; from === 0 || from < samples.length; from += countMax) {
          const values = samples.slice(from, from + countMax).flatMap((sample) => valuesOf(name, sample))
          const text = await textOf(form, { name, help: metric.help, type: metricTypeOf(name, metric), values })
          yield from === 0 ? text : text.replace(headPattern, '')
        }
      }
      if (form === 'openmetrics') yield '# EOF\n'
    },
  }
}

/** A value as prom-client formats it. */
interface FormattedValue {
  readonly metricName?: string
  readonly labels: Readonly<Record<string, string | number>>
  readonly sharedLabels?: Readonly<Record<string, string>>
  readonly value: number
}

interface MetricContent {
  readonly name: string
  readonly help: string
  readonly type: string
  readonly values: readonly FormattedValue[]
}

async function textOf(form: MetricsForm, content: MetricContent): Promise<string> {
  const registry = new Registry<RegistryContentType>()
  registry.setContentType(contentTypes[form])
  // In OpenMetrics a counter's family has no `_total`; prom-client appends it to the values.
  const name = form === 'openmetrics' ? content.name.replace(/_total$/, '') : content.name
  registry.registerMetric({ name, getForPromString: async () => ({ ...content, name }) } as unknown as Metric)
  return `${await registry.getSingleMetricAsString(name)}\n`
}

/** The values of a histogram are cumulative: each bucket includes the buckets before it. */
function valuesOf(name: string, sample: Sample | HistogramSample): readonly FormattedValue[] {
  if ('value' in sample) return [sample]
  const { labels: sharedLabels, histogram } = sample
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
