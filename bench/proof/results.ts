import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Machine } from '#bench/harness/machine'
import { projectRoot } from '#bench/project-root'
import type { Outcome, Proof } from '#bench/proof/outcome'

/** A proof as it is written down: the latest of its name. */
interface Kept extends Outcome {
  readonly about: string
  readonly machine: Machine
  /** What it was asked for beside what it does by itself. */
  readonly options?: readonly string[]
}

/** Puts what came of one proof beside what came of the others, for people and for programs. */
export function keepOutcome(
  name: string,
  { about }: Proof,
  outcome: Outcome,
  machine: Machine,
  options: readonly string[],
  folder = join(projectRoot, 'bench/results'),
): void {
  mkdirSync(folder, { recursive: true })
  const file = join(folder, 'proof.json')
  const before = existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as Record<string, Kept>) : {}
  const kept = { ...before, [name]: { about, ...outcome, machine, options } }
  writeFileSync(file, `${JSON.stringify(kept, null, 2)}\n`)
  writeFileSync(join(folder, 'proof.md'), markdownOf(kept))
}

function markdownOf(kept: Readonly<Record<string, Kept>>): string {
  const lines = ['# proof', '', 'What was tried to break the promises of the server, and what came of it.']
  for (const [name, { about, machine, seed, seconds, said, problems, options = [] }] of Object.entries(kept)) {
    lines.push('', `## ${name}`, '', `${about}: **${problems.length === 0 ? 'held' : 'broken'}**.`, '')
    lines.push(...said.map((line) => `- ${line}`), ...problems.map((line) => `- WRONG: ${line.split('\n')[0]}`))
    const asked = options.length > 0 ? `, asked for \`${options.join(' ')}\`` : ''
    lines.push('', `${seconds.toFixed(0)} s, seed ${seed}${asked}. ${machineText(machine)}`)
  }
  return `${lines.join('\n')}\n`
}

function machineText({ processors, memoryGib, system, node, commit, at }: Machine): string {
  return `${processors}, ${memoryGib} GiB, ${system}, Node ${node}, commit ${commit}, ${at}.`
}
