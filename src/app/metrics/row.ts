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

interface RowBase {
  /**
   * By the conventions of Prometheus: base units, `_total` at the end of counters. For metrics that every process has,
   * such as CPU time, the name that all client libraries use.
   */
  readonly name: string
  readonly help: string
  /** All labels of the metric, with a description of their values. */
  readonly labels?: Readonly<Record<string, string>>
}

/**
 * `read` returns a number, or a list of samples if there are labels. An empty list means that no value is known. `read`
 * must neither block the loop nor throw.
 */
export interface NumberRow extends RowBase {
  readonly type: 'counter' | 'gauge'
  read(sources: MetricSources): number | readonly Sample[] | Promise<number | readonly Sample[]>
}

/** The buckets are the same in all samples. */
export interface HistogramRow extends RowBase {
  readonly type: 'histogram'
  readonly bounds: readonly number[]
  read(sources: MetricSources): readonly HistogramSample[]
}

/** One metric: its name, its description, and the source of its value. */
export type MetricRow = NumberRow | HistogramRow

/** A sample for each key of `counts`. The key is the value of the label. */
export function samplesBy(label: string, counts: Readonly<Record<string, number>>): readonly Sample[] {
  return Object.entries(counts).map(([name, value]) => ({ labels: { [label]: name }, value }))
}

/** The samples of a histogram without labels. */
export function unlabelled(histogram: Histogram): readonly HistogramSample[] {
  return [{ labels: {}, histogram }]
}
