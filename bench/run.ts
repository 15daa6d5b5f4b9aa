import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { thisMachine } from '#bench/harness/machine'
import { measure } from '#bench/harness/measure'
import type { Question } from '#bench/harness/question'
import { markdownOf, type Report } from '#bench/harness/report'
import { turnIdentityOn } from '#bench/harness/servers'
import { judge } from '#bench/harness/verdict'
import { projectRoot } from '#bench/project-root'
import { alarms } from '#bench/questions/alarms'
import { auth } from '#bench/questions/auth'
import { dashboard } from '#bench/questions/dashboard'
import { fanout } from '#bench/questions/fanout'
import { fullState } from '#bench/questions/full-state'
import { functions } from '#bench/questions/functions'
import { growth } from '#bench/questions/growth'
import { ingest } from '#bench/questions/ingest'
import { latency } from '#bench/questions/latency'
import { memory } from '#bench/questions/memory'
import { peers } from '#bench/questions/peers'
import { restart } from '#bench/questions/restart'
import { rollout } from '#bench/questions/rollout'
import { worst } from '#bench/questions/worst'

/** `npm run bench -- <name>`: measures, judges, and writes down what came out. */
const questions: Readonly<Record<string, Question>> = {
  ingest,
  fanout,
  latency,
  'full-state': fullState,
  memory,
  restart,
  growth,
  auth,
  alarms,
  functions,
  rollout,
  dashboard,
  peers,
  worst,
}

/** Those that start a server by themselves, or decide for each variant: `--iam` says nothing to them. */
const ownIdentity: readonly string[] = ['restart', 'auth', 'functions', 'dashboard', 'peers', 'worst']
/** Those of them that say of what they measure whether it is on. */
const tellsIdentity: readonly string[] = ['auth', 'functions', 'peers', 'worst']

const roundsDefault = 5

const usage = `Usage: npm run bench -- [options] [name …]      (every question when none is named)

  --list       the questions
  --json       the report as JSON on standard output, progress on standard error
  --rounds N   rounds (${roundsDefault} where a question does not say otherwise)
  --iam        identity on, which is off else: devices come by a provisioning key, dashboards and readers by a token;
               written down as <name>-iam; not with ${ownIdentity.join(', ')}
  --quick      one short round, to try a bench itself; its figures mean nothing and are not written down
  --help       this page

Reports are written to bench/results/<name>.md. Exit code 1 when a target was not held or something
could not be measured; what was measured is reported all the same.`

/** The first line of a question's file. */
function aboutOf(name: string): string {
  const [first = ''] = readFileSync(join(projectRoot, `bench/questions/${name}.ts`), 'utf8').split('\n')
  return first.replace(/^\/\/ /, '')
}

async function report(name: string, question: Question, options: Options): Promise<Report> {
  const print = options.isJson ? console.error : console.log
  const isTold = tellsIdentity.includes(name)
  const about = aboutOf(name) + (isTold ? '' : ` Measured with IAM ${options.isIdentityOn ? 'on' : 'off'}.`)
  const machine = thisMachine()
  print(`${name}: ${about}`)
  const { isQuick, rounds = question.rounds ?? roundsDefault } = options
  const { results, failures, repeats } = await measure(question, { rounds, isQuick, print })
  const verdicts = judge(question.targets, results, failures.length > 0)
  const keptAs = options.isIdentityOn ? `${name}-iam` : name
  return { name: keptAs, about, machine, rounds, results, failures, repeats, verdicts }
}

interface Options {
  readonly isJson: boolean
  readonly isQuick: boolean
  readonly isIdentityOn: boolean
  readonly rounds: number | undefined
}

async function main(args: readonly string[]): Promise<number> {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      list: { type: 'boolean' },
      iam: { type: 'boolean' },
      help: { type: 'boolean' },
      json: { type: 'boolean' },
      quick: { type: 'boolean' },
      rounds: { type: 'string' },
    },
  })
  if (values.help) {
    console.log(usage)
    return 0
  }
  if (values.list) {
    for (const name of Object.keys(questions)) console.log(`${name.padEnd(12)}${aboutOf(name)}`)
    return 0
  }
  const isQuick = values.quick === true
  const rounds = values.rounds === undefined ? undefined : Number(values.rounds)
  if (rounds !== undefined && !(Number.isInteger(rounds) && rounds >= 1 && rounds <= 100)) {
    throw new RangeError(`--rounds must be an integer from 1 to 100; got '${values.rounds}'`)
  }
  const unknown = positionals.filter((name) => !Object.hasOwn(questions, name))
  if (unknown.length > 0) throw new RangeError(`no such question: ${unknown.join(', ')}; see --list`)
  const isIdentityOn = values.iam === true
  const deaf = positionals.filter((name) => isIdentityOn && ownIdentity.includes(name))
  if (deaf.length > 0) throw new RangeError(`--iam says nothing to ${deaf.join(', ')}`)
  const all = Object.keys(questions).filter((name) => !(isIdentityOn && ownIdentity.includes(name)))
  if (isIdentityOn) turnIdentityOn()
  const options = { isJson: values.json === true, isQuick, isIdentityOn, rounds: isQuick ? 1 : rounds }
  const reports: Report[] = []
  for (const name of positionals.length > 0 ? positionals : all) {
    const question = questions[name] as Question
    if (question.leftOut !== undefined) {
      console.error(`${name}: ${question.leftOut}`)
      continue
    }
    const made = await report(name, question, options)
    reports.push(made)
    const markdown = markdownOf(made, question)
    if (!options.isJson) console.log(`\n${markdown}`)
    if (!isQuick) keep(made, markdown, question.beside?.(made.results).files)
  }
  if (options.isJson) console.log(JSON.stringify(reports, undefined, 1))
  const isWhole = reports.every(({ failures }) => failures.length === 0)
  const isHeld = isQuick || reports.every(({ verdicts }) => verdicts.every((verdict) => verdict.isHeld))
  return isWhole && isHeld ? 0 : 1
}

function keep(made: Report, markdown: string, beside: Readonly<Record<string, string>> = {}): void {
  const folder = join(projectRoot, 'bench/results')
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, `${made.name}.md`), markdown)
  for (const [file, text] of Object.entries(beside)) writeFileSync(join(folder, file), text)
}

// So that what is still there is removed: a signal alone ends the process without a word. Not `once`: npm passes on what
// the terminal has sent already.
for (const [signal, code] of [['SIGHUP', 129] as const, ['SIGINT', 130] as const, ['SIGTERM', 143] as const]) {
  process.on(signal, () => process.exit(code))
}

try {
  process.exitCode = await main(process.argv.slice(2))
} catch (error) {
  console.error(error instanceof RangeError || error instanceof TypeError ? error.message : error)
  process.exitCode = 2
}
