import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { auth } from '#bench/benchmarks/auth'
import { fanout } from '#bench/benchmarks/fanout'
import { fullState } from '#bench/benchmarks/full-state'
import { growth } from '#bench/benchmarks/growth'
import { ingest } from '#bench/benchmarks/ingest'
import { latency } from '#bench/benchmarks/latency'
import { memory } from '#bench/benchmarks/memory'
import { peers } from '#bench/benchmarks/peers'
import { restart } from '#bench/benchmarks/restart'
import { rollout } from '#bench/benchmarks/rollout'
import { worst } from '#bench/benchmarks/worst'
import type { Benchmark } from '#bench/harness/benchmark'
import { thisMachine } from '#bench/harness/machine'
import { judge, measure } from '#bench/harness/measure'
import { markdownOf, type Report } from '#bench/harness/report'
import { projectRoot } from '#bench/project-root'

/** `npm run bench -- <name>`: measures, judges, and writes the report. */
const benchmarks: Readonly<Record<string, Benchmark>> = {
  ingest,
  fanout,
  latency,
  'full-state': fullState,
  memory,
  restart,
  growth,
  auth,
  rollout,
  peers,
  worst,
}

/** Benchmarks whose description states for each measurement whether IAM is on. */
const statesIam: readonly string[] = ['auth', 'peers', 'worst']

const roundsDefault = 5

const usage = `Usage: npm run bench -- [options] [name …]      (every benchmark when none is named)

  --list       the benchmarks
  --rounds N   rounds (${roundsDefault} where a benchmark does not say otherwise)
  --quick      one short round, to try a bench itself; its figures mean nothing and are not saved
  --help       this page

Reports are written to bench/results/<name>.md. Exit code 1 when a target was not held or a measurement
failed; the others are reported all the same.`

/** The first line of a benchmark's file. */
function aboutOf(name: string): string {
  const [first = ''] = readFileSync(join(projectRoot, `bench/benchmarks/${name}.ts`), 'utf8').split('\n')
  return first.replace(/^\/\/ /, '')
}

async function report(name: string, benchmark: Benchmark, isQuick: boolean, asked?: number): Promise<Report> {
  const about = aboutOf(name) + (statesIam.includes(name) ? '' : ' Measured with IAM off.')
  console.log(`${name}: ${about}`)
  const rounds = asked ?? benchmark.rounds ?? roundsDefault
  const { results, failures, repeats } = await measure(benchmark, { rounds, isQuick, print: console.log })
  const verdicts = judge(benchmark.targets, results, failures.length > 0)
  return { name, about, machine: thisMachine(), rounds, results, failures, repeats, verdicts }
}

async function main(args: readonly string[]): Promise<number> {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      list: { type: 'boolean' },
      help: { type: 'boolean' },
      quick: { type: 'boolean' },
      rounds: { type: 'string' },
    },
  })
  if (values.help) {
    console.log(usage)
    return 0
  }
  if (values.list) {
    for (const name of Object.keys(benchmarks)) console.log(`${name.padEnd(12)}${aboutOf(name)}`)
    return 0
  }
  const isQuick = values.quick === true
  const rounds = values.rounds === undefined ? undefined : Number(values.rounds)
  if (rounds !== undefined && !(Number.isInteger(rounds) && rounds >= 1 && rounds <= 100)) {
    throw new RangeError(`--rounds must be an integer from 1 to 100; got '${values.rounds}'`)
  }
  const unknown = positionals.filter((name) => !Object.hasOwn(benchmarks, name))
  if (unknown.length > 0) throw new RangeError(`no such benchmark: ${unknown.join(', ')}; see --list`)
  const reports: Report[] = []
  for (const name of positionals.length > 0 ? positionals : Object.keys(benchmarks)) {
    const benchmark = benchmarks[name] as Benchmark
    const made = await report(name, benchmark, isQuick, isQuick ? 1 : rounds)
    reports.push(made)
    const markdown = markdownOf(made, benchmark)
    console.log(`\n${markdown}`)
    if (!isQuick) keep(made, markdown, benchmark.appendix?.(made.results).files)
  }
  const isWhole = reports.every(({ failures }) => failures.length === 0)
  const isHeld = isQuick || reports.every(({ verdicts }) => verdicts.every((verdict) => verdict.isHeld))
  return isWhole && isHeld ? 0 : 1
}

function keep(made: Report, markdown: string, appendix: Readonly<Record<string, string>> = {}): void {
  const folder = join(projectRoot, 'bench/results')
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, `${made.name}.md`), markdown)
  for (const [file, text] of Object.entries(appendix)) writeFileSync(join(folder, file), text)
}

// The exit handlers remove processes and folders. Not `once`: the terminal and npm both send the signal.
for (const [signal, code] of [['SIGHUP', 129] as const, ['SIGINT', 130] as const, ['SIGTERM', 143] as const]) {
  process.on(signal, () => process.exit(code))
}

try {
  process.exitCode = await main(process.argv.slice(2))
} catch (error) {
  console.error(error instanceof RangeError || error instanceof TypeError ? error.message : error)
  process.exitCode = 2
}
