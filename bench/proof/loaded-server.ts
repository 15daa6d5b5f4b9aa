import type { StreamEvent } from '#bench/dashboard'
import { createProvisioningKey } from '#bench/harness/identity'
import { proofServer, type ServerPlace } from '#bench/harness/servers'
import { EventChecker } from '#bench/proof/event-checker'
import { ProofFleets } from '#bench/proof/fleets'
import { openWorkloads, type WorkloadRunner } from '#bench/proof/workloads/workload-runner'
import { SeededRandom } from '#bench/random'
import { type ServerProcess, type ServerSettings, startServer } from '#bench/server-process'

export interface LoadOptions {
  readonly seed: number
  readonly devices: number
  readonly rate: number
  readonly pauseTimes?: number
  /** Whether an event belongs to neither fleets nor workloads. */
  readonly isForeign?: (event: StreamEvent) => boolean
}

interface Load {
  readonly key: string
  readonly fleets: ProofFleets
  readonly runner: WorkloadRunner
  readonly witness: EventChecker
}

export const quietMsMax = 60_000

/** A server under the reports of fleets and all workloads, with a subscriber that checks what it receives. */
export class LoadedServer {
  readonly place: ServerPlace
  readonly url: string
  readonly random: SeededRandom
  readonly problems: string[] = []
  longestStartMs = 0
  readonly #options: LoadOptions
  #process: ServerProcess | undefined
  #load: Load | undefined

  constructor(options: LoadOptions, place: ServerPlace) {
    this.#options = options
    this.place = place
    this.url = `http://127.0.0.1:${place.port}`
    this.random = new SeededRandom(options.seed)
  }

  get process(): ServerProcess {
    return this.#process as ServerProcess
  }

  get runner(): WorkloadRunner {
    return this.#started.runner
  }

  get fleets(): ProofFleets {
    return this.#started.fleets
  }

  get key(): string {
    return this.#started.key
  }

  get witness(): EventChecker {
    return this.#started.witness
  }

  get changesAcknowledged(): number {
    return this.fleets.changesAcknowledged
  }

  async start(own: Partial<ServerSettings>): Promise<void> {
    const startedAt = performance.now()
    this.#process = await startServer(proofServer(this.place, own))
    this.longestStartMs = Math.max(this.longestStartMs, performance.now() - startedAt)
  }

  /** Starts the load, but not yet the changes of the workloads. */
  async load(): Promise<void> {
    const { random, place, url } = this
    const { pauseTimes = 1, isForeign } = this.#options
    const runner = await openWorkloads({ ...place, random, pauseTimes })
    const { authorization } = runner
    const key = await createProvisioningKey(place.port, authorization, 'Fleets')
    const fleets = new ProofFleets({ ...this.#options, port: place.port, key })
    const others = (event: StreamEvent) => runner.receive(event) || isForeign?.(event) === true
    const { sentFrames } = fleets
    const witness = new EventChecker({
      ...{ name: 'resumed', url, sentFrames, from: 'state', rule: 'newest', authorization, others },
    })
    this.#load = { key, fleets, runner, witness }
    witness.dashboard.start()
    await fleets.start()
    await this.check('at the beginning')
  }

  /** Compares the server with the expected state of the workloads. */
  async check(when: string): Promise<void> {
    this.problems.push(...(await this.runner.check()).map((text) => `${when}: ${text}`))
  }

  /**
   * After the last change: waits until every frame is acknowledged and every event received, and compares everything.
   */
  async settle({ isWhole }: { readonly isWhole: boolean }): Promise<void> {
    const { problems, runner, fleets } = this
    const { dashboard } = this.witness
    await this.check('at the end')
    if (!(await fleets.settled(quietMsMax)))
      problems.push(`not all frames were acknowledged within ${quietMsMax / 1000} s`)
    if (!(await dashboard.caughtUp(quietMsMax))) problems.push('the dashboard did not catch up at the end')
    const differences = await dashboard.differences()
    problems.push(...differences.map((text) => `folded state against GET /devices: ${text}`))
    dashboard.stop()
    problems.push(...runner.eventFaults(isWhole))
  }

  async stop(): Promise<void> {
    this.fleets.close()
    const result = await this.process.stop()
    if (result !== 0) this.problems.push(`SIGTERM ended the server with ${result}\n${this.lastLines}`)
    this.problems.push(...this.fleets.faults.map((fault) => `link: ${fault}`))
  }

  async end(): Promise<void> {
    this.#load?.witness.dashboard.stop()
    await this.#load?.runner.end()
    this.#load?.fleets.close()
    await this.#process?.kill()
  }

  get lastLines(): string {
    return this.process.lines.join('\n')
  }

  get #started(): Load {
    if (!this.#load) throw new Error('the load has not begun')
    return this.#load
  }
}
