import type { StreamEvent } from '#bench/dashboard'
import type { Fleet } from '#bench/fleet/fleet'
import type { HeardReport } from '#bench/fleet/heard'
import { asked, identityOn } from '#bench/harness/identity'
import { loadedBefore } from '#bench/harness/servers'
import { temporaryFolder } from '#bench/harness/temporary-folder'
import { patient } from '#bench/proof/left-folder'
import { passingPrefix } from '#bench/proof/soak/device-walks'
import { type GaugeName, gauges } from '#bench/proof/soak/gauges'
import { type Growth, growthOf } from '#bench/proof/soak/growth'
import { Sampler } from '#bench/proof/soak/sampler'
import { pointsMin } from '#bench/proof/soak/slope'
import { type Surroundings, surround } from '#bench/proof/soak/surroundings'
import { pass } from '#bench/proof/soak/walks'
import { Witness } from '#bench/proof/witness'
import type { ChangeCounts } from '#bench/proof/workloads/expected-state'
import { ProofApi } from '#bench/proof/workloads/proof-api'
import { WorkloadRunner } from '#bench/proof/workloads/workload-runner'
import { SeededRandom } from '#bench/random'
import { freePort, type ServerProcess, type ServerSettings, startServer } from '#bench/server-process'

export interface SoakOptions {
  readonly minutes: number
  readonly seed: number
  /** Of fleets that only report. */
  readonly devices: number
  /** Changes a second in all. */
  readonly rate: number
  readonly print: (line: string) => void
  /** Before the server's program; for trying the proof itself. */
  readonly nodeArguments?: readonly string[]
}

export interface SoakReport {
  readonly seconds: number
  readonly changesAcknowledged: number
  readonly changesPerSecond: number
  /** Once it was warm. */
  readonly growth: Readonly<Partial<Record<GaugeName, Growth>>>
  readonly heard: HeardReport
  readonly walks: Readonly<Record<string, number>>
  readonly writes: Readonly<Record<string, ChangeCounts>>
  readonly problems: readonly string[]
}

/** What it takes until everything that is kept for a while is as much as it stays: of the whole time. */
export const warmShare = 0.4
/** What is kept for a while is kept for so short a while that it goes again and again. */
const shortLived = {
  STREAM_RETENTION_MB: '16',
  ACCESS_TOKEN_LIFETIME_S: '60',
  REFRESH_TOKEN_LIFETIME_S: '60',
  WRITE_TIMEOUT_S: '2',
} as const
/**
 * Clerks rest for so many times as long as they do where the server is killed every second. What they are promised for a day
 * (answers under a key, what became of an action) is to come to little in half an hour.
 */
const pauseTimes = 8
/** How often gauges are read in the whole time, and after how many of these everything dead is collected. */
const looks = 600
const collectEvery = 10
/** Where looks follow each other faster than they can be taken, there are fewer of them. */
const hurriedMs = 100
const collectHurried = 2
/** What is idle for five minutes is forgotten. When that does not fit into getting warm, time has to pass faster. */
const warmMinutesMin = 6
/** Beyond it who does not read for some seconds counts as dead. */
const timesFasterMax = 20
const cutEveryMs = { low: 2_000, high: 15_000 }
const sayEveryMs = 30_000
const quietMsMax = 60_000
const problemsMax = 5

/**
 * Runs the server under a load of everything that comes and goes, for long, and looks whether it needs more and more for
 * it. At the end everything that was acknowledged must be there, as where it is killed.
 */
export async function proveSoak(options: SoakOptions): Promise<SoakReport> {
  const folder = temporaryFolder('soak-proof-')
  const run = new SoakRun(options, { port: await freePort(), dataFolder: folder.path })
  try {
    return await run.run()
  } finally {
    await run.end()
    await folder.remove()
  }
}

