import { execFileSync } from 'node:child_process'
import { createRequire } from 'node:module'
import { availableParallelism, cpus, totalmem } from 'node:os'
import { join } from 'node:path'
import { type Benchmark, loadFigure, loadFullPercent, type Measured, type Verdict } from '#bench/harness/benchmark'
import type { Spread } from '#bench/harness/statistics'
import { projectRoot } from '#bench/project-root'

export interface Report extends Measured {
  readonly name: string
  readonly about: string
  readonly machine: string
  readonly rounds: number
  readonly verdicts: readonly Verdict[]
}

export function markdownOf(report: Report, { figures, appendix }: Pick<Benchmark, 'figures' | 'appendix'>): string {
  const { name, about, machine, rounds, results, failures, repeats, verdicts } = report
  const digitsOf = (figure: string) => figures[figure]?.digits ?? 2
  /** Marks figures that may be limited by the load instead of the server. */
  const noteOf = (figure: string, isLoadFull: boolean) =>
    isLoadFull && (figures[figure]?.isOfLoad || figure === loadFigure) ? ', load full' : ''
  const lines = [
    `# ${name}`,
    '',
    about,
    '',
    machine,
    `${rounds} rounds, each variant in a fresh process, in alternating order. Medians, in parentheses the least and the`,
    'greatest; ratios are those of the same round.',
  ]
  for (const { name: caseName, variants, baseline } of results) {
    const columns = Object.keys(figures).filter((figure) => variants.some((variant) => variant.figures[figure]))
    lines.push('', `## ${caseName}`, '')
    if (columns.length === 0) {
      lines.push('Nothing was measured.')
      continue
    }
    const measured = variants[0]?.rounds.length ?? 0
    if (measured < rounds) lines.push(`${measured} rounds.`, '')
    if (variants.some(({ isLoadFull }) => isLoadFull)) lines.push(...loadFullLines, '')
    lines.push(`| | ${columns.map((figure) => figures[figure]?.title).join(' | ')} |`)
    lines.push(`|---|${columns.map(() => '---:').join('|')}|`)
    for (const { name, figures: reached, isLoadFull } of variants) {
      const cells = columns.map((figure) => textOf(reached[figure], digitsOf(figure), noteOf(figure, isLoadFull)))
      lines.push(`| ${name} | ${cells.join(' | ')} |`)
    }
    const isBaselineLoadFull = variants.find(({ name }) => name === baseline)?.isLoadFull === true
    for (const variant of variants.filter(({ ratios }) => Object.keys(ratios).length > 0)) {
      const isLoadFull = variant.isLoadFull || isBaselineLoadFull
      const cells = columns.map((figure) => textOf(variant.ratios[figure], 2, noteOf(figure, isLoadFull)))
      lines.push(`| ${variant.name} ÷ ${baseline} | ${cells.join(' | ')} |`)
    }
  }
  if (verdicts.length > 0) {
    lines.push('', '## Targets', '', '| | wanted | reached | |', '|---|---:|---:|---|')
    for (const { target, reached, isHeld, missed } of verdicts) {
      const { figure } = target
      const what = `${target.case}: ${target.variant ?? 'every variant'}, ${figures[figure]?.title}${target.isRatio ? ' (ratio)' : ''}`
      const wanted = [
        ...(target.atLeast === undefined ? [] : [`≥ ${target.atLeast}`]),
        ...(target.atMost === undefined ? [] : [`≤ ${target.atMost}`]),
      ].join(', ')
      const digits = target.isRatio ? 2 : digitsOf(figure)
      const text = reached ? textOf(reached, digits) : 'not measured'
      const which = target.variant === undefined ? `: ${missed.join('; ')}` : ''
      lines.push(`| ${what} | ${wanted} | ${text} | ${isHeld ? 'held' : `**not held**${which}`} |`)
    }
  }
  if (failures.length > 0) {
    lines.push(
      '',
      '## Failed',
      '',
      'The rest was measured all the same; medians and ratios are of the rounds that did not fail.',
      '',
    )
    for (const { what, error } of failures) lines.push(`- ${what}: ${error.split('\n')[0]}`)
  }
  if (repeats.length > 0) {
    lines.push('', '## Measured again', '', 'Other processes used the machine, and the load read too slowly.', '')
    for (const what of repeats) lines.push(`- ${what}`)
  }
  if (appendix) lines.push('', appendix(results).markdown)
  return `${lines.join('\n')}\n`
}

const loadFullLines = [
  `*Load full*: the load used ${loadFullPercent} % of its core or more. Figures with this`,
  'mark are limited by the load, not by the server.',
]

function textOf(spread: Spread | undefined, digits: number, note = ''): string {
  if (!spread) return ''
  const [median, min, max] = [spread.median, spread.min, spread.max].map((value) => groupedNumber(value, digits))
  return `${median} (${min}–${max})${note}`
}

/** 1234567.8 as 1 234 567.8. */
export function groupedNumber(value: number, digits: number): string {
  return value.toFixed(digits).replace(/\B(?=(\d{3})+(?!\d))/g, ' ')
}

/** The machine, Node, the commit and the time, for a report. */
export function machineText(): string {
  const processors = `${availableParallelism()} × ${cpus()[0]?.model.trim() ?? 'unknown'}`
  const memory = `${Math.round(totalmem() / 2 ** 30)} GiB`
  const commit = `commit ${commitOf(projectRoot)}`
  const system = `${process.platform} ${process.arch}, Node ${process.version}`
  return `${[processors, memory, system, commit, new Date().toISOString()].join(', ')}.`
}

/** The launcher knows whether a build is current. */
interface Launcher {
  readonly buildSources: readonly string[]
  isBuilt(): boolean
}

/**
 * The checked-out commit; `+ changes` if built sources differ from it, and a note if the running build is not of the
 * present sources.
 */
function commitOf(root: string): string {
  const { buildSources, isBuilt } = createRequire(import.meta.url)(join(root, 'src/launch.cjs')) as Launcher
  const git = (...line: string[]) =>
    execFileSync('git', line, { cwd: root, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim()
  const built = isBuilt() ? '' : ', but the build is of other sources'
  try {
    const changed = git('status', '--porcelain', '--', ...buildSources, ':!bench/results')
    return git('rev-parse', '--short', 'HEAD') + (changed === '' ? '' : ' + changes') + built
  } catch {
    return `unknown${built}`
  }
}
