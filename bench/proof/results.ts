import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Machine } from '#bench/harness/machine'
import { projectRoot } from '#bench/project-root'
import type { Outcome, Proof } from '#bench/proof/outcome'

const head = '# proof\n\nWhat was tried to break the promises of the server, and what came of it.\n'
const sectionStart = /^(?=## )/m

/** Replaces the section of one proof in `proof.md`, and keeps the other sections. */
export function saveOutcome(
  name: string,
  { about }: Proof,
  outcome: Outcome,
  machine: Machine,
  options: readonly string[],
  folder = join(projectRoot, 'bench/results'),
): void {
  mkdirSync(folder, { recursive: true })
  const file = join(folder, 'proof.md')
  const [, ...sections] = existsSync(file) ? readFileSync(file, 'utf8').split(sectionStart) : []
  const section = sectionOf(name, about, outcome, machine, options)
  const place = sections.findIndex((kept) => kept.startsWith(`## ${name}\n`))
  if (place < 0) sections.push(section)
  else sections[place] = section
  writeFileSync(file, `${[head, ...sections.map((kept) => `${kept.trimEnd()}\n`)].join('\n')}`)
}

function sectionOf(
  name: string,
  about: string,
  { seed, seconds, summary, problems }: Outcome,
  machine: Machine,
  options: readonly string[],
): string {
  const lines = [`## ${name}`, '', `${about}: **${problems.length === 0 ? 'held' : 'broken'}**.`, '']
  lines.push(...summary.map((line) => `- ${line}`), ...problems.map((line) => `- WRONG: ${line.split('\n')[0]}`))
  const optionsText = options.length > 0 ? `, asked for \`${options.join(' ')}\`` : ''
  lines.push('', `${seconds.toFixed(0)} s, seed ${seed}${optionsText}. ${machineText(machine)}`)
  return lines.join('\n')
}

function machineText({ processors, memoryGib, system, node, commit, at }: Machine): string {
  return `${processors}, ${memoryGib} GiB, ${system}, Node ${node}, commit ${commit}, ${at}.`
}
