import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { StreamEvent, StreamPosition } from '#bench/dashboard'
import { readState, streamHead } from '#bench/dashboard'
import { FoldedState } from '#bench/dashboard/fold'
import type { Fleet } from '#bench/fleet/fleet'
import type { HeardReport } from '#bench/fleet/heard'
import { asked, identityOn } from '#bench/harness/identity'
import { loadedBefore } from '#bench/harness/servers'
import { proofFleets } from '#bench/proof/fleets'
import { patient } from '#bench/proof/left-folder'
import type { WitnessOptions } from '#bench/proof/witness'
import { Witness } from '#bench/proof/witness'
import type { ChangeCounts } from '#bench/proof/workloads/expected-state'
import { WorkloadRunner } from '#bench/proof/workloads/workload-runner'
import { SeededRandom } from '#bench/random'
import type { ServerSettings } from '#bench/server-process'
import { freePort, ServerProcess, startServer } from '#bench/server-process'

export interface KillProofOptions {
  readonly rounds: number
  readonly seed: number
  readonly devices: number
  /** Changes a second in all. */
  readonly rate: number
  /** Of `fleetWays`. */
  readonly ways: readonly string[]
  /** `both`: in turn, round by round. */
  readonly durability: 'process' | 'disk' | 'both'
  /** No round begins after so long. */
  readonly secondsMax: number
  /** Between a start and the next kill, at most; 2 s by default. */
  readonly lifeMsMax?: number
  readonly print: (line: string) => void
  /** Instead of the built server; for trying the proof itself. */
  readonly program?: string
}

export interface KillProofReport {
  readonly rounds: number
  readonly seconds: number
  /** Rounds in which nothing was acknowledged. */
  readonly idleRounds: number
  readonly longestStartMs: number
  /** Of the dashboard that resumed after every kill. */
  readonly resumed: HeardReport
  /** Of a fresh socket that read the stream from its start. */
  readonly fromStart: HeardReport
  /** By kind of write. */
  readonly writes: Readonly<Record<string, ChangeCounts>>
  /** Kinds of which nothing was acknowledged. */
  readonly idleKinds: readonly string[]
  readonly problems: readonly string[]
}

/** After a round begins, the server lives this long. */
const lifeMs = { low: 300, high: 2_000 }
/** In so many rounds of ten it is killed while it starts, or while everybody is still coming back. */
const earlyKillsOfTen = 2
const quietMsMax = 60_000
/** In so many rounds each kind has its turn, also signing keys: a server rotates them once a minute. */
const roundsForAllKinds = 100
const problemsMax = 5

/**
 * Kills the server again and again while devices send and a dashboard listens, then counts: every acknowledged frame is
 * in the stream exactly once, in its device's order, with the values that were sent; the dashboard that resumed after
 * every kill missed nothing and heard nothing twice, and what it folded is what the server shows.
 */
export async function proveKill(options: KillProofOptions): Promise<KillProofReport> {
  const dataFolder = await mkdtemp(join(tmpdir(), 'kill-proof-'))
  const run = new KillRun(options, { port: await freePort(), dataFolder })
  let hasHeld = false
  try {
    const report = await run.run()
    hasHeld = report.problems.length === 0
    return report
  } finally {
    await run.end()
    if (hasHeld) await rm(dataFolder, { recursive: true, force: true })
    else options.print(`the data folder is kept: ${dataFolder}`)
  }
}

type Hearing = Omit<WitnessOptions, 'name' | 'from' | 'rule'>

class KillRun {
  readonly #options: KillProofOptions
  readonly #where: { readonly port: number; readonly dataFolder: string }
  readonly #random: SeededRandom
  #fleets: readonly Fleet[] = []
  readonly #problems: string[] = []
  #server: ServerProcess | undefined
  #witness: Witness | undefined
  #runner: WorkloadRunner | undefined
  #working: Promise<void> = Promise.resolve()
  #isWorkOver = false
  #idleRounds = 0
  #longestStartMs = 0

  constructor(options: KillProofOptions, where: { readonly port: number; readonly dataFolder: string }) {
    this.#options = options
    this.#where = where
    this.#random = new SeededRandom(options.seed)
  }

