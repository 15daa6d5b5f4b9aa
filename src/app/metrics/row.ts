import type { MetricSources } from '#app/metrics/sources'
import type { Histogram } from '#runtime/histogram'

/** One value of a metric, with the values of its labels. */
export interface Sample {
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
}

/** The same of a histogram. */
export interface HistogramSample {
  readonly labels: Readonly<Record<string, string>>
  readonly histogram: Histogram
}

interface RowBase {
  /**
   * By the conventions of Prometheus: base units, `_total` behind what only grows. What is said of any process bears the name
   * that all client libraries give it.
   */
  readonly name: string
  readonly help: string
  /** What a label may be, in words; what is not said here, no metric has. */
  readonly labels?: Readonly<Record<string, string>>
  /** Whose number it is. */
  readonly from: string
}

/** A number where there are no labels. No reading holds the loop, or throws. */
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

/** One metric: what it is called, what it says, and where its number comes from. */
export type MetricRow = NumberRow | HistogramRow

/** A sample for each key, under that label. */
export function by(label: string, counts: Readonly<Record<string, number>>): readonly Sample[] {
  return Object.entries(counts).map(([name, value]) => ({ labels: { [label]: name }, value }))
}

/** Of a histogram without labels. */
export function alone(histogram: Histogram): readonly HistogramSample[] {
  return [{ labels: {}, histogram }]
}
