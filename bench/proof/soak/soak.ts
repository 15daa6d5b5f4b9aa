import type { StreamEvent } from '#bench/dashboard'
import { loadedBefore } from '#bench/harness/servers'
import { temporaryFolder } from '#bench/harness/temporary-folder'
import { LoadedServer } from '#bench/proof/loaded-server'
import { integersFrom, type Outcome, type Proof } from '#bench/proof/outcome'
import type { ServerPlace } from '#bench/proof/server-settings'
import { type GaugeName, gauges, growthOf } from '#bench/proof/soak/growth'
import { Sampler } from '#bench/proof/soak/sampler'
import { Visitors, visitingPrefix } from '#bench/proof/soak/visitors'
import { freePort } from '#bench/server-process'
import { pass } from '#bench/time'

interface SoakOptions {
  readonly minutes: number
  readonly seed: number
  readonly devices: number
  readonly rate: number
  readonly print: (line: string) => void
  /** Node arguments before the server's program, to test the proof itself. */
  readonly nodeArguments?: readonly string[]
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
export async function proveSoak(options: SoakOptions) {
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

  async run() {
    const { minutes, seed, nodeArguments = [] } = this.#options
    const server = this.#server
    const { problems } = server
    const probe = loadedBefore('harness/memory-probe')
    await server.start({
      environment: shortLived,
      nodeArguments: ['--expose-gc', ...probe, ...nodeArguments],
      isKilledAtExit: true,
    })
    await server.load()
    const sampler = new Sampler(server.process, server.place.dataFolder)
    this.#sampler = sampler
    const timesFaster = Math.min(timesFasterMax, Math.max(1, warmMinutesMin / (minutes * warmShare)))
    const everyMs = (minutes * 60_000) / readings
    void sampler.start({ everyMs, collectEvery: everyMs < hurriedMs ? collectHurried : collectEvery, timesFaster })

    const startedAt = performance.now()
    const working = Promise.all([server.runner.run(() => this.#isOver), this.#visitors.run(), this.#disturb()])
    await this.#pass(startedAt)
    const seconds = (performance.now() - startedAt) / 1000
    sampler.stop()
    this.#isOver = true
    await working
    const { changesAcknowledged } = server
    await server.settle({ isWhole: false })
    await server.stop()
    const isWarm = (point: { readonly minutes: number }) => point.minutes >= minutes * warmShare
    const growth = (Object.keys(gauges) as GaugeName[]).map((name) =>
      growthOf(gauges[name], sampler.pointsOf(name).filter(isWarm)),
    )
    problems.push(...this.#visitors.problems, ...server.witness.problems())
    problems.push(...growth.flatMap(({ problem }) => (problem === undefined ? [] : [problem])))
    const received = server.witness.report()
    const [visits, writes] = [this.#visitors.counts, server.runner.counts]
    const acknowledged = Object.values(writes).reduce((sum, each) => sum + each.acknowledged, 0)
    const outcome: Outcome = {
      ...{ seed, seconds, problems },
      summary: [
        `${(seconds / 60).toFixed(1)} minutes, ${warmShare * 100} % of them warm-up: ${changesAcknowledged} changes acknowledged, ` +
          `${(changesAcknowledged / seconds).toFixed(0)} a second`,
        `${visits.devices} devices and ${visits.subscribers} subscribers that connected and left; ${acknowledged} writes of ` +
          `${Object.keys(writes).length} other kinds`,
        `${received.acknowledged} frames acknowledged, ${received.found} received, ` +
          `${received.doubled} doubled, ${received.disordered} out of order, ${received.wrong} wrong`,
        ...growth.map(({ text }) => text),
      ],
    }
    // The rest is for the test of the proof itself.
    return { ...outcome, growth, received, visits, acknowledged }
  }

  async end(): Promise<void> {
    this.#isOver = true
    this.#sampler?.stop()
    await this.#server.end()
  }

  async #pass(startedAt: number): Promise<void> {
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
      const live = ((this.#sampler?.pointsOf('live').at(-1)?.value ?? 0) / 1e6).toFixed(1)
      print(
        `${(passedMs() / 60_000).toFixed(1)} min: ${server.changesAcknowledged} changes acknowledged; ${live} MB in use`,
      )
    }
  }

  async #disturb(): Promise<void> {
    const { random, witness, fleets } = this.#server
    while (!this.#isOver) {
      const end = performance.now() + random.between(cutEveryMs.low, cutEveryMs.high)
      while (performance.now() < end && !this.#isOver) await pass(100)
      if (random.below(3) === 0) witness.dashboard.cut()
      else random.pick(fleets)?.cutAll()
    }
  }
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
    const { seed, minutes } = integersFrom(args, { minutes: 30 })
    print(`seed ${seed}, ${minutes} minutes`)
    return proveSoak({ ...fleetSize, seed, minutes, print })
  },
}
