import { type ChildProcess, execFileSync, fork, spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { dirname, join } from 'node:path'
import { Command } from 'commander'
import { integer, option } from '#bench/command-line'
import { killAtExit } from '#bench/exit-cleanup'
import { temporaryFolder } from '#bench/harness/temporary-folder'
import { projectRoot } from '#bench/project-root'

/** A bug planted in the server, and the result of the simulation. */
export interface MutantReport {
  readonly name: string
  /** The first seed that reported the expected fault; undefined: the mutant was not found. */
  readonly found: SeedResult | undefined
  /** The first seed that reported another fault, or whose process died: the mutant does not count as found. */
  readonly other: SeedResult | undefined
  /** The reason if the mutant could not be compiled. */
  readonly broken: string | undefined
  readonly seeds: number
  readonly seconds: number
}

const folder = join(projectRoot, 'test/simulation/mutants')
const copied = ['package.json', 'tsconfig.json', 'src', 'actors', 'bench', 'test']
/** Large folders that the simulation does not need. */
const left = ['src/dashboard', 'bench/results', 'test/dashboard'].map((path) => join(projectRoot, path))
/** A line before the patch, with the seed that found the mutant in an earlier version of the sources. */
const notedSeed = /^Seed (\d+)$/m
/** A line before the patch, with the expected fault; `…` matches any text within a line. */
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

/** The seed that last found the mutant; undefined: none is noted. */
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

/** Whether the seed reported the expected fault, or a fault caused by it. A process that died reports nothing. */
export function isAsExpected({ fault, isDead }: SeedResult, expectation: string): boolean {
  if (fault === undefined || isDead) return false
  return fault.split('\n').some((line) => !isPlaceInCode.test(line) && stands(expectation.split('…'), line))
}

/** A line of a stack, which names functions and files. */
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
 * Plants the mutant in a copy of the sources, and runs seeds until one reports the expected fault: first the noted
 * seed, then all from 1 on. @throws Error when a patch does not fit or names no expected fault
 */
async function findMutant(name: string, seedsMax: number): Promise<MutantReport> {
  const begun = performance.now()
  const expectation = expectationOf(name)
  const own = temporaryFolder('mutant-')
  for (const part of copied) {
    const from = join(projectRoot, part)
    cpSync(from, join(own.path, part), { recursive: true, filter: (file) => !left.includes(file) })
  }
  git(own.path, ['apply', patchOf(name)])
  const program = await compileSimulation(own.path).catch((error: Error) => error)
  const report = { found: undefined as SeedResult | undefined, other: undefined as SeedResult | undefined, seeds: 0 }
  if (typeof program === 'string') {
    const seeds = Array.from({ length: seedsMax }, (_, place) => place + 1)
    let child: ChildProcess | undefined
    for (const seed of [seedOf(name) ?? [], ...seeds].flat()) {
      child ??= startSimulation(program, name.startsWith('history-') ? ['history'] : [])
      const result = await resultOf(child, seed)
      if (!child.connected) child = undefined
      report.seeds++
      if (isAsExpected(result, expectation)) report.found = result
      else if (result.fault !== undefined) report.other ??= result
      if (report.found) break
    }
    child?.disconnect()
  }
  await own.remove()
  const broken = program instanceof Error ? program.message : undefined
  return { ...report, name, broken, seconds: (performance.now() - begun) / 1000 }
}

function patchOf(name: string): string {
  return join(folder, `${name}.patch`)
}

/** Runs git in this folder alone: it must ignore a repository above the folder. */
function git(cwd: string, args: readonly string[]): void {
  const env = { ...process.env, GIT_CEILING_DIRECTORIES: dirname(cwd) }
  execFileSync('git', [...args], { cwd, env, stdio: ['ignore', 'ignore', 'pipe'] })
}

export const mutantsCommand = new Command('mutants')
  .summary('plants bugs in copies of the server, which the simulation must find')
  .description(
    `Plants bugs in copies of the server, one in each, and runs the simulation until it finds them: first with the seed that
is noted with the bug, then with others. A bug is found when the simulation reports the text of the line 'Expect: TEXT'
before its patch (… matches any text), and not when it reports another fault, dies, or was not compiled. Patches in
test/simulation/mutants:
  ${mutantNames().join('\n  ')}`,
  )
  .argument('[names...]', 'names of bugs', mutantNames())
  .addOption(option('--seeds N', 'maximum number of seeds for each', integer(1), 200))
  .addOption(option('--processes N', 'how many bugs at the same time', integer(1), availableParallelism()))
  .option('--note', 'updates noted seeds that no longer find their bug')
  .action(findMutants)

interface MutantOptions {
  readonly seeds: number
  readonly processes: number
  readonly note?: true
}

async function findMutants(names: readonly string[], { seeds, processes, note }: MutantOptions): Promise<void> {
  const begun = performance.now()
  const waiting = [...names]
  const findSome = async () => {
    for (let name = waiting.shift(); name !== undefined; name = waiting.shift()) {
      const report = await findMutant(name, seeds)
      const { found } = report
      if (found) console.log(lineOf(report))
      else console.error(lineOf(report))
      if (!found) process.exitCode = 1
      else if (note && seedOf(name) !== found.seed) noteSeed(name, found.seed)
    }
  }
  await Promise.all(Array.from({ length: processes }, findSome))
  console.log(`${names.length} bugs in ${((performance.now() - begun) / 1000).toFixed(0)} s`)
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

const program = 'test/simulation/seeds-process'

/**
 * Compiles the simulation, which is part of the tests and of no build.
 *
 * @param sources a copy of this project, which also gets the output; types are not checked
 * @returns the program that runs seeds
 */
async function compileSimulation(sources: string): Promise<string> {
  const modules = join(sources, 'node_modules')
  symlinkSync(join(projectRoot, 'node_modules'), modules, 'dir')
  const path = join(sources, 'tsconfig.simulation.json')
  const compilerOptions = {
    ...{ rootDir: sources, outDir: join(sources, 'dist'), typeRoots: [join(modules, '@types')] },
    ...{ noCheck: true, noEmitOnError: false, incremental: false, tsBuildInfoFile: null },
  }
  const files = [join(sources, `${program}.ts`)]
  const config = { extends: join(sources, 'tsconfig.json'), compilerOptions, include: [], files }
  writeFileSync(path, JSON.stringify(config))
  const compiler = join(projectRoot, 'node_modules/typescript/bin/tsc')
  const child = spawn(process.execPath, [compiler, '-p', path], { stdio: ['ignore', 'inherit', 'inherit'] })
  const [code] = await once(child, 'exit')
  if (code !== 0) throw new Error(`the simulation in ${sources} was not compiled`)
  return join(sources, 'dist', `${program}.js`)
}

/** The result of the run with one seed. */
export interface SeedResult {
  readonly seed: number
  readonly fault?: string
  /** The process of the run died without a result; `fault` describes how. */
  readonly isDead?: true
}

/** The time limit of a run. A run takes a fraction of a second, or some seconds on a busy machine. */
const seedMsMax = 120_000

function startSimulation(program: string, args: readonly string[]): ChildProcess {
  const execArgv = ['--enable-source-maps', '--max-semi-space-size=64']
  const child = fork(program, args, { execArgv, stdio: ['ignore', 'inherit', 'inherit', 'ipc'] })
  killAtExit(child)
  return child
}

function resultOf(child: ChildProcess, seed: number): Promise<SeedResult> {
  return new Promise((resolve) => {
    let why = 'died'
    const exited = (code: number | null, signal: string | null) =>
      end({ seed, fault: `its process ${why}: ${signal ?? code}`, isDead: true })
    const timer = setTimeout(() => {
      why = `had no result after ${seedMsMax} ms, and was killed`
      child.kill('SIGKILL')
    }, seedMsMax)
    const end = (result: unknown) => {
      clearTimeout(timer)
      child.off('exit', exited).off('message', end)
      resolve(result as SeedResult)
    }
    child.once('message', end).once('exit', exited)
    child.send(seed)
  })
}
