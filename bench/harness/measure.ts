import type { Case, Figures, Question, Round } from '#bench/harness/question'
import { pairedRatios, type Spread, spreadOf } from '#bench/harness/statistics'

export interface VariantResult {
  readonly name: string
  /** By round. */
  readonly rounds: readonly Figures[]
  readonly figures: Readonly<Record<string, Spread>>
  /** To the baseline, of the figures that are compared. */
  readonly ratios: Readonly<Record<string, Spread>>
}

export interface CaseResult {
  readonly name: string
  readonly baseline: string | undefined
  readonly variants: readonly VariantResult[]
}

export interface MeasureOptions {
  readonly rounds: number
  readonly isQuick: boolean
  readonly print: (line: string) => void
}

/**
 * Round after round, every variant of a case right behind the other, in an order that turns round each time: what warms
 * up, slows down or disturbs the machine falls on all of them alike.
 */
export async function measure(question: Question, options: MeasureOptions): Promise<readonly CaseResult[]> {
  const measured = new Map<string, Figures[]>()
  const takeDown = await question.setUp?.(options.isQuick)
  try {
    for (let number = 0; number < options.rounds; number++) {
      for (const { name, variants, roundsMax = Infinity } of question.cases) {
        if (number >= roundsMax) continue
        for (const variant of number % 2 === 0 ? variants : variants.toReversed()) {
          const figures = await variant.measure(roundOf(number, options.isQuick, measured))
          const key = keyOf(name, variant.name)
          measured.set(key, [...(measured.get(key) ?? []), figures])
          options.print(`round ${number + 1}  ${key}  ${lineOf(figures, question)}`)
        }
      }
    }
  } finally {
    await takeDown?.()
  }
  return question.cases.map((each) => resultOf(each, measured, question))
}

function resultOf({ name, variants, baseline }: Case, measured: ReadonlyMap<string, Figures[]>, question: Question) {
  const roundsOf = (variant: string) => measured.get(keyOf(name, variant)) ?? []
  const valuesOf = (variant: string, figure: string) => roundsOf(variant).map((figures) => figures[figure] as number)
  return {
    name,
    baseline,
    variants: variants.map((variant): VariantResult => {
      const there = Object.keys(question.figures).filter((figure) =>
        roundsOf(variant.name).every((figures) => figures[figure] !== undefined),
      )
      const isCompared = (figure: string) =>
        baseline !== undefined &&
        variant.name !== baseline &&
        question.figures[figure]?.isCompared === true &&
        roundsOf(baseline).every((figures) => figures[figure] !== undefined)
      return {
        name: variant.name,
        rounds: roundsOf(variant.name),
        figures: Object.fromEntries(there.map((figure) => [figure, spreadOf(valuesOf(variant.name, figure))])),
        ratios: Object.fromEntries(
          there
            .filter(isCompared)
            .map((figure) => [figure, pairedRatios(valuesOf(variant.name, figure), valuesOf(baseline ?? '', figure))]),
        ),
      }
    }),
  }
}

function roundOf(number: number, isQuick: boolean, measured: ReadonlyMap<string, Figures[]>): Round {
  return {
    number,
    isQuick,
    earlier(caseName, variant, figure) {
      const values = (measured.get(keyOf(caseName, variant)) ?? []).map((figures) => figures[figure] as number)
      return values[number] ?? (values.length > 0 ? spreadOf(values).median : undefined)
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
