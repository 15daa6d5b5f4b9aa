import { execFileSync } from 'node:child_process'
import { cpSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { dirname, join } from 'node:path'
import { parseArgs } from 'node:util'
import { type TemporaryFolder, temporaryFolder } from '#bench/harness/temporary-folder'
import { projectRoot } from '#bench/project-root'
import { runSeeds, type SeedResult } from '#bench/proof/seeds'
import { compileSimulation } from '#bench/proof/simulation-program'

/** A bug planted in the server, and the result of the simulation. */
export interface MutantReport {
  readonly name: string
  /** The first seed that reported the expected fault; undefined: it was not found. */
  readonly found: SeedResult | undefined
  /** The first seed that reported another fault, or whose process died: the mutant does not count as found. */
  readonly other: SeedResult | undefined
  /** Why it could not be compiled; undefined: it was. */
  readonly broken: string | undefined
  readonly seeds: number
  readonly seconds: number
}

interface MutantOptions {
  readonly processes: number
  readonly seedsMax: number
}

const folder = join(projectRoot, 'test/simulation/mutants')
const copied = ['package.json', 'tsconfig.json', 'src', 'actors', 'bench', 'test']
/** Large folders that the simulation does not need. */
const left = ['src/dashboard', 'bench/results', 'test/dashboard'].map((path) => join(projectRoot, path))
/** A line before the patch: a seed that found the mutant in an earlier version of the sources. */
const notedSeed = /^Seed (\d+)$/m
/** A line with the expected fault; `…` matches any text within a line. */
const expectedFault = /^Expect: (.*\S)$/m

/** Names of the mutants: each is a patch of the sources, `<name>.patch`. */
export function mutantNames(): readonly string[] {
  return readdirSync(folder)
    .filter((file) => file.endsWith('.patch'))
    .map((file) => file.slice(0, -'.patch'.length))
    .sort()
}

/** Checks that the patch fits the present sources. @throws with the message of git */
export function checkMutant(name: string): void {
  git(projectRoot, ['apply', '--check', patchOf(name)])
}

/** The seed that found it last; undefined: none is noted. */
function seedOf(name: string): number | undefined {
  const [, seed] = notedSeed.exec(readFileSync(patchOf(name), 'utf8')) ?? []
  return seed === undefined ? undefined : Number(seed)
}

/** The fault that the simulation must report. @throws Error when its patch does not say */
export function expectationOf(name: string): string {
  const [head = ''] = readFileSync(patchOf(name), 'utf8').split(/^diff /m)
  const [, text] = expectedFault.exec(head) ?? []
  if (text === undefined) throw new Error(`${name}: no line 'Expect: …' before the patch`)
  return text
}

/** Whether the seed reported the expected fault, itself or as its cause. A process that died reports nothing. */
export function isAsExpected({ fault, isDead }: SeedResult, expectation: string): boolean {
  if (fault === undefined || isDead) return false
  return fault.split('\n').some((line) => !isPlaceInCode.test(line) && stands(expectation.split('…'), line))
}

/** A line of a stack: it names functions and files. */
const isPlaceInCode = /^\s+at /

function stands(parts: readonly string[], line: string): boolean {
  let from = 0
  for (const part of parts) {
    const place = line.indexOf(part, from)
    if (place < 0) return false
    from = place + part.length
  }
  return true
}

/** Notes the seed for the next search. */
function noteSeed(name: string, seed: number): void {
  const text = readFileSync(patchOf(name), 'utf8')
  const line = `Seed ${seed}`
  writeFileSync(patchOf(name), notedSeed.test(text) ? text.replace(notedSeed, line) : `${line}\n${text}`)
}

/**
 * Plants each mutant in a copy of the sources, and runs seeds until one reports the expected fault: first the noted
 * seed, several mutants at a time; then all seeds from 1 on for the mutants that it does not find any more.
 *
 * @throws Error when a patch does not fit or names no expected fault
 */
async function findMutants(
  names: readonly string[],
  options: MutantOptions,
  ended: (report: MutantReport) => void,
): Promise<void> {
  const waiting = [...names]
  const unfound: PlantedMutant[] = []
  const tryNotedSeeds = async () => {
    for (let name = waiting.shift(); name !== undefined; name = waiting.shift()) {
      const mutant = await plant(name)
      const seed = seedOf(name)
      await runMutant(mutant, seed === undefined ? [] : [seed], 1)
      if (mutant.found || mutant.broken !== undefined) await end(mutant)
      else unfound.push(mutant)
    }
  }
  const end = async (mutant: PlantedMutant) => {
    await mutant.folder.remove()
    ended({ ...mutant, seconds: (performance.now() - mutant.begun) / 1000 })
  }
  await Promise.all(Array.from({ length: options.processes }, tryNotedSeeds))
  const seeds = Array.from({ length: options.seedsMax }, (_, place) => place + 1)
  for (const mutant of unfound) {
    await runMutant(mutant, seeds, options.processes)
    await end(mutant)
  }
}

/** A compiled copy of the sources with one mutant, and what its seeds found so far. */
interface PlantedMutant extends Pick<MutantReport, 'name' | 'broken'> {
  readonly expectation: string
  readonly folder: TemporaryFolder
  readonly program: string
  readonly begun: number
  seeds: number
  found: SeedResult | undefined
  other: SeedResult | undefined
}

async function plant(name: string): Promise<PlantedMutant> {
  const begun = performance.now()
  const expectation = expectationOf(name)
  const own = temporaryFolder('mutant-')
  for (const part of copied) {
    const from = join(projectRoot, part)
    cpSync(from, join(own.path, part), { recursive: true, filter: (file) => !left.includes(file) })
  }
  git(own.path, ['apply', patchOf(name)])
  const program = await compileSimulation(own.path, own.path).catch((error: Error) => error)
  return {
    ...{ name, expectation, folder: own, begun, seeds: 0, found: undefined, other: undefined },
    ...(program instanceof Error ? { program: '', broken: program.message } : { program, broken: undefined }),
  }
}

/** Runs seeds until one finds it. */
async function runMutant(mutant: PlantedMutant, seeds: readonly number[], processes: number): Promise<void> {
  if (mutant.broken !== undefined) return
  const waiting = [...seeds]
  await runSeeds({
    program: mutant.program,
    processes: Math.min(processes, seeds.length),
    next: () => (mutant.found ? undefined : waiting.shift()),
    ended: (result) => {
      mutant.seeds++
      if (isAsExpected(result, mutant.expectation)) mutant.found = earlier(mutant.found, result)
      else if (result.fault !== undefined) mutant.other = earlier(mutant.other, result)
    },
  })
}

function earlier(before: SeedResult | undefined, result: SeedResult): SeedResult {
  return before && before.seed < result.seed ? before : result
}

function patchOf(name: string): string {
  return join(folder, `${name}.patch`)
}

/** In this folder alone: git must ignore a repository above it. */
function git(cwd: string, args: readonly string[]): void {
  const env = { ...process.env, GIT_CEILING_DIRECTORIES: dirname(cwd) }
  execFileSync('git', [...args], { cwd, env, stdio: ['ignore', 'ignore', 'pipe'] })
}

const help = `Usage: npm run proof -- mutants [options] [NAME…]

Plants bugs in copies of the server, one in each, and runs the simulation until it finds them: first with the seed that is
noted with the bug, then with others. A bug is found when the simulation reports the text of the line 'Expect: TEXT' before its
patch (… matches any text), and not when it reports another fault, dies, or was not compiled. Patches in test/simulation/mutants:
  ${mutantNames().join('\n  ')}

  --seeds N             maximum number of seeds for each (200)
  --processes N         number of processes (one for each processor)
  --note                updates noted seeds that no longer find their bug`

/** Resolves with whether all mutants were found. */
export async function mutantsCommand(args: readonly string[]): Promise<boolean> {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      seeds: { type: 'string', default: '200' },
      processes: { type: 'string', default: String(availableParallelism()) },
      note: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  })
  if (values.help) {
    console.log(help)
    return true
  }
  const options = { seedsMax: Number(values.seeds), processes: Number(values.processes) }
  const begun = performance.now()
  let areAllFound = true
  const names = positionals.length > 0 ? positionals : mutantNames()
  await findMutants(names, options, (report) => {
    const { name, found } = report
    if (found) console.log(lineOf(report))
    else console.error(lineOf(report))
    if (found && values.note && seedOf(name) !== found.seed) noteSeed(name, found.seed)
    areAllFound &&= found !== undefined
  })
  console.log(`${names.length} bugs in ${((performance.now() - begun) / 1000).toFixed(0)} s`)
  return areAllFound
}

export function lineOf({ name, found, other, broken, seeds, seconds }: MutantReport): string {
  const took = `${seeds} seeds, ${seconds.toFixed(0)} s`
  if (found) return `${name}: found by seed ${found.seed} (${took}): ${firstLine(found.fault)}`
  const missed = `${name}: NOT FOUND (${took})`
  if (broken !== undefined) return `${missed}: there is nothing to run, ${broken}`
  if (!other) return `${missed}: nothing was wrong`
  return `${missed}: the expected fault was not reported; seed ${other.seed}: ${firstLine(other.fault)}`
}

function firstLine(text = ''): string {
  return (text.split('\n')[0] ?? '').slice(0, 200)
}
