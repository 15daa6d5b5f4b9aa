import { type CaseResult, ratiosOf } from '#bench/harness/measure'
import type { Target } from '#bench/harness/question'
import type { Spread } from '#bench/harness/statistics'

export interface Verdict {
  readonly target: Target
  /** What was judged: the target's own figure, or the one it names for a full load. */
  readonly figure: string
  /** With this variant or, for a ratio, with the baseline. */
  readonly isLoadFull: boolean
  /** Undefined where nothing was measured: then it is not held. */
  readonly reached: Spread | undefined
  readonly isHeld: boolean
}

/**
 * The median decides; the spread says how sure that is. `hasFailed`: something could not be measured; else a target
 * without a figure is a mistake.
 */
export function judge(
  targets: readonly Target[],
  results: readonly CaseResult[],
  hasFailed = false,
): readonly Verdict[] {
  return targets.map((target) => {
    const { variants = [], baseline } = results.find(({ name }) => name === target.case) ?? {}
    const variant = variants.find(({ name }) => name === target.variant)
    const compared = target.isRatio
      ? variants.find(({ name }) => name === (target.comparedWith ?? baseline))
      : undefined
    const isLoadFull = variant?.isLoadFull === true || compared?.isLoadFull === true
    const figure = (isLoadFull ? target.whenLoadIsFull : undefined) ?? target.figure
    const reached =
      target.comparedWith === undefined
        ? (target.isRatio ? variant?.ratios : variant?.figures)?.[figure]
        : variant && compared && ratiosOf(variant.rounds, compared.rounds, [figure])[figure]
    if (!reached && !(variant && hasFailed)) throw new Error(`${target.case} / ${target.variant} has no ${figure}`)
    const { atLeast = -Infinity, atMost = Infinity } = target
    const isHeld = reached !== undefined && reached.median >= atLeast && reached.median <= atMost
    return { target, figure, isLoadFull, reached, isHeld }
  })
}
