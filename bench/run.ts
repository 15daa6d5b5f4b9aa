import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Command } from 'commander'
import { auth } from '#bench/benchmarks/auth'
import { cluster } from '#bench/benchmarks/cluster'
import { fullState } from '#bench/benchmarks/full-state'
import { groups } from '#bench/benchmarks/groups'
import { growth } from '#bench/benchmarks/growth'
import { history } from '#bench/benchmarks/history'
import { ingest } from '#bench/benchmarks/ingest'
import { latency } from '#bench/benchmarks/latency'
import { memory } from '#bench/benchmarks/memory'
import { mqtt } from '#bench/benchmarks/mqtt'
import { peers } from '#bench/benchmarks/peers'
import { restart } from '#bench/benchmarks/restart'
import { rollout } from '#bench/benchmarks/rollout'
import { worst } from '#bench/benchmarks/worst'
import { integer, option, runCommand } from '#bench/command-line'
import { type Benchmark, judge, measure } from '#bench/harness/benchmark'
import { machineText, markdownOf, type Report } from '#bench/harness/report'
import { projectRoot } from '#bench/project-root'

/** `npm run bench -- <name>`: measures, judges, and writes the report. */
const benchmarks: Readonly<Record<string, Benchmark>> = {
  ingest,
  latency,
  'full-state': fullState,
  memory,
  restart,
  growth,
  groups,
  auth,
  rollout,
  history,
  mqtt,
  peers,
  worst,
  cluster,
}

/** Benchmarks whose description states for each measurement whether IAM is on. */
const statesIam: readonly string[] = ['auth', 'groups', 'peers', 'worst']

const roundsDefault = 5

/** The first line of a benchmark's file. */
function aboutOf(name: string): string {
  const [first = ''] = readFileSync(join(projectRoot, `bench/benchmarks/${name}.ts`), 'utf8').split('\n')
  return first.replace(/^\/\/ /, '')
}

async function report(name: string, benchmark: Benchmark, isQuick: boolean, asked?: number): Promise<Report> {
  const about = aboutOf(name) + (statesIam.includes(name) ? '' : ' Measured with IAM off.')
  console.log(`${name}: ${about}`)
  const rounds = asked ?? benchmark.rounds ?? roundsDefault
  const measured = await measure(benchmark, { rounds, isQuick, print: console.log })
  const verdicts = judge(benchmark.targets, measured.results, measured.failures.length > 0)
  return { ...measured, name, about, machine: machineText(), rounds, verdicts }
}

const command = new Command('npm run bench --')
  .description(
    `Reports are written to bench/results/<name>.md. Exit code 1 when a target was not held or a measurement failed; the
others are reported all the same.`,
  )
  .argument('[name...]', 'benchmarks', Object.keys(benchmarks))
  .option('--list', 'the benchmarks')
  .addOption(option('--rounds N', `rounds (default: ${roundsDefault} for most)`, integer(1, 100)))
  .option('--quick', 'one short round, to try a bench itself; its figures mean nothing and are not saved')
  .action(run)

interface RunOptions {
  readonly list?: true
  readonly rounds?: number
  readonly quick?: boolean
}

async function run(names: readonly string[], { list, rounds, quick: isQuick = false }: RunOptions): Promise<void> {
  if (list) {
    for (const name of Object.keys(benchmarks)) console.log(`${name.padEnd(12)}${aboutOf(name)}`)
    return
  }
  const unknown = names.filter((name) => !Object.hasOwn(benchmarks, name))
  if (unknown.length > 0) throw new RangeError(`no such benchmark: ${unknown.join(', ')}; see --list`)
  const reports: Report[] = []
  for (const name of names) {
    const benchmark = benchmarks[name] as Benchmark
    const made = await report(name, benchmark, isQuick, isQuick ? 1 : rounds)
    reports.push(made)
    const markdown = markdownOf(made, benchmark)
    console.log(`\n${markdown}`)
    if (!isQuick) keep(made, markdown, benchmark.appendix?.(made.results).files)
  }
  const isWhole = reports.every(({ failures }) => failures.length === 0)
  const isHeld = isQuick || reports.every(({ verdicts }) => verdicts.every((verdict) => verdict.isHeld))
  process.exitCode = isWhole && isHeld ? 0 : 1
}

function keep(made: Report, markdown: string, appendix: Readonly<Record<string, string>> = {}): void {
  const folder = join(projectRoot, 'bench/results')
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, `${made.name}.md`), markdown)
  for (const [file, text] of Object.entries(appendix)) writeFileSync(join(folder, file), text)
}

// The exit handlers remove processes and folders. Not `once`, because both the terminal and npm send the signal.
for (const [signal, code] of [['SIGHUP', 129] as const, ['SIGINT', 130] as const, ['SIGTERM', 143] as const]) {
  process.on(signal, () => process.exit(code))
}

await runCommand(command)
