import {
  type Case,
  type Figures,
  loadFigure,
  loadFullPercent,
  type Question,
  type Round,
} from '#bench/harness/question'
import { ReadTooSlowly } from '#bench/harness/read-too-slowly'
import { pairedRatios, type Spread, spreadOf } from '#bench/harness/statistics'

/** By round; null where it failed. */
type Rounds = readonly (Figures | null)[]
/** By figure. */
type Spreads = Readonly<Record<string, Spread>>
/** By case and variant. */
type Taken = Map<string, Rounds>

interface VariantResult {
  readonly name: string
  readonly rounds: Rounds
  readonly figures: Spreads
  /** To the baseline, of the figures that are compared; of rounds in which neither failed. */
  readonly ratios: Spreads
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
  /** What was measured again because something else had the machine; a report says so. */
  readonly repeats: readonly string[]
}

export interface MeasureOptions {
  readonly rounds: number
  readonly isQuick: boolean
  readonly print: (line: string) => void
}

/** Times that a variant is measured before a disturbed load counts as a failure. */
const triesMax = 3

/**
 * Round after round, every variant of a case right behind the other, in an order that turns round each time: what warms
 * up, slows down or disturbs the machine falls on all of them alike. What fails is named, and costs nothing but itself:
 * the rest may have taken hours.
 */
export async function measure(question: Question, options: MeasureOptions): Promise<Measured> {
  const failures: Failure[] = []
  const repeats: string[] = []
  const measured: Taken = new Map()
  const undisturbed = async (what: string, run: () => Promise<Figures>): Promise<Figures> => {
    for (let tries = 1; ; tries++) {
      try {
        return await run()
      } catch (error) {
        if (tries === triesMax || !ReadTooSlowly.is(error)) throw error
        repeats.push(what)
        options.print(`${what} is measured again: ${ReadTooSlowly.text}`)
      }
    }
  }
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
          const what = `round ${number + 1}  ${key}`
          const figures = await attempt(what, () => undisturbed(what, () => variant.measure(round)))
          measured.set(key, [...(measured.get(key) ?? []), figures ?? null])
          if (figures) options.print(`round ${number + 1}  ${key}  ${lineOf(figures, question)}`)
        }
      }
    }
  }
  await attempt('taking down', async () => takeDown?.())
  return { results: question.cases.map((each) => resultOf(each, measured, question)), failures, repeats }
}

function resultOf({ name, variants, baseline }: Case, measured: Taken, question: Question): CaseResult {
  const roundsOf = (variant: string) => measured.get(keyOf(name, variant)) ?? []
  const compared = Object.keys(question.figures).filter((figure) => question.figures[figure]?.isCompared)
  return {
    name,
    baseline,
    variants: variants.map((variant): VariantResult => {
      const rounds = roundsOf(variant.name)
      const figures = spreadsOf(rounds, question)
      const isCompared = baseline !== undefined && variant.name !== baseline
      const ratios = isCompared ? ratiosOf(rounds, roundsOf(baseline), compared) : {}
      const isLoadFull = (figures[loadFigure]?.median ?? 0) >= loadFullPercent
      return { name: variant.name, rounds, figures, ratios, isLoadFull }
    }),
  }
}

/** Of the figures that every round has which did not fail. */
function spreadsOf(rounds: Rounds, question: Question): Spreads {
  const succeeded = rounds.filter((figures) => figures !== null)
  const there = Object.keys(question.figures).flatMap((figure) => {
    const values = succeeded.flatMap((figures) => figures[figure] ?? [])
    const isThere = values.length > 0 && values.length === succeeded.length
    return isThere ? [[figure, spreadOf(values)] as const] : []
  })
  return Object.fromEntries(there)
}

/** Of the rounds in which neither failed. */
export function ratiosOf(rounds: Rounds, baselines: Rounds, compared: readonly string[]): Spreads {
  const pairs = rounds.flatMap((ours, round) => {
    const theirs = baselines[round]
    return ours && theirs ? [{ ours, theirs }] : []
  })
  const there = compared.flatMap((figure) => {
    const values = pairs.flatMap(({ ours }) => ours[figure] ?? [])
    const baselineValues = pairs.flatMap(({ theirs }) => theirs[figure] ?? [])
    const isThere = pairs.length > 0 && values.length === pairs.length && baselineValues.length === pairs.length
    return isThere ? [[figure, pairedRatios(values, baselineValues)] as const] : []
  })
  return Object.fromEntries(there)
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
  return Object.entries(question.figures)
    .flatMap(([name, { title, digits }]) =>
      figures[name] === undefined ? [] : `${title} ${figures[name].toFixed(digits)}`,
    )
    .join(' · ')
}

function keyOf(caseName: string, variant: string): string {
  return `${caseName} / ${variant}`
}
