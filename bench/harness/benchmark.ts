import type { CaseResult } from '#bench/harness/measure'

export type Figures = Readonly<Record<string, number>>

export interface FigureForm {
  readonly title: string
  readonly digits: number
  /** The report contains the ratio of this figure to that of the baseline in the same round. */
  readonly isCompared?: boolean
  /** A rate or a latency. It measures the load instead of the server when the load is the limit. */
  readonly isOfLoad?: boolean
}

/** The name of the figure for the load's CPU, in per cent of a core. Not every benchmark has this figure. */
export const loadFigure = 'loadCpu'
/** From this share on, the load may be the limit, because its thread is hardly ever idle. */
export const loadFullPercent = 90

/** One way to do the same work: the bare loop, our server, our server with other settings. */
export interface Variant {
  readonly name: string
  /** Starts all processes, measures, and cleans up. */
  measure(round: Round): Promise<Figures>
}

export function variantsOf<Item>(
  items: Readonly<Record<string, Item>>,
  measure: (item: Item, round: Round, name: string) => Promise<Figures>,
): readonly Variant[] {
  return Object.entries(items).map(([name, item]) => ({ name, measure: (round) => measure(item, round, name) }))
}

/** Variants that are measured in turn and compared round by round. */
export interface Case {
  readonly name: string
  readonly variants: readonly Variant[]
  /** The name of the variant that the others are compared with. */
  readonly baseline?: string
  /** Maximum number of rounds for a case that takes long. */
  readonly roundsMax?: number
}

/** A bound for a figure, or for its ratio to the baseline. */
export interface Target {
  readonly case: string
  readonly variant: string
  readonly figure: string
  readonly isRatio?: boolean
  readonly atLeast?: number
  readonly atMost?: number
}

export interface Round {
  readonly number: number
  /** Measures for a shorter time, to test the benchmarks themselves: the figures mean nothing. */
  readonly isQuick: boolean
  /**
   * A figure that was measured before: the value of this round, otherwise the median of the other rounds. Throws when
   * there is none.
   */
  earlier(caseName: string, variant: string, figure: string): number
}

/** An appendix of a report: Markdown and files with their names. */
export interface ReportAppendix {
  readonly markdown: string
  readonly files?: Readonly<Record<string, string>>
}

/** A benchmark. The first line of its file describes what it measures and leaves out. */
export interface Benchmark {
  readonly figures: Readonly<Record<string, FigureForm>>
  readonly cases: readonly Case[]
  readonly targets: readonly Target[]
  /** Number of rounds, if they are expensive; default 5. */
  readonly rounds?: number
  /** The part of the report after the figures. */
  appendix?(results: readonly CaseResult[]): ReportAppendix
  /** Called before the first round; resolves with the function that cleans up. */
  setUp?(isQuick: boolean): Promise<() => Promise<void>>
}

/**
 * The load read too slowly, so the server dropped events for its dashboard. Other processes used the machine: the
 * measurement is invalid.
 */
export class SlowLoadError extends Error {
  static readonly text = 'the load read too slowly to receive every event'

  constructor(gaps: number) {
    super(`${SlowLoadError.text}: offsets were left out ${gaps} times`)
  }

  /** True also for an error that came from another process as text. */
  static is(error: unknown): boolean {
    return error instanceof Error && error.message.includes(SlowLoadError.text)
  }
}
