import type { StreamEvent } from '#bench/dashboard'
import { createProvisioningKey } from '#bench/harness/identity'
import { proofServer, type ServerPlace } from '#bench/harness/servers'
import { EventChecker } from '#bench/proof/event-checker'
import { ProofFleets } from '#bench/proof/fleets'
import { openWorkloads } from '#bench/proof/workloads/workload-runner'
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

export const quietMsMax = 60_000

/** A server under the reports of fleets and all workloads, with a subscriber that checks what it receives. */
export type LoadedServer = Awaited<ReturnType<typeof startLoaded>>

/**
 * Starts a server and its load, but not yet the changes of the workloads. `settings`: of this start of the server. If
 * this fails, everything that was started is ended.
 */
export async function startLoaded(options: LoadOptions, place: ServerPlace, settings: Partial<ServerSettings>) {
  const started: Ending[] = []
  try {
    return await startEach(options, place, settings, started)
  } catch (error) {
    await endAll(started)
    throw error
  }
}

/** Ends one part of a loaded server. */
type Ending = () => Promise<void> | void

/** Ends the newest part first, and the server last. */
async function endAll(started: readonly Ending[]): Promise<void> {
  for (const end of [...started].reverse()) await end()
}

/** Adds every part to `started` as soon as it exists. */
async function startEach(
  options: LoadOptions,
  place: ServerPlace,
  settings: Partial<ServerSettings>,
  started: Ending[],
) {
  const { seed, pauseTimes = 1, isForeign } = options
  const { port } = place
  const random = new SeededRandom(seed)
  const problems: string[] = []
  let startedAt = performance.now()
  let process = await startServer(proofServer(place, settings))
  // Killed: a clean stop would change the folder, which is kept for examination.
  started.push(() => process.kill())
  const longestStartMs = performance.now() - startedAt
  const { url } = process
  const runner = await openWorkloads({ ...place, random, pauseTimes })
  started.push(() => runner.end())
  const { authorization } = runner
  const key = await createProvisioningKey(port, authorization, 'Fleets')
  const fleets = new ProofFleets({ ...options, port, key })
  started.push(() => fleets.close())
  const others = (event: StreamEvent) => runner.receive(event) || isForeign?.(event) === true
  const { sentFrames } = fleets
  const witness = new EventChecker({
    ...{ name: 'resumed', url, sentFrames, from: 'state', rule: 'newest', authorization, others },
  })
  started.push(() => witness.dashboard.stop())
  witness.dashboard.start()
  await fleets.start()
  const server = {
    ...{ place, url, random, problems, runner, key, fleets, witness, longestStartMs },

    /** The server since its last start. */
    get process(): ServerProcess {
      return process
    },

    /** Starts the server again. */
    async start(own: Partial<ServerSettings>): Promise<void> {
      startedAt = performance.now()
      process = await startServer(proofServer(place, own))
      server.longestStartMs = Math.max(server.longestStartMs, performance.now() - startedAt)
    },

    /** Compares the server with the expected state of the workloads. */
    async check(when: string): Promise<void> {
      problems.push(...(await runner.check()).map((text) => `${when}: ${text}`))
    },

    mustRun(when: string): void {
      const { isEnded, lines } = process
      if (isEnded) problems.push(`${when}the server ended by itself\n${lines.join('\n')}`)
    },

    /**
     * After the last change: waits until every frame is acknowledged and every event received, and compares everything.
     * `isWhole`: the subscriber was never too slow.
     */
    async settle({ isWhole }: { readonly isWhole: boolean }): Promise<void> {
      const { dashboard } = witness
      await server.check('at the end')
      if (!(await fleets.settled(quietMsMax)))
        problems.push(`not all frames were acknowledged within ${quietMsMax / 1000} s`)
      if (!(await dashboard.caughtUp(quietMsMax))) problems.push('the dashboard did not catch up at the end')
      const differences = await dashboard.differences()
      problems.push(...differences.map((text) => `folded state against GET /devices: ${text}`))
      dashboard.stop()
      problems.push(...runner.eventFaults(isWhole))
    },

    async stop(): Promise<void> {
      fleets.close()
      const result = await process.stop()
      if (result !== 0) problems.push(`SIGTERM ended the server with ${result}\n${process.lines.join('\n')}`)
      problems.push(...fleets.faults.map((fault) => `link: ${fault}`))
    },

    end: () => endAll(started),
  }
  await server.check('at the beginning')
  return server
}
