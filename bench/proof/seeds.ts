import { type ChildProcess, fork } from 'node:child_process'
import { availableParallelism } from 'node:os'
import { Command } from 'commander'
import { integer, option, seedOfClock } from '#bench/command-line'
import { killAtExit } from '#bench/exit-cleanup'
import { temporaryFolder } from '#bench/harness/temporary-folder'
import { projectRoot } from '#bench/project-root'
import { compileSimulation } from '#bench/proof/simulation-program'

/** The result of the run with one seed: the fault, or how often each situation occurred. */
export interface SeedResult {
  readonly seed: number
  readonly ms: number
  readonly counts?: Readonly<Record<string, number>>
  readonly fault?: string
  /** The process of the run died without a result; `fault` describes how. */
  readonly isDead?: true
}

export interface SeedsOptions {
  /** Made by `compileSimulation`. */
  readonly program: string
  /** Runs the simulation of history instead of the one of the whole server. */
  readonly isHistoryOnly?: boolean
  readonly processes: number
  /** Returns the seed to run next; undefined when there are no more. */
  readonly next: () => number | undefined
  readonly ended: (result: SeedResult) => void
}

/** The time limit of a run. A run takes a fraction of a second, or some seconds on a busy machine. */
const seedMsMax = 120_000

/** Runs the simulation with seeds in parallel processes until there are none left. */
export async function runSeeds(options: SeedsOptions): Promise<void> {
  await Promise.all(Array.from({ length: options.processes }, () => runSeedsInProcess(options)))
}

async function runSeedsInProcess({ program, isHistoryOnly = false, next, ended }: SeedsOptions): Promise<void> {
  let child: ChildProcess | undefined
  for (let seed = next(); seed !== undefined; seed = next()) {
    child ??= started(program, isHistoryOnly ? ['history'] : [])
    const result = await resultOf(child, seed)
    if (!child.connected) child = undefined
    ended(result)
  }
  child?.disconnect()
}

function started(program: string, args: readonly string[]): ChildProcess {
  const execArgv = ['--enable-source-maps', '--max-semi-space-size=64']
  const child = fork(program, args, { execArgv, stdio: ['ignore', 'inherit', 'inherit', 'ipc'] })
  killAtExit(child)
  return child
}

function resultOf(child: ChildProcess, seed: number): Promise<SeedResult> {
  const begun = performance.now()
  return new Promise((resolve) => {
    const died = (why: string) =>
      end({ seed, ms: performance.now() - begun, fault: `its process ${why}`, isDead: true })
    const exited = (code: number | null, signal: string | null) => died(`died: ${signal ?? code}`)
    const timer = setTimeout(() => {
      child.off('exit', exited)
      child.once('exit', () => died(`had no result after ${seedMsMax} ms, and was killed`))
      child.kill('SIGKILL')
    }, seedMsMax)
    child.once('message', end as (result: unknown) => void)
    child.once('exit', exited)
    child.send(seed)

    function end(result: SeedResult): void {
      clearTimeout(timer)
      child.off('exit', exited)
      child.off('message', end as (result: unknown) => void)
      resolve(result)
    }
  })
}

export const seedsCommand = new Command('seeds')
  .summary('runs the simulation with one seed after the other, until Ctrl-C')
  .description('Runs the simulation of the whole server with one seed after the other, until Ctrl-C.')
  .addOption(option('--from SEED', 'the first seed (default: the clock)', integer(1)))
  .addOption(option('--for SECONDS', 'no seed starts after this time', integer(1)))
  .addOption(option('--processes N', 'number of processes', integer(1), availableParallelism()))
  .option('--history', 'simulate a server with history: compare its answers with the stream')
  .action(searchSeeds)

interface SearchOptions {
  readonly from?: number
  readonly for?: number
  readonly processes: number
  readonly history?: true
}

const progressEveryMs = 10_000

async function searchSeeds(options: SearchOptions): Promise<void> {
  const { from: first = seedOfClock(), for: secondsMax = Number.POSITIVE_INFINITY, processes } = options
  const folder = temporaryFolder('simulation-')
  const program = await compileSimulation(projectRoot, folder.path)

  const begun = performance.now()
  const secondsPassed = () => (performance.now() - begun) / 1000
  let seed = first
  let ended = 0
  let failed = 0
  let isInterrupted = false
  const interrupted = () => {
    isInterrupted = true
  }
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, interrupted)
  const printProgress = () =>
    console.log(`${ended} seeds, from seed ${first}, in ${secondsPassed().toFixed(0)} s; ${failed} failed`)
  const progress = setInterval(printProgress, progressEveryMs)
  await runSeeds({
    program,
    processes,
    isHistoryOnly: options.history === true,
    next: () => (isInterrupted || secondsPassed() >= secondsMax ? undefined : seed++),
    ended: (result) => {
      ended++
      if (result.fault === undefined) return
      failed++
      console.error(`WRONG: seed ${result.seed}: ${result.fault}`)
      if (options.history) console.error(`Again: HISTORY_SEED=${result.seed} npm test -- test/simulation/history-seeds`)
      else console.error(`Again: SEED=${result.seed} npm test -- test/simulation/one-seed`)
    },
  })
  clearInterval(progress)
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.off(signal, interrupted)
  await folder.remove()
  printProgress()
  if (failed > 0) process.exitCode = 1
}
