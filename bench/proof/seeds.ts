import { type ChildProcess, fork } from 'node:child_process'
import { killAtExit } from '#bench/exit-cleanup'

/** The result of the run with one seed. */
export interface SeedResult {
  readonly seed: number
  readonly fault?: string
  /** The process of the run died without a result; `fault` describes how. */
  readonly isDead?: true
}

export interface SeedsOptions {
  /** Made by `compileSimulation`. */
  readonly program: string
  /** Runs the simulation of history instead of the one of the whole server. */
  readonly isHistoryOnly: boolean
  /** Returns the seed to run next; undefined when there are no more. */
  readonly next: () => number | undefined
  readonly ended: (result: SeedResult) => void
}

/** The time limit of a run. A run takes a fraction of a second, or some seconds on a busy machine. */
const seedMsMax = 120_000

/** Runs the simulation with one seed after the other, in a process of its own, until there are none left. */
export async function runSeeds({ program, isHistoryOnly, next, ended }: SeedsOptions): Promise<void> {
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
  return new Promise((resolve) => {
    const died = (why: string) => end({ seed, fault: `its process ${why}`, isDead: true })
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
