import { availableParallelism } from 'node:os'
import { parseArgs } from 'node:util'
import { temporaryFolder } from '#bench/harness/temporary-folder'
import { projectRoot } from '#bench/project-root'
import { runSeeds } from '#bench/proof/seeds'
import { compileSimulation } from '#bench/proof/simulation-program'

const help = `Usage: npm run proof -- seeds [options]

Runs the simulation of the whole server with one seed after the other, until Ctrl-C.

  --from SEED           the first seed (the clock)
  --for SECONDS         no seed starts after this time
  --processes N         number of processes (one for each processor)`

const progressEveryMs = 10_000

/** Resolves with whether no seed failed. */
export async function seedsCommand(args: readonly string[]): Promise<boolean> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      from: { type: 'string', default: String(Date.now() % 1_000_000_000) },
      for: { type: 'string', default: 'Infinity' },
      processes: { type: 'string', default: String(availableParallelism()) },
      help: { type: 'boolean', default: false },
    },
  })
  if (values.help) {
    console.log(help)
    return true
  }
  const first = wholeNumber('from', values.from)
  const secondsMax = values.for === 'Infinity' ? Number.POSITIVE_INFINITY : wholeNumber('for', values.for)
  const processes = wholeNumber('processes', values.processes)
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
    console.log(`${ended} seeds from ${first} on in ${secondsPassed().toFixed(0)} s, ${failed} of them failed`)
  const progress = setInterval(printProgress, progressEveryMs)
  await runSeeds({
    program,
    processes,
    next: () => (isInterrupted || secondsPassed() >= secondsMax ? undefined : seed++),
    ended: (result) => {
      ended++
      if (result.fault === undefined) return
      failed++
      console.error(`WRONG: seed ${result.seed}: ${result.fault}`)
      console.error(`Again: SEED=${result.seed} npm test -- test/simulation/one-seed`)
    },
  })
  clearInterval(progress)
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.off(signal, interrupted)
  await folder.remove()
  printProgress()
  return failed === 0
}

function wholeNumber(name: string, text: string): number {
  const number = Number(text)
  if (!Number.isInteger(number) || number < 1) throw new RangeError(`--${name}: a positive integer; got '${text}'`)
  return number
}
