import type { MetricSources } from '#app/metrics/sources'
import type { Histogram } from '#runtime/histogram'

/** One value of a metric, with the values of its labels. */
export interface Sample {
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
}

/** One histogram, with the values of its labels. */
export interface HistogramSample {
  readonly labels: Readonly<Record<string, string>>
  readonly histogram: Histogram
}

interface MetricBase {
  readonly help: string
  /** All labels of the metric, with a description of their values. */
  readonly labels?: Readonly<Record<string, string>>
}

/**
 * `read` returns a number, or a list of samples if there are labels. An empty list means that no value is known. `read`
 * must neither block the loop nor throw.
 */
interface NumberMetric extends MetricBase {
  readonly bounds?: undefined
  read(sources: MetricSources): number | readonly Sample[] | Promise<number | readonly Sample[]>
}

/** `bounds`: those of the buckets, the same in all samples. */
interface HistogramMetric extends MetricBase {
  readonly bounds: readonly number[]
  read(sources: MetricSources): readonly HistogramSample[]
}

/**
 * The description and the source of each metric, by its name. Names follow the conventions of Prometheus: base units,
 * and `_total` at the end of counters. Metrics that every process has, such as CPU time, have the name that all client
 * libraries use.
 */
export type MetricTable = Readonly<Record<string, NumberMetric | HistogramMetric>>

export function metricTypeOf(name: string, { bounds }: MetricTable[string]): 'histogram' | 'counter' | 'gauge' {
  if (bounds) return 'histogram'
  return name.endsWith('_total') ? 'counter' : 'gauge'
}

/** A sample for each key of `counts`. The key is the value of the label. */
export function samplesBy(label: string, counts: Readonly<Record<string, number>>): readonly Sample[] {
  return Object.entries(counts).map(([name, value]) => ({ labels: { [label]: name }, value }))
}

/** The samples of a histogram without labels. */
export function unlabelled(histogram: Histogram): readonly HistogramSample[] {
  return [{ labels: {}, histogram }]
}
