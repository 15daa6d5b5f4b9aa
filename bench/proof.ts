import { Command } from 'commander'
import { runCommand, seedOfClock, seedOption } from '#bench/command-line'
import { machineText } from '#bench/harness/report'
import { clusterProof } from '#bench/proof/cluster/cluster'
import { diskProof } from '#bench/proof/disk'
import { killProof } from '#bench/proof/kill'
import { mqttProof } from '#bench/proof/mqtt/mqtt'
import { mutantsCommand } from '#bench/proof/mutants'
import { type Proof, saveOutcome } from '#bench/proof/outcome'
import { overloadProof } from '#bench/proof/overload/overload'
import { powerProof } from '#bench/proof/power/power'
import { soakProof } from '#bench/proof/soak'

/** The proofs: programs that try to break a guarantee of the server. Exit code 1 if one succeeds. */
const proofs: Readonly<Record<string, Proof>> = {
  kill: killProof,
  power: powerProof,
  disk: diskProof,
  overload: overloadProof,
  soak: soakProof,
  cluster: clusterProof,
  mqtt: mqttProof,
}
/**
 * The proofs that run without a name. Left out are a proof that takes as long as all others together, and those that
 * need a NATS server or Python.
 */
const whole = Object.keys(proofs).filter((name) => !['soak', 'cluster', 'mqtt'].includes(name))

const command = new Command('npm run proof --')
  .description(
    `Without a name: ${whole.join(', ')}, one after the other. The result of a proof that runs without options, or with
--report, is written to bench/results/proof.md. Exit code: 0 no fault found, 1 a fault found, 2 the proof could not run.`,
  )
  .action(async () => {
    for (const name of whole) await prove(name, proofCommands.get(name)?.opts() ?? {}, [], true)
  })
const proofCommands = new Map(Object.entries(proofs).map(([name, proof]) => [name, proofCommand(name, proof)]))
for (const each of [...proofCommands.values(), mutantsCommand]) command.addCommand(each)

function proofCommand(name: string, { about, help, options }: Proof): Command {
  const made = new Command(name).summary(about).description(help).addOption(seedOption)
  for (const each of options) made.addOption(each)
  return made.option('--report', 'writes the result to bench/results/proof.md').action(({ report, ...given }) => {
    const asked = [seedOption, ...options].flatMap((each) => {
      const name = each.attributeName()
      return made.getOptionValueSource(name) === 'cli' ? [`${each.long} ${given[name]}`] : []
    })
    return prove(name, given, asked, asked.length === 0 || report === true)
  })
}

/** `asked`: the options as they were given, for the report. */
async function prove(
  name: string,
  given: { seed?: number },
  asked: readonly string[],
  isReported: boolean,
): Promise<void> {
  const proof = proofs[name] as Proof<object>
  const seed = given.seed ?? seedOfClock()
  console.log(`== ${name}: ${proof.about}; seed ${seed}`)
  // Keeps this process alive: the timers of a server in it do not.
  const alive = setInterval(() => undefined, 1_000)
  const startedAt = performance.now()
  const outcome = await proof.run({ ...given, seed }, console.log).finally(() => clearInterval(alive))
  for (const line of outcome.summary) console.log(line)
  for (const problem of outcome.problems) console.error(`WRONG: ${problem}`)
  const isHeld = outcome.problems.length === 0
  const run = `${((performance.now() - startedAt) / 1000).toFixed(0)} s, seed ${seed}`
  const end = isHeld ? 'the promise held' : 'the promise was broken'
  console.log(`${name}: ${end}; ${run}`)
  const options = asked.length > 0 ? `, asked for \`${asked.join(' ')}\`` : ''
  if (isReported) saveOutcome(name, proof, outcome, `${run}${options}. ${machineText()}`)
  if (!isHeld) process.exitCode = 1
}

await runCommand(command)
process.exit()