  async run(): Promise<KillProofReport> {
    const { options, url } = { options: this.#options, url: `http://127.0.0.1:${this.#where.port}` }
    const startedAt = performance.now()
    await this.#start(0)
    const runner = await WorkloadRunner.open({ ...this.#where, random: this.#random })
    this.#runner = runner
    const { authorization } = runner
    const { key } = await asked<{ key: string }>(this.#where.port, '/iam/provisioning-keys', {
      person: authorization,
      body: { name: 'Fleets' },
    })
    this.#fleets = proofFleets(url, { ...options, key })
    const hearing = { url, fleets: this.#fleets, authorization, others: (event: StreamEvent) => runner.receive(event) }
    const witness = new Witness({ ...hearing, name: 'resumed', from: 'state', rule: 'newest' })
    this.#witness = witness
    witness.dashboard.start()
    for (const fleet of this.#fleets) fleet.start()
    this.#problems.push(...(await runner.check()))
    this.#work()

    let rounds = 0
    while (rounds < options.rounds && this.#problems.length < problemsMax) {
      if (performance.now() - startedAt > options.secondsMax * 1000) {
        this.#problems.push(`only ${rounds} of ${options.rounds} rounds in ${options.secondsMax} s`)
        break
      }
      await this.#round(++rounds, witness)
    }
    await this.#quiet(witness, runner)
    // Under the epoch of now: after as many starts that of the beginning is known no more. Contract 4.5.
    const { epoch } = await streamHead(url, authorization)
    const fromStart = await this.#readFromStart(hearing, { epoch, offset: runner.first.offset })
    await this.#restartCleanly(url, runner)
    for (const fleet of this.#fleets) for (const fault of fleet.counts.faults) this.#problems.push(`link: ${fault}`)
    if (this.#idleRounds > rounds / 2)
      this.#problems.push(`${this.#idleRounds} of ${rounds} rounds acknowledged nothing`)
    const idleKinds = idleKindsOf(runner.counts)
    return {
      rounds,
      seconds: (performance.now() - startedAt) / 1000,
      idleRounds: this.#idleRounds,
      longestStartMs: Math.round(this.#longestStartMs),
      resumed: witness.report(),
      fromStart: fromStart.report(),
      writes: runner.counts,
      idleKinds,
      problems: [
        ...this.#problems,
        ...witness.problems(),
        ...fromStart.problems(),
        ...idleKindsFaults(idleKinds, rounds),
      ],
    }
  }

  async end(): Promise<void> {
    this.#witness?.dashboard.stop()
    await this.#runner?.end()
    await Promise.all(this.#fleets.map((fleet) => fleet.stop(false)))
    await this.#server?.kill()
  }

  async #round(round: number, witness: Witness): Promise<void> {
    const before = this.#acknowledged()
    const lifetime = this.#random.between(lifeMs.low, this.#options.lifeMsMax ?? lifeMs.high)
    const isCut = this.#random.below(3) === 0
    await pass(lifetime / 2)
    if (isCut) witness.dashboard.cut()
    await pass(lifetime / 2)
    if (this.#server?.isEnded) this.#problems.push(`round ${round}: the server ended by itself\n${this.#lastWords()}`)
    await this.#server?.kill()
    this.#isWorkOver = true
    await this.#working
    // The links may not have noticed yet: an answer still in a socket's buffer was given before the kill.
    await pass(20)
    witness.mark()
    while (this.#random.below(10) < earlyKillsOfTen) {
      const server = new ServerProcess(this.#settings(round))
      await pass(this.#random.between(20, 600))
      await server.kill()
    }
    const gained = this.#acknowledged() - before
    if (gained === 0) this.#idleRounds++
    await this.#start(round)
    const found = (await this.#runner?.check()) ?? []
    this.#problems.push(...found.map((text) => `round ${round}: ${text}`))
    this.#work()
    if (await witness.dashboard.caughtUp(quietMsMax)) {
      this.#problems.push(...witness.missingSinceMark().map((text) => `round ${round}: ${text}`))
    } else this.#problems.push(`round ${round}: the dashboard did not catch up within ${quietMsMax / 1000} s`)
    if (round % 10 === 0) {
      this.#options.print(
        `round ${round}: ${this.#acknowledged()} changes acknowledged, ${witness.dashboard.counts.events} events heard`,
      )
    }
  }

  /** Until the server does not answer. */
  #work(): void {
    this.#isWorkOver = false
    this.#working = this.#runner?.run(() => this.#isWorkOver) ?? Promise.resolve()
  }

  /** The fleets finish what they began, the dashboard hears the last of it, and both views are held side by side. */
  async #quiet(witness: Witness, runner: WorkloadRunner): Promise<void> {
    this.#isWorkOver = true
    await this.#working
    this.#problems.push(...(await runner.check()))
    for (const fleet of this.#fleets) fleet.pause()
    for (const fleet of this.#fleets) {
      if (await fleet.settled(quietMsMax)) continue
      this.#problems.push(
        `fleet ${fleet.options.prefix}: not everything was acknowledged within ${quietMsMax / 1000} s`,
      )
    }
    if (!(await witness.dashboard.caughtUp(quietMsMax)))
      this.#problems.push('the dashboard did not catch up at the end')
    const differences = await witness.dashboard.differences()
    this.#problems.push(...differences.map((text) => `folded state against GET /devices: ${text}`))
    witness.dashboard.stop()
    this.#problems.push(...runner.eventFaults(), ...(await runner.unmailed(quietMsMax)))
  }

  async #readFromStart(hearing: Hearing, first: StreamPosition): Promise<Witness> {
    const others = (event: StreamEvent) => this.#runner?.owns(event) === true
    const reader = new Witness({ ...hearing, others, name: 'from the start', from: first, rule: 'whole' })
    reader.dashboard.start()
    if (!(await reader.dashboard.caughtUp(quietMsMax * 2)))
      this.#problems.push('the stream could not be read to its end')
    const differences = await reader.dashboard.differences()
    this.#problems.push(...differences.map((text) => `the stream folded from its start against GET /devices: ${text}`))
    reader.dashboard.stop()
    return reader
  }

  /** SIGTERM answers with exit code 0, and the next start shows the same. */
  async #restartCleanly(url: string, runner: WorkloadRunner): Promise<void> {
    await Promise.all(this.#fleets.map((fleet) => fleet.stop()))
    const before = await readFolded(url, runner.authorization)
    const result = await this.#server?.stop()
    if (result !== 0) this.#problems.push(`SIGTERM ended the server with ${result}\n${this.#lastWords()}`)
    await this.#start(0)
    const differences = before.differences(await readFolded(url, runner.authorization))
    this.#problems.push(...differences.map((text) => `before and after a clean restart: ${text}`))
    this.#problems.push(...(await runner.check()).map((text) => `after a clean restart: ${text}`))
  }

  async #start(round: number): Promise<void> {
    const startedAt = performance.now()
    this.#server = await startServer(this.#settings(round))
    this.#longestStartMs = Math.max(this.#longestStartMs, performance.now() - startedAt)
  }

  #settings(round: number): ServerSettings {
    const { durability, program } = this.#options
    const ofRound = durability === 'both' ? (round % 2 === 0 ? 'process' : 'disk') : durability
    return {
      ...this.#where,
      environment: { ...identityOn, ...patient, DURABILITY: ofRound },
      nodeArguments: loadedBefore('harness/cheap-passwords'),
      ...(program !== undefined && { program }),
    }
  }

  #acknowledged(): number {
    return this.#fleets.reduce((sum, fleet) => sum + fleet.counts.changesAcknowledged, 0)
  }

  #lastWords(): string {
    return (this.#server?.lines ?? []).join('\n')
  }
}

function idleKindsOf(writes: KillProofReport['writes']): readonly string[] {
  return Object.entries(writes).flatMap(([name, { acknowledged }]) => (acknowledged === 0 ? [name] : []))
}

/** A kind of which nothing was acknowledged is not proven; in a short run some do not get to it. */
function idleKindsFaults(idleKinds: readonly string[], rounds: number): readonly string[] {
  if (rounds < roundsForAllKinds) return []
  return idleKinds.map((name) => `${name}: nothing was acknowledged in ${rounds} rounds`)
}

async function readFolded(url: string, authorization: string): Promise<FoldedState> {
  const state = new FoldedState()
  state.replace((await readState(url, authorization)).entries)
  return state
}

const pass = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))
