import type { CaseResult } from '#bench/harness/measure'
import type { Target } from '#bench/harness/question'
import type { Spread } from '#bench/harness/statistics'

export interface Verdict {
  readonly target: Target
  readonly reached: Spread
  readonly isHeld: boolean
}

/** The median decides; the spread says how sure that is. */
export function judge(targets: readonly Target[], results: readonly CaseResult[]): readonly Verdict[] {
  return targets.map((target) => {
    const variant = results
      .find(({ name }) => name === target.case)
      ?.variants.find(({ name }) => name === target.variant)
    const reached = (target.isRatio ? variant?.ratios : variant?.figures)?.[target.figure]
    if (!reached) throw new Error(`${target.case} / ${target.variant} has no ${target.figure}`)
    const { atLeast = -Infinity, atMost = Infinity } = target
    return { target, reached, isHeld: reached.median >= atLeast && reached.median <= atMost }
  })
}
