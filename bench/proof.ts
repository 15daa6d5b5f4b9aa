import { thisMachine } from '#bench/harness/machine'
import { diskProof } from '#bench/proof/disk'
import { killProof } from '#bench/proof/kill'
import { mutantsCommand } from '#bench/proof/mutants'
import type { Outcome, Proof } from '#bench/proof/outcome'
import { overloadProof } from '#bench/proof/overload/overload'
import { powerProof } from '#bench/proof/power/power'
import { keepOutcome } from '#bench/proof/results'
import { seedsCommand } from '#bench/proof/seeds'
import { soakProof } from '#bench/proof/soak/soak'

/** The proofs: programs that try to break a guarantee of the server. Exit code 1 if one succeeds. */
const proofs: Readonly<Record<string, Proof>> = {
  kill: killProof,
  power: powerProof,
  disk: diskProof,
  overload: overloadProof,
  soak: soakProof,
}
/** A proof that takes as long as all others together only runs when it is named. */
const whole = Object.keys(proofs).filter((name) => name !== 'soak')

interface Search {
  readonly about: string
  /** Resolves with whether no fault was found. Accepts `--help`. */
  run(args: readonly string[]): Promise<boolean>
}

/** Searches run for as long as asked: they write no report, and a run of all proofs leaves them out. */
const searches: Readonly<Record<string, Search>> = {
  seeds: { about: 'runs of the simulated server, one after the other, until Ctrl-C', run: seedsCommand },
  mutants: { about: 'bugs planted in copies of the server, until the simulation finds each', run: mutantsCommand },
}

const usage = `Usage: npm run proof -- [name [options]]      (when none is named: ${whole.join(', ')}, one after the other)

${Object.entries({ ...proofs, ...searches })
  .map(([name, { about }]) => `  ${name.padEnd(8)} ${about}`)
  .join('\n')}

npm run proof -- NAME --help lists the options of a proof. --seed N repeats a run.
The result of a proof that runs without options, or with --report, is written to bench/results/proof.md.
Exit code: 0 no fault found, 1 a fault found, 2 the proof could not run.
`

const reportOption = '--report'

const [name, ...args] = process.argv.slice(2)
try {
  process.exit(await prove(name, args))
} catch (error) {
  console.error(error instanceof Error ? error.message : error)
  process.exit(2)
}

async function prove(name: string | undefined, args: readonly string[]): Promise<number> {
  if (name === '--help' || name === '-h') {
    console.log(usage)
    return 0
  }
  if (name === undefined) {
    const kept: boolean[] = []
    for (const each of whole) kept.push(await proveOne(each, []))
    return kept.includes(false) ? 1 : 0
  }
  const search = Object.hasOwn(searches, name) ? searches[name] : undefined
  if (search) return (await search.run(args)) ? 0 : 1
  if (!Object.hasOwn(proofs, name)) {
    console.error(usage)
    return 2
  }
  if (args.includes('--help') || args.includes('-h')) {
    console.log(proofs[name]?.help)
    return 0
  }
  return (await proveOne(name, args)) ? 0 : 1
}

async function proveOne(name: string, args: readonly string[]): Promise<boolean> {
  const proof = proofs[name] as Proof
  console.log(`== ${name}: ${proof.about}`)
  const isReported = args.length === 0 || args.includes(reportOption)
  const own = args.filter((argument) => argument !== reportOption)
  // Timers of a server in this process do not keep it alive.
  const alive = setInterval(() => undefined, 1_000)
  const outcome: Outcome = await proof.run(own, (line) => console.log(line)).finally(() => clearInterval(alive))
  for (const line of outcome.summary) console.log(line)
  for (const problem of outcome.problems) console.error(`WRONG: ${problem}`)
  const isHeld = outcome.problems.length === 0
  const end = isHeld ? 'the promise held' : 'the promise was broken'
  console.log(`${name}: ${end}; ${outcome.seconds.toFixed(0)} s, seed ${outcome.seed}`)
  if (isReported) keepOutcome(name, proof, outcome, thisMachine(), own)
  return isHeld
}
