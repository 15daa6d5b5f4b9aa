import { readFileSync } from 'node:fs'
import { amount, integer, option } from '#bench/command-line'
import { identityOn } from '#bench/harness/identity'
import { standardLoad, underLoad } from '#bench/harness/running-load'
import { ownServer } from '#bench/harness/servers'
import type { Outcome, Proof } from '#bench/proof/outcome'
import { type CaseOptions, type CaseReport, runCase } from '#bench/proof/overload/case-runner'
import { overloadCases } from '#bench/proof/overload/cases'

export interface OverloadProofOptions extends Omit<CaseOptions, 'name' | 'rated' | 'seconds'> {
  readonly names: readonly string[]
  /** Rated load in frames a second; absent: a tenth of the maximum, which is measured first. */
  readonly rated?: number
  readonly seconds?: number
}

interface OverloadProofReport extends Outcome {
  readonly cases: Readonly<Record<string, CaseReport>>
}

const ratedShare = 0.1
/** Enough for a server with 15 000 sockets, and for its database. */
const openFilesMin = 18_000

/**
 * Overloads servers in every way, one after the other: memory stays below the cap, refused clients get an answer, no
 * acknowledged change is lost, and normal latency returns within seconds.
 */
export async function proveOverload(options: OverloadProofOptions): Promise<OverloadProofReport> {
  const { names, print } = options
  if (options.scale === 1) mustHaveFiles()
  const maximum = options.rated === undefined ? await measuredMaximum() : undefined
  const rated = options.rated ?? Math.round((maximum as number) * ratedShare)
  const summary = [`rated for ${rated} frames/s${maximum ? `, a tenth of ${Math.round(maximum)}` : ''}`, memoryMeant]
  print(summary[0] as string)
  const cases: Record<string, CaseReport> = {}
  const problems: string[] = []
  for (const name of names) {
    const kind = overloadCases[name]
    if (!kind) throw new RangeError(`no such overload: ${name}`)
    const report = await runCase(kind, { ...options, name, rated, seconds: options.seconds ?? kind.seconds })
    cases[name] = report
    const found = report.late === undefined ? report.problems : [...report.problems, report.late]
    problems.push(...found.map((text) => `${name}: ${text}`))
    summary.push(`${name}, ${kind.about}: ${report.text}`)
    print(`${name}: ${report.text}`)
    for (const text of found) print(`${name}: WRONG: ${text}`)
  }
  return { cases, summary, problems }
}

/** Checks the hard limit of open files, because Node raises its soft limit to it. */
function mustHaveFiles(): void {
  const limit = Number(/^Max open files +\d+ +(\d+)/m.exec(readFileSync('/proc/self/limits', 'latin1'))?.[1])
  if (limit < openFilesMin) throw new Error(`this proof needs ${openFilesMin} open files; the limit is ${limit}`)
}

/** Measured as in the benchmark `ingest`, with IAM on. */
function measuredMaximum(): Promise<number> {
  return underLoad(ownServer(identityOn), standardLoad, async ({ run }) => {
    const { frames, seconds } = await run({ warmupMs: 2_000, measuredMs: 6_000 })
    return frames / seconds
  })
}

const cases = Object.entries(overloadCases)

const memoryMeant =
  'The cap applies to private memory (RssAnon, read 20 times a second). Mapped files (the program and tables of the ' +
  'database), which the kernel can reclaim, are measured and not judged.'

export const overloadProof: Proof<Pick<OverloadProofOptions, 'rated' | 'seconds' | 'scale'> & { only: string }> = {
  about: 'ten times the load, reconnect storms, many dashboards, floods and slow clients',
  help: `Overloads a server in several ways, one after the other, each with its own server, rated for a tenth of the measured
maximum: memory must stay below a cap, refused clients must get an answer, acknowledged changes must be stored once, and
the normal p99 of events must return within 5 s. ${memoryMeant}

${cases.map(([name, { about, seconds, capMib }]) => `  ${name.padEnd(11)} ${about}; ${seconds} s, ${capMib} MiB`).join('\n')}`,
  options: [
    option('--only A,B', 'only these overloads', undefined, cases.map(([name]) => name).join(',')),
    option('--rated N', 'frames/s (default: a tenth of the maximum, which is then measured first)', integer(1)),
    option('--seconds S', 'duration of each overload (default: as above)', integer(1)),
    option('--scale F', 'a factor for the numbers of devices, links, dashboards and clients, up to 1', amount(1), 1),
  ],
  run: ({ only, ...given }, print) =>
    proveOverload({ ...given, baselineSeconds: 6, observationSeconds: 30, names: only.split(','), print }),
}
