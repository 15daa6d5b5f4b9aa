import { readFileSync } from 'node:fs'
import { identityOn } from '#bench/harness/identity'
import { standardLoad, underLoad } from '#bench/harness/running-load'
import { ours } from '#bench/harness/servers'
import { type CaseReport, caseText, runCase } from '#bench/proof/overload/case-runner'
import { overloadCases } from '#bench/proof/overload/cases'

export interface OverloadProofOptions {
  readonly names: readonly string[]
  readonly seed: number
  /** Rated load in frames a second; absent: a tenth of the maximum, which is measured first. */
  readonly rated?: number
  /** A factor for everything that is counted in thousands. */
  readonly scale: number
  readonly seconds?: number
  readonly baselineSeconds: number
  /** See `CaseOptions`. */
  readonly observationSeconds: number
  /** See `CaseOptions`. */
  readonly planted?: readonly string[]
  readonly print: (line: string) => void
}

export interface OverloadProofReport {
  readonly seconds: number
  /** Maximum number of frames a second that are stored, acknowledged and published; absent if not measured. */
  readonly maximum?: number
  readonly rated: number
  readonly cases: Readonly<Record<string, CaseReport>>
  readonly problems: readonly string[]
}

const ratedShare = 0.1
/** A server with 15 000 sockets, its database and some more. */
const openFilesMin = 18_000

/**
 * Overloads servers in every way, one after the other: memory stays below the cap, refused clients get an answer, no
 * acknowledged change is lost, and normal latency returns within seconds.
 */
export async function proveOverload(options: OverloadProofOptions): Promise<OverloadProofReport> {
  const { names, print } = options
  if (options.scale === 1) mustHaveFiles()
  const startedAt = performance.now()
  const maximum = options.rated === undefined ? await measuredMaximum() : undefined
  const rated = options.rated ?? Math.round((maximum as number) * ratedShare)
  if (maximum !== undefined) print(`at most ${Math.round(maximum)} frames/s, so rated for ${rated}`)
  const cases: Record<string, CaseReport> = {}
  const problems: string[] = []
  for (const name of names) {
    const kind = overloadCases[name]
    if (!kind) throw new RangeError(`no such overload: ${name}`)
    const report = await runCase(kind, { ...options, name, rated, seconds: options.seconds ?? kind.seconds })
    cases[name] = report
    const found = report.late === undefined ? report.problems : [...report.problems, report.late]
    problems.push(...found.map((text) => `${name}: ${text}`))
    print(`${name}: ${caseText(report)}`)
    for (const text of found) print(`${name}: WRONG: ${text}`)
  }
  return {
    seconds: (performance.now() - startedAt) / 1000,
    ...(maximum !== undefined && { maximum: Math.round(maximum) }),
    rated,
    cases,
    problems,
  }
}

/** Node raises its own soft limit to the hard limit. */
function mustHaveFiles(): void {
  const limit = Number(/^Max open files +\d+ +(\d+)/m.exec(readFileSync('/proc/self/limits', 'latin1'))?.[1])
  if (limit < openFilesMin) throw new Error(`this proof needs ${openFilesMin} open files; the limit is ${limit}`)
}

/** Measured like the benchmark, with IAM on. */
function measuredMaximum(): Promise<number> {
  return underLoad(ours(identityOn), standardLoad, async ({ run }) => {
    const { frames, seconds } = await run({ warmupMs: 2_000, measuredMs: 6_000 })
    return frames / seconds
  })
}
