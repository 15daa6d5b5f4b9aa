import { parseArgs } from 'node:util'
import type { StreamEvent } from '#bench/dashboard'
import type { ComparisonReport } from '#bench/fleet/stream-comparison'
import { loadedBefore } from '#bench/harness/servers'
import { temporaryFolder } from '#bench/harness/temporary-folder'
import { LoadedServer, type ServerPlace } from '#bench/proof/loaded-server'
import { type Outcome, type Proof, positive, seedFrom, seedOption } from '#bench/proof/outcome'
import { type GaugeName, type Growth, gauges, growthOf, slopeText } from '#bench/proof/soak/growth'
import { Sampler } from '#bench/proof/soak/sampler'
import { Visitors, visitingPrefix } from '#bench/proof/soak/visitors'
import { type ChangeCounts, pass } from '#bench/proof/workloads/expected-state'
import { freePort, type ServerSettings } from '#bench/server-process'

export interface SoakOptions {
  readonly minutes: number
  readonly seed: number
  readonly devices: number
  readonly rate: number
  readonly print: (line: string) => void
  /** Node arguments before the server's program, to test the proof itself. */
  readonly nodeArguments?: readonly string[]
}

/** With details for the test of the proof itself. */
export interface SoakOutcome extends Outcome {
  readonly growth: Readonly<Partial<Record<GaugeName, Growth>>>
  readonly received: ComparisonReport
  readonly visits: Visitors['counts']
  readonly writes: Readonly<Record<string, ChangeCounts>>
}

const help = `Usage: npm run proof -- soak [options]

Runs the server for half an hour under the load of the kill proof, but without kills, while devices and subscribers come and
go, and measures whether its memory, descriptors or disk usage grow after the warm-up (two fifths of the time). In a shorter run
the server's clock is faster, so that it evicts as early; below ten minutes most results are noise.

  --minutes N           (30)
  --seed N              random seed (the clock)`

/** Devices, and changes a second, of all fleets together. */
const fleetSize = { devices: 500, rate: 15_000 } as const

export const soakProof: Proof = {
  about: 'half an hour under all kinds of load without growth',
  help,
  run(args, print) {
    const options = { ...seedOption, minutes: { type: 'string', default: '30' } } as const
    const { values } = parseArgs({ args: [...args], options })
    const minutes = positive('minutes', values.minutes)
    const seed = seedFrom(values.seed)
    print(`seed ${seed}, ${minutes} minutes`)
    return proveSoak({ ...fleetSize, seed, minutes, print })
  },
}

/** Share of the time until all temporary data of the server has its final size. */
const warmShare = 0.4
/** Short expiry times, so that temporary data is deleted regularly. */
const shortLived = {
  STREAM_RETENTION_MB: '16',
  ACCESS_TOKEN_LIFETIME_S: '60',
  REFRESH_TOKEN_LIFETIME_S: '60',
  WRITE_TIMEOUT_S: '2',
} as const
/**
 * A factor for the pauses of the workloads. The server keeps some of their data for a day (answers by idempotency key,
 * results of actions), which must stay small in half an hour.
 */
const pauseTimes = 8
/** How many readings are made in the whole time, and after how many readings garbage is collected. */
const readings = 600
const collectEvery = 10
/** Minimum time between readings. */
const hurriedMs = 100
const collectHurried = 2
/** The server evicts after five idle minutes: in a shorter run its clock is faster. */
const warmMinutesMin = 6
/** With a higher factor a client that does not read for some seconds would be closed. */
const timesFasterMax = 20
const cutEveryMs = { low: 2_000, high: 15_000 }
const printEveryMs = 30_000

/**
 * Runs the server under the load of the kill proof, but without kills, while devices and subscribers come and go, and
 * measures whether its memory, descriptors or disk usage grow. At the end all acknowledged changes must be there.
 */
