import { type Spread, spreadOf } from '#bench/harness/statistics'

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
  /** Absent: the upper bound is for every variant. */
  readonly variant?: string
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

type Rounds = readonly (Figures | null)[]
type Spreads = Readonly<Record<string, Spread>>
type RoundsByVariant = Map<string, Rounds>

interface VariantResult {
  readonly name: string
  readonly rounds: Rounds
  readonly figures: Spreads
  /** For each compared figure, the ratio to the baseline. Only rounds in which both variants succeeded count. */
  readonly ratios: Spreads
  /** The load had hardly any idle time, so the figures may show the limit of the load instead of the server's. */
  readonly isLoadFull: boolean
}

export interface CaseResult {
  readonly name: string
  readonly baseline: string | undefined
  readonly variants: readonly VariantResult[]
}

interface Failure {
  readonly what: string
  readonly error: string
}

export interface Measured {
  readonly results: readonly CaseResult[]
  readonly failures: readonly Failure[]
  /** Measurements that were repeated because other processes used the machine; the report lists them. */
  readonly repeats: readonly string[]
}

export interface MeasureOptions {
  readonly rounds: number
  readonly isQuick: boolean
  readonly print: (line: string) => void
}

/** A measurement that other processes disturb is repeated. After this many tries it counts as a failure. */
const triesMax = 3

/**
 * Measures in rounds. A round measures the variants of a case directly after each other, and every second round in
 * reverse order, so that warm-up and disturbances affect all variants alike. A failed measurement is reported and left
 * out; the others, which may take hours, count all the same.
 */
export async function measure(benchmark: Benchmark, options: MeasureOptions): Promise<Measured> {
  const failures: Failure[] = []
  const repeats: string[] = []
  const measured: RoundsByVariant = new Map()
  const attempt = async <Value>(what: string, run: () => Promise<Value>, tries = 1): Promise<Value | undefined> => {
    try {
      return await run()
    } catch (error) {
      if (SlowLoadError.is(error) && tries < triesMax) {
        repeats.push(what)
        options.print(`${what} is measured again: ${SlowLoadError.text}`)
        return attempt(what, run, tries + 1)
      }
      const failure = { what, error: error instanceof Error ? (error.stack ?? error.message) : String(error) }
      failures.push(failure)
      options.print(`${what} failed: ${failure.error}`)
      return undefined
    }
  }
  let takeDown: (() => Promise<void>) | undefined
  await attempt('setting up', async () => {
    takeDown = await benchmark.setUp?.(options.isQuick)
  })
  if (failures.length === 0) {
    for (let number = 0; number < options.rounds; number++) {
      for (const { name, variants, roundsMax = Infinity } of benchmark.cases) {
        if (number >= roundsMax) continue
        for (const variant of number % 2 === 0 ? variants : variants.toReversed()) {
          const key = keyOf(name, variant.name)
          const round = roundOf(number, options.isQuick, measured)
          const what = `round ${number + 1}  ${key}`
          const figures = await attempt(what, () => variant.measure(round))
          measured.set(key, [...(measured.get(key) ?? []), figures ?? null])
          if (figures) options.print(`round ${number + 1}  ${key}  ${lineOf(figures, benchmark)}`)
        }
      }
    }
  }
  await attempt('taking down', async () => takeDown?.())
  return { results: benchmark.cases.map((each) => resultOf(each, measured, benchmark)), failures, repeats }
}

function resultOf({ name, variants, baseline }: Case, measured: RoundsByVariant, benchmark: Benchmark): CaseResult {
  const roundsOf = (variant: string) => measured.get(keyOf(name, variant)) ?? []
  const compared = Object.keys(benchmark.figures).filter((figure) => benchmark.figures[figure]?.isCompared)
  return {
    name,
    baseline,
    variants: variants.map((variant): VariantResult => {
      const rounds = roundsOf(variant.name)
      const figures = spreadsOf(rounds, Object.keys(benchmark.figures))
      const baselines = baseline === undefined || variant.name === baseline ? [] : roundsOf(baseline)
      const ratios = spreadsOf(
        rounds.map((round, number) => ratiosOf(round, baselines[number])),
        compared,
      )
      const isLoadFull = (figures[loadFigure]?.median ?? 0) >= loadFullPercent
      return { name: variant.name, rounds, figures, ratios, isLoadFull }
    }),
  }
}

