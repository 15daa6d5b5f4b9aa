import {
  type Case,
  type Figures,
  loadFigure,
  loadFullPercent,
  type Question,
  type Round,
} from '#bench/harness/question'
import { pairedRatios, type Spread, spreadOf } from '#bench/harness/statistics'

export interface VariantResult {
  readonly name: string
  /** By round; null where it failed. */
  readonly rounds: readonly (Figures | null)[]
  readonly figures: Readonly<Record<string, Spread>>
  /** To the baseline, of the figures that are compared; of rounds in which neither failed. */
  readonly ratios: Readonly<Record<string, Spread>>
  /** The load had hardly a moment to spare: what it could do is what was measured, unless that is the server's CPU. */
  readonly isLoadFull: boolean
}

export interface CaseResult {
  readonly name: string
  readonly baseline: string | undefined
  readonly variants: readonly VariantResult[]
}

/** What could not be measured, and why. */
export interface Failure {
  readonly what: string
  readonly error: string
}

export interface Measured {
  readonly results: readonly CaseResult[]
  readonly failures: readonly Failure[]
}

export interface MeasureOptions {
  readonly rounds: number
  readonly isQuick: boolean
  readonly print: (line: string) => void
}

/**
 * Round after round, every variant of a case right behind the other, in an order that turns round each time: what warms
 * up, slows down or disturbs the machine falls on all of them alike. What fails is named, and costs nothing but itself:
 * the rest may have taken hours.
 */
export async function measure(question: Question, options: MeasureOptions): Promise<Measured> {
  const failures: Failure[] = []
  const measured: Taken = new Map()
  const attempt = async <Value>(what: string, run: () => Promise<Value>): Promise<Value | undefined> => {
    try {
      return await run()
    } catch (error) {
      const failure = { what, error: error instanceof Error ? (error.stack ?? error.message) : String(error) }
      failures.push(failure)
      options.print(`${what} failed: ${failure.error}`)
      return undefined
    }
  }
  let takeDown: (() => Promise<void>) | undefined
  await attempt('setting up', async () => {
    takeDown = await question.setUp?.(options.isQuick)
  })
  if (failures.length === 0) {
    for (let number = 0; number < options.rounds; number++) {
      for (const { name, variants, roundsMax = Infinity } of question.cases) {
        if (number >= roundsMax) continue
        for (const variant of number % 2 === 0 ? variants : variants.toReversed()) {
          const key = keyOf(name, variant.name)
          const round = roundOf(number, options.isQuick, measured)
          const figures = await attempt(`round ${number + 1}  ${key}`, () => variant.measure(round))
          measured.set(key, [...(measured.get(key) ?? []), figures ?? null])
          if (figures) options.print(`round ${number + 1}  ${key}  ${lineOf(figures, question)}`)
        }
      }
    }
  }
  await attempt('taking down', async () => takeDown?.())
  return { results: question.cases.map((each) => resultOf(each, measured, question)), failures }
}

/** By case and variant, then by round. */
type Taken = Map<string, (Figures | null)[]>

function resultOf({ name, variants, baseline }: Case, measured: Taken, question: Question): CaseResult {
  const roundsOf = (variant: string) => measured.get(keyOf(name, variant)) ?? []
  const resultOfVariant = (variant: string): VariantResult => {
    const rounds = roundsOf(variant)
    const succeeded = rounds.filter((figures) => figures !== null)
    const figures: Record<string, Spread> = {}
    const ratios: Record<string, Spread> = {}
    if (succeeded.length > 0) {
      for (const figure of Object.keys(question.figures)) {
        const values = succeeded.map((each) => each[figure])
        if (values.every((value) => value !== undefined)) figures[figure] = spreadOf(values)
      }
    }
    if (baseline !== undefined && variant !== baseline) {
      const baselines = roundsOf(baseline)
      for (const figure of Object.keys(figures)) {
        if (!question.figures[figure]?.isCompared) continue
        const pairs = rounds.flatMap((each, round) =>
          each && baselines[round] ? [[each, baselines[round]] as const] : [],
        )
        const there = pairs.map(([ours, theirs]) => [ours[figure], theirs[figure]] as const)
        if (there.length === 0 || there.some(([, theirs]) => theirs === undefined)) continue
        ratios[figure] = pairedRatios(
          there.map(([ours]) => ours as number),
          there.map(([, theirs]) => theirs as number),
        )
      }
    }
    return { name: variant, rounds, figures, ratios, isLoadFull: (figures[loadFigure]?.median ?? 0) >= loadFullPercent }
  }
  return { name, baseline, variants: variants.map((variant) => resultOfVariant(variant.name)) }
}

function roundOf(number: number, isQuick: boolean, measured: Taken): Round {
  return {
    number,
    isQuick,
    earlier(caseName, variant, figure) {
      const rounds = measured.get(keyOf(caseName, variant)) ?? []
      const ofThisRound = rounds[number]?.[figure]
      if (ofThisRound !== undefined) return ofThisRound
      const values = rounds.flatMap((figures) => figures?.[figure] ?? [])
      if (values.length === 0) throw new Error(`it rests on ${keyOf(caseName, variant)}, which was not measured`)
      return spreadOf(values).median
    },
  }
}

function lineOf(figures: Figures, question: Question): string {
  return Object.entries(figures)
    .map(([name, value]) => `${question.figures[name]?.title ?? name} ${value.toFixed(question.figures[name]?.digits)}`)
    .join(' · ')
}

function keyOf(caseName: string, variant: string): string {
  return `${caseName} / ${variant}`
}