export async function proveSoak(options: SoakOptions): Promise<SoakOutcome> {
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
  readonly #server: LoadedServer
  readonly #visitors: Visitors
  #sampler: Sampler | undefined
  #isOver = false

  constructor(options: SoakOptions, place: ServerPlace) {
    const isForeign = ({ deviceIdentifier }: StreamEvent) => String(deviceIdentifier).startsWith(visitingPrefix)
    this.#options = options
    this.#server = new LoadedServer({ ...options, pauseTimes, isForeign }, place)
    this.#visitors = new Visitors(this.#server, () => this.#isOver)
  }

  async run(): Promise<SoakOutcome> {
    const { minutes } = this.#options
    const server = this.#server
    await server.start(this.#settings())
    await server.load()
    const { url, process, runner } = server
    const { dataFolder } = server.place
    const sampler = new Sampler({ server: process, url, dataFolder })
    this.#sampler = sampler
    const timesFaster = Math.min(timesFasterMax, Math.max(1, warmMinutesMin / (minutes * warmShare)))
    const everyMs = (minutes * 60_000) / readings
    sampler.start({ everyMs, collectEvery: everyMs < hurriedMs ? collectHurried : collectEvery, timesFaster })

    const startedAt = performance.now()
    const working = Promise.all([runner.run(() => this.#isOver), this.#visitors.run(), this.#disturb()])
    await this.#pass(sampler, startedAt)
    const seconds = (performance.now() - startedAt) / 1000
    sampler.stop()
    this.#isOver = true
    await working
    const { changesAcknowledged, problems } = server
    problems.push(...this.#visitors.problems)
    await server.settle({ isWhole: false })
    await server.stop()
    const growth = this.#growth(sampler)
    const received = server.witness.report()
    const [visits, writes] = [this.#visitors.counts, runner.counts]
    const kinds = Object.values(writes)
    const acknowledged = kinds.reduce((sum, each) => sum + each.acknowledged, 0)
    return {
      ...{ seed: this.#options.seed, seconds, growth, received, visits, writes },
      summary: [
        `${(seconds / 60).toFixed(1)} minutes, ${warmShare * 100} % of them warm-up: ${changesAcknowledged} changes acknowledged, ` +
          `${(changesAcknowledged / seconds).toFixed(0)} a second`,
        `${visits.devices} devices and ${visits.subscribers} subscribers that connected and left; ${acknowledged} writes of ` +
          `${kinds.length} other kinds`,
        `${received.acknowledged} frames acknowledged, ${received.found} received, ${received.overridden} overridden, ${received.lost} lost, ` +
          `${received.doubled} doubled, ${received.disordered} out of order, ${received.wrong} wrong`,
        ...Object.entries(growth).map(([name, grown]) => lineOf(name as GaugeName, grown)),
      ],
      problems: [
        ...problems,
        ...server.witness.problems(),
        ...Object.values(growth).flatMap(({ problem }) => (problem === undefined ? [] : [problem])),
      ],
    }
  }

  async end(): Promise<void> {
    this.#isOver = true
    this.#sampler?.stop()
    await this.#server.end()
  }

  async #pass(sampler: Sampler, startedAt: number): Promise<void> {
    const { minutes, print } = this.#options
    const server = this.#server
    const passedMs = () => performance.now() - startedAt
    let printedAt = 0
    while (passedMs() < minutes * 60_000 && this.#visitors.problems.length === 0) {
      if (server.process.isEnded) {
        server.problems.push(`the server ended by itself\n${server.lastLines}`)
        return
      }
      await pass(Math.min(500, minutes * 60_000 - passedMs()))
      if (passedMs() - printedAt < printEveryMs) continue
      printedAt = passedMs()
      await server.runner.readMails()
      const acknowledged = `${server.changesAcknowledged} changes acknowledged`
      print(`${(passedMs() / 60_000).toFixed(1)} min: ${acknowledged}; ${lastReadings(sampler)}`)
    }
  }

  async #disturb(): Promise<void> {
    const { random, witness, fleets } = this.#server
    while (!this.#isOver) {
      const end = performance.now() + random.between(cutEveryMs.low, cutEveryMs.high)
      while (performance.now() < end && !this.#isOver) await pass(100)
      if (random.below(3) === 0) witness.dashboard.cut()
      else fleets[random.below(fleets.length)]?.cutAll()
    }
  }

  #growth(sampler: Sampler): SoakOutcome['growth'] {
    const warmMinutes = this.#options.minutes * warmShare
    const found: Partial<Record<GaugeName, Growth>> = {}
    for (const name of Object.keys(gauges) as GaugeName[]) {
      const points = sampler.pointsOf(name).filter(({ minutes }) => minutes >= warmMinutes)
      const growth = growthOf(gauges[name], points)
      if (growth) found[name] = growth
      else this.#server.problems.push(`${gauges[name].title}: was read ${points.length} times only`)
    }
    return found
  }

  #settings(): ServerSettings {
    const probe = loadedBefore('harness/memory-probe')
    return this.#server.settings({
      environment: shortLived,
      nodeArguments: ['--expose-gc', ...probe, ...(this.#options.nodeArguments ?? [])],
      isKilledAtExit: true,
    })
  }
}

function lastReadings(sampler: Sampler): string {
  const shown: readonly GaugeName[] = ['resident', 'live', 'descriptors', 'database']
  return shown
    .map((name) => {
      const { title, unit, scale, digits } = gauges[name]
      return `${title} ${(sampler.lastOf(name) / scale).toFixed(digits)}${unit && ` ${unit}`}`
    })
    .join(', ')
}

function lineOf(name: GaugeName, { median, min, max, slope }: Growth): string {
  const { title, unit, digits } = gauges[name]
  const [middle, least, most] = [median, min, max].map((value) => value.toFixed(digits))
  return `${title}: ${middle}${unit && ` ${unit}`} (${least}–${most}), ${slopeText({ unit }, slope)}`
}
