import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Option } from 'commander'
import { projectRoot } from '#bench/project-root'

export interface Outcome {
  /** Attempts and findings, for the report. */
  readonly summary: readonly string[]
  /** Broken guarantees; empty: all were kept. */
  readonly problems: readonly string[]
}

export interface Proof<Options = never> {
  readonly about: string
  readonly help: string
  /** In addition to `--seed`. */
  readonly options: readonly Option[]
  run(options: Options & { readonly seed: number }, print: (line: string) => void): Promise<Outcome>
}

/** Runs a proof in a new folder, which is kept for examination unless the promise held. */
export async function inKeptFolder(
  prefix: string,
  print: (line: string) => void,
  prove: (dataFolder: string) => Promise<Outcome>,
): Promise<Outcome> {
  const folder = mkdtempSync(join(tmpdir(), prefix))
  let hasHeld = false
  try {
    const outcome = await prove(folder)
    hasHeld = outcome.problems.length === 0
    return outcome
  } finally {
    if (hasHeld) rmSync(folder, { recursive: true, force: true })
    else print(`the data folder is kept: ${folder}`)
  }
}

const head = '# proof\n\nWhat was tried to break the promises of the server, and what came of it.\n'
const sectionStart = /^(?=## )/m

/** Replaces the section of one proof in `proof.md`, and keeps the other sections. `circumstances`: its last line. */
export function saveOutcome(
  name: string,
  { about }: Proof,
  { summary, problems }: Outcome,
  circumstances: string,
): void {
  const folder = join(projectRoot, 'bench/results')
  mkdirSync(folder, { recursive: true })
  const file = join(folder, 'proof.md')
  const [, ...sections] = existsSync(file) ? readFileSync(file, 'utf8').split(sectionStart) : []
  const lines = [...summary, ...problems.map((problem) => `WRONG: ${problem.split('\n')[0]}`)]
  const section = [
    `## ${name}\n`,
    `${about}: **${problems.length === 0 ? 'held' : 'broken'}**.\n`,
    ...lines.map((line) => `- ${line}`),
    `\n${circumstances}`,
  ].join('\n')
  const place = sections.findIndex((kept) => kept.startsWith(`## ${name}\n`))
  if (place < 0) sections.push(section)
  else sections[place] = section
  writeFileSync(file, `${[head, ...sections.map((kept) => `${kept.trimEnd()}\n`)].join('\n')}`)
}