/** Spreads of the figures that every successful round has. */
function spreadsOf(rounds: Rounds, figures: readonly string[]): Spreads {
  const succeeded = rounds.filter((round) => round !== null)
  const there = figures.flatMap((figure) => {
    const values = succeeded.flatMap((round) => round[figure] ?? [])
    const isThere = values.length > 0 && values.length === succeeded.length
    return isThere ? [[figure, spreadOf(values)] as const] : []
  })
  return Object.fromEntries(there)
}

/** Ratios within the same round, in which a disturbance affects both values; null if one of both failed. */
function ratiosOf(ours: Figures | null, theirs: Figures | null | undefined): Figures | null {
  if (!ours || !theirs) return null
  const there = Object.keys(ours).filter((figure) => theirs[figure] !== undefined)
  return Object.fromEntries(there.map((figure) => [figure, (ours[figure] as number) / (theirs[figure] as number)]))
}

function roundOf(number: number, isQuick: boolean, measured: RoundsByVariant): Round {
  return {
    number,
    isQuick,
    earlier(caseName, variant, figure) {
      const rounds = measured.get(keyOf(caseName, variant)) ?? []
      const ofThisRound = rounds[number]?.[figure]
      if (ofThisRound !== undefined) return ofThisRound
      const values = rounds.flatMap((figures) => figures?.[figure] ?? [])
      if (values.length === 0)
        throw new Error(`the case needs a figure of ${keyOf(caseName, variant)}, which was not measured`)
      return spreadOf(values).median
    },
  }
}

function lineOf(figures: Figures, benchmark: Benchmark): string {
  return Object.entries(benchmark.figures)
    .flatMap(([name, { title, digits }]) =>
      figures[name] === undefined ? [] : `${title} ${figures[name].toFixed(digits)}`,
    )
    .join(' · ')
}

function keyOf(caseName: string, variant: string): string {
  return `${caseName} / ${variant}`
}

export interface Verdict {
  readonly target: Target
  /** The highest of the variants; undefined if nothing was measured. A target with a missing figure is missed. */
  readonly reached: Spread | undefined
  readonly isHeld: boolean
  /** The variants that missed the target. */
  readonly missed: readonly string[]
}

/**
 * A target is held if the median reaches it. `hasFailed`: some measurement failed, so a target without a figure is
 * missed; otherwise such a target throws.
 */
export function judge(
  targets: readonly Target[],
  results: readonly CaseResult[],
  hasFailed = false,
): readonly Verdict[] {
  return targets.map((target) => {
    const { figure, atLeast = -Infinity, atMost = Infinity } = target
    const { variants = [] } = results.find(({ name }) => name === target.case) ?? {}
    const meant = variants.filter(({ name }) => name === (target.variant ?? name))
    const figureOf = ({ ratios, figures }: VariantResult) => (target.isRatio ? ratios : figures)[figure]
    const measured = meant.flatMap((variant) => figureOf(variant) ?? [])
    const isWhole = meant.length > 0 && measured.length === meant.length
    if (!isWhole && !(meant.length > 0 && hasFailed)) {
      const what = target.variant === undefined ? target.case : keyOf(target.case, target.variant)
      throw new Error(`${what} has no ${figure}`)
    }
    const [reached] = measured.sort((one, other) => other.median - one.median)
    const isMissed = (variant: VariantResult) => {
      const { median = Number.NaN } = figureOf(variant) ?? {}
      return !(median >= atLeast && median <= atMost)
    }
    const missed = meant.filter(isMissed).map(({ name }) => name)
    return { target, reached, isHeld: missed.length === 0, missed }
  })
}
