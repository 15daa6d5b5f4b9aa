import type { Machine } from '#bench/harness/machine'
import type { CaseResult, VariantResult } from '#bench/harness/measure'
import type { Question } from '#bench/harness/question'
import type { Spread } from '#bench/harness/statistics'
import type { Verdict } from '#bench/harness/verdict'

export interface Report {
  readonly name: string
  /** What it answers, and what it does not count. */
  readonly about: string
  readonly machine: Machine
  readonly rounds: number
  readonly results: readonly CaseResult[]
  readonly verdicts: readonly Verdict[]
}

export function markdownOf(report: Report, { figures }: Pick<Question, 'figures'>): string {
  const { name, about, machine, rounds, results, verdicts } = report
  const digitsOf = (figure: string) => figures[figure]?.digits ?? 2
  const lines = [
    `# ${name}`,
    '',
    about,
    '',
    `${machine.processors}, ${machine.memoryGib} GiB, ${machine.system}, Node ${machine.node}, commit ${machine.commit}, ${machine.at}.`,
    `${rounds} rounds, each variant in a fresh process, in alternating order. Medians, in parentheses the least and the`,
    'greatest; ratios are those of the same round.',
  ]
  for (const { name: caseName, variants, baseline } of results) {
    const columns = Object.keys(figures).filter((figure) => variants.some((variant) => variant.figures[figure]))
    lines.push('', `## ${caseName}`, '')
    const measured = variants[0]?.rounds.length ?? 0
    if (measured < rounds) lines.push(`${measured} rounds.`, '')
    lines.push(`| | ${columns.map((figure) => figures[figure]?.title).join(' | ')} |`)
    lines.push(`|---|${columns.map(() => '---:').join('|')}|`)
    for (const variant of variants) lines.push(rowOf(variant, columns, digitsOf))
    for (const variant of variants.filter(({ ratios }) => Object.keys(ratios).length > 0)) {
      const cells = columns.map((figure) => textOf(variant.ratios[figure], 2))
      lines.push(`| ${variant.name} ÷ ${baseline} | ${cells.join(' | ')} |`)
    }
  }
  if (verdicts.length > 0) {
    lines.push('', '## Targets', '', '| | wanted | reached | |', '|---|---:|---:|---|')
    for (const { target, reached, isHeld } of verdicts) {
      const what = `${target.case}: ${target.variant}, ${figures[target.figure]?.title}${target.isRatio ? ' (ratio)' : ''}`
      const wanted = [
        ...(target.atLeast === undefined ? [] : [`≥ ${target.atLeast}`]),
        ...(target.atMost === undefined ? [] : [`≤ ${target.atMost}`]),
      ].join(', ')
      const digits = target.isRatio ? 2 : digitsOf(target.figure)
      lines.push(`| ${what} | ${wanted} | ${textOf(reached, digits)} | ${isHeld ? 'held' : '**not held**'} |`)
    }
  }
  return `${lines.join('\n')}\n`
}

function rowOf(variant: VariantResult, columns: readonly string[], digitsOf: (figure: string) => number): string {
  const cells = columns.map((figure) => textOf(variant.figures[figure], digitsOf(figure)))
  return `| ${variant.name} | ${cells.join(' | ')} |`
}

function textOf(spread: Spread | undefined, digits: number): string {
  if (!spread) return ''
  const [median, min, max] = [spread.median, spread.min, spread.max].map((value) => grouped(value, digits))
  return `${median} (${min}–${max})`
}

/** 1234567.8 as 1 234 567.8. */
function grouped(value: number, digits: number): string {
  return value.toFixed(digits).replace(/\B(?=(\d{3})+(?!\d))/g, ' ')
}