class SoakRun {
  readonly #options: SoakOptions
  readonly #place: { readonly port: number; readonly dataFolder: string }
  readonly #random: SeededRandom
  readonly #problems: string[] = []
  #server: ServerProcess | undefined
  #sampler: Sampler | undefined
  #witness: Witness | undefined
  #runner: WorkloadRunner | undefined
  #fleets: readonly Fleet[] = []
  #isOver = false

  constructor(options: SoakOptions, place: { readonly port: number; readonly dataFolder: string }) {
    this.#options = options
    this.#place = place
    this.#random = new SeededRandom(options.seed)
  }

  async run(): Promise<SoakReport> {
    const { minutes, seed, devices, rate } = this.#options
    const url = `http://127.0.0.1:${this.#place.port}`
    const random = this.#random
    const server = await startServer(this.#settings())
    this.#server = server
    const runner = await WorkloadRunner.open({ ...this.#place, random, pauseTimes })
    this.#runner = runner
    const { authorization } = runner
    const api = new ProofApi(url, authorization, this.#place.dataFolder)
    const { key } = await asked<{ key: string }>(this.#place.port, '/iam/provisioning-keys', {
      person: authorization,
      body: { name: 'Fleets' },
    })
    const isOver = () => this.#isOver
    const { fleets, walks } = await surround(
      { ...{ api, url, random, key, isOver }, port: this.#place.port },
      { devices, rate, seed },
    )
    this.#fleets = fleets
    const others = (event: StreamEvent) => runner.receive(event) || isPassing(event)
    const witness = new Witness({ name: 'resumed', url, fleets, from: 'state', rule: 'newest', authorization, others })
    this.#witness = witness
    witness.dashboard.start()
    for (const fleet of fleets) fleet.start()
    this.#problems.push(...(await runner.check()))
    const sampler = new Sampler({ server, url, authorization, dataFolder: this.#place.dataFolder })
    this.#sampler = sampler
    const timesFaster = Math.min(timesFasterMax, Math.max(1, warmMinutesMin / (minutes * warmShare)))
    const everyMs = (minutes * 60_000) / looks
    sampler.start({ everyMs, collectEvery: everyMs < hurriedMs ? collectHurried : collectEvery, timesFaster })

    const startedAt = performance.now()
    const working = Promise.all([runner.run(isOver), walks.work(), this.#disturb()])
    await this.#pass({ fleets, walks }, runner, sampler, startedAt)
    const seconds = (performance.now() - startedAt) / 1000
    sampler.stop()
    this.#isOver = true
    await working
    const changesAcknowledged = this.#acknowledged()
    this.#problems.push(...walks.problems)
    await this.#quiet(witness, runner)
    await this.#endServer(server)
    for (const fleet of fleets) for (const fault of fleet.counts.faults) this.#problems.push(`link: ${fault}`)
    const growth = this.#growth(sampler)
    return {
      ...{ seconds, changesAcknowledged, changesPerSecond: changesAcknowledged / seconds, growth },
      ...{ heard: witness.report(), walks: walks.counts, writes: runner.counts },
      problems: [
        ...this.#problems,
        ...witness.problems(),
        ...Object.values(growth).flatMap(({ problem }) => (problem === undefined ? [] : [problem])),
      ],
    }
  }

  async end(): Promise<void> {
    this.#isOver = true
    this.#sampler?.stop()
    this.#witness?.dashboard.stop()
    await this.#runner?.end()
    await Promise.all(this.#fleets.map((fleet) => fleet.stop(false)))
    await this.#server?.kill()
  }

  async #pass({ walks }: Surroundings, runner: WorkloadRunner, sampler: Sampler, startedAt: number): Promise<void> {
    const { minutes, print } = this.#options
    const passedMs = () => performance.now() - startedAt
    let saidAt = 0
    while (passedMs() < minutes * 60_000 && walks.problems.length < problemsMax) {
      if (this.#server?.isEnded) {
        this.#problems.push(`the server ended by itself\n${this.#lastWords()}`)
        return
      }
      await pass(Math.min(500, minutes * 60_000 - passedMs()))
      if (passedMs() - saidAt < sayEveryMs) continue
      saidAt = passedMs()
      await runner.readMails()
      print(
        `${(passedMs() / 60_000).toFixed(1)} min: ${this.#acknowledged()} changes acknowledged; ${lastReadings(sampler)}`,
      )
    }
  }

  /** Links and the dashboard lose their connections now and then, and come back. */
  async #disturb(): Promise<void> {
    while (!this.#isOver) {
      const end = performance.now() + this.#random.between(cutEveryMs.low, cutEveryMs.high)
      while (performance.now() < end && !this.#isOver) await pass(100)
      if (this.#random.below(3) === 0) this.#witness?.dashboard.cut()
      else this.#fleets[this.#random.below(this.#fleets.length)]?.cutAll()
    }
  }

  /** The fleets finish what they began, the dashboard hears the last of it, and all that was acknowledged is looked for. */
  async #quiet(witness: Witness, runner: WorkloadRunner): Promise<void> {
    const found = [...(await runner.check())]
    for (const fleet of this.#fleets) fleet.pause()
    for (const fleet of this.#fleets) {
      if (await fleet.settled(quietMsMax)) continue
      found.push(`fleet ${fleet.options.prefix}: not everything was acknowledged within ${quietMsMax / 1000} s`)
    }
    if (!(await witness.dashboard.caughtUp(quietMsMax))) found.push('the dashboard did not catch up at the end')
    found.push(...(await witness.dashboard.differences()).map((text) => `folded state against GET /devices: ${text}`))
    witness.dashboard.stop()
    this.#problems.push(...found, ...runner.eventFaults({ isWhole: false }), ...(await runner.unmailed(quietMsMax)))
    await Promise.all(this.#fleets.map((fleet) => fleet.stop()))
  }

  async #endServer(server: ServerProcess): Promise<void> {
    const result = await server.stop()
    if (result !== 0) this.#problems.push(`SIGTERM ended the server with ${result}\n${this.#lastWords()}`)
  }

  #growth(sampler: Sampler): SoakReport['growth'] {
    const warmMinutes = this.#options.minutes * warmShare
    const found: Partial<Record<GaugeName, Growth>> = {}
    for (const name of Object.keys(gauges) as GaugeName[]) {
      const points = sampler.pointsOf(name).filter(({ minutes }) => minutes >= warmMinutes)
      if (points.length >= pointsMin) found[name] = growthOf(gauges[name], points)
      else this.#problems.push(`${gauges[name].title}: was read ${points.length} times only`)
    }
    return found
  }

  #settings(): ServerSettings {
    const probed = [...loadedBefore('harness/cheap-passwords'), ...loadedBefore('harness/memory-probe')]
    return {
      ...this.#place,
      environment: { ...identityOn, ...patient, ...shortLived },
      nodeArguments: ['--expose-gc', ...probed, ...(this.#options.nodeArguments ?? [])],
      isKilledAtExit: true,
    }
  }

  #acknowledged(): number {
    return this.#fleets.reduce((sum, fleet) => sum + fleet.counts.changesAcknowledged, 0)
  }

  #lastWords(): string {
    return (this.#server?.lines ?? []).join('\n')
  }
}

function isPassing({ deviceIdentifier }: StreamEvent): boolean {
  return String(deviceIdentifier).startsWith(passingPrefix)
}

function lastReadings(sampler: Sampler): string {
  const shown: readonly GaugeName[] = ['resident', 'live', 'descriptors', 'actors', 'database', 'heardP99']
  return shown
    .map((name) => {
      const { title, unit, scale, digits } = gauges[name]
      return `${title} ${(sampler.lastOf(name) / scale).toFixed(digits)}${unit && ` ${unit}`}`
    })
    .join(', ')
}
