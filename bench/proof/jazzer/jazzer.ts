import { spawn, spawnSync } from 'node:child_process'
import { closeSync, mkdirSync, mkdtempSync, openSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { projectRoot } from '#bench/project-root'
import type { Target } from '#bench/proof/jazzer/target'

/** Jazzer.js where it was found, and the Node that it can be loaded by. */
export interface Jazzer {
  readonly node: string
  /** Its command. */
  readonly cli: string
}

/** What came of one target. */
export interface Fuzzed {
  /** How often it was called. */
  readonly runs: number
  /** Edges of code that were reached. */
  readonly coverage: number
  /** What was thrown, and for which bytes. */
  readonly finding?: { readonly said: string; readonly bytes: Uint8Array }
}

export interface FuzzOptions {
  readonly seconds: number
  readonly seed: number
}

const what = 'coverage-guided fuzzing could not be tried'

const toInstall =
  'npm install @jazzer.js/core@4.0.0 in a folder of its own, and name that folder: --from FOLDER. Its binary for Linux ' +
  'needs glibc 2.38 or later'

const toLoad = 'its binary for Linux needs glibc 2.38 or later; a Node that has it can be named: --node PROGRAM'

/** Beside our own code, of packages that read what comes from outside: instrumented. */
const packages = ['msgpackr', 'mustache', 'json-logic-engine']

/** `folder`: where it is looked for, as Node looks for packages. @throws Error that says why it cannot be tried */
export function findJazzer(folder: string, node: string): Jazzer {
  const require = createRequire(join(resolve(folder), 'package.json'))
  let cli: string
  let addon: string
  try {
    const core = require.resolve('@jazzer.js/core/package.json')
    cli = join(dirname(core), 'dist/cli.js')
    addon = createRequire(core).resolve('@jazzer.js/fuzzer')
  } catch {
    throw new Error(`${what}: @jazzer.js/core is not installed in ${folder}. ${toInstall}`)
  }
  const glibc = 'process.report?.getReport().header.glibcVersionRuntime ?? "none"'
  const { status, error, stdout, stderr } = spawnSync(
    node,
    ['-e', `console.log(${glibc}); require(${JSON.stringify(addon)})`],
    { encoding: 'utf8' },
  )
  if (status === 0) return { node, cli }
  const why = error?.message ?? /^\w*Error: .*$/m.exec(stderr)?.[0] ?? stderr.trim()
  const here = stdout?.trim() || 'unknown'
  throw new Error(`${what}: @jazzer.js/core could not be loaded (${why}; the glibc here: ${here}): ${toLoad}`)
}

/** Tries a target for so long. @throws Error when Jazzer.js ended otherwise than by a finding or the time */
export async function fuzzed(
  { node, cli }: Jazzer,
  name: string,
  { seeds, words }: Target,
  { seconds, seed }: FuzzOptions,
): Promise<Fuzzed> {
  const folder = mkdtempSync(join(tmpdir(), 'jazzer-'))
  try {
    const corpus = join(folder, 'corpus')
    mkdirSync(corpus)
    for (const [place, bytes] of seeds.entries()) writeFileSync(join(corpus, `seed-${place}`), bytes)
    const dictionary = join(folder, 'words')
    writeFileSync(dictionary, wordsOf([...seeds, Buffer.from((words ?? []).join(' '))]))
    const included = ['dist/src/', 'dist/actors/', ...packages.map((each) => `node_modules/${each}/`)]
    const { code, said } = await ran(node, folder, [
      cli,
      join(projectRoot, `dist/bench/proof/jazzer/targets/${name}.js`),
      corpus,
      '--sync',
      ...included.flatMap((part) => ['-i', part]),
      ...['-e', '@jazzer.js/'],
      '--',
      `-max_total_time=${seconds}`,
      `-seed=${seed}`,
      `-artifact_prefix=${folder}/`,
      `-dict=${dictionary}`,
      '-print_final_stats=1',
    ])
    const [artifact] = readdirSync(folder).filter((file) => /^(?:crash|timeout|oom|leak)-/.test(file))
    const counts = {
      runs: lastNumber(said, /number_of_executed_units: (\d+)/g),
      coverage: lastNumber(said, /\bcov: (\d+)/g),
    }
    if (artifact !== undefined) {
      return { ...counts, finding: { said: findingIn(said), bytes: readFileSync(join(folder, artifact)) } }
    }
    // Also with 0, when it ended before its time and says nothing of what it did.
    if (code !== 0 || counts.runs === 0)
      throw new Error(`${name}: Jazzer.js ended with ${code}:\n${said.slice(-4_000)}`)
    return counts
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** By a file: over a pipe its last lines were missing once (seen: no count, exit code 0). */
async function ran(
  node: string,
  folder: string,
  args: readonly string[],
): Promise<{ readonly code: number | null; readonly said: string }> {
  const file = join(folder, 'said')
  const output = openSync(file, 'w')
  try {
    const child = spawn(node, args, { cwd: folder, stdio: ['ignore', output, output] })
    const code = await new Promise<number | null>((done, failed) => {
      child.once('error', failed)
      child.once('close', done)
    })
    return { code, said: readFileSync(file, 'utf8') }
  } finally {
    closeSync(output)
  }
}

/** What the texts are made of, each once: chance would put together few of them. As libFuzzer reads dictionaries. */
function wordsOf(texts: readonly Uint8Array[]): string {
  const words = texts.flatMap((text) => Buffer.from(text).toString('latin1').match(wordPattern) ?? [])
  const lines = [...new Set(words)].map((word) => `"${word.replace(/["\\]/g, '\\$&')}"\n`)
  return lines.join('')
}

/** A text of JSON with its quotes, a name or number, or a few signs. */
const wordPattern = /"[ !#-[\]-~]{1,40}"|\w{1,40}|[!#-/:-@[\]^{-~]{1,3}/g

/** From where it says what it found. */
function findingIn(said: string): string {
  const lines = said.split('\n')
  const start = lines.findIndex((line) => /^==\d+== |Uncaught Exception|ERROR: /.test(line))
  return lines.slice(Math.max(start, 0)).slice(0, 30).join('\n')
}

function lastNumber(said: string, pattern: RegExp): number {
  return Number([...said.matchAll(pattern)].at(-1)?.[1] ?? 0)
}
