import { mkdirSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { isPlainFailure } from '#app/running-server'
import { integer, option } from '#bench/command-line'
import { Dashboard, type StreamEvent } from '#bench/dashboard'
import { createProvisioningKey } from '#bench/harness/identity'
import { proofServer } from '#bench/harness/servers'
import { temporaryFolder } from '#bench/harness/temporary-folder'
import { FleetLedger, framesOf } from '#bench/proof/fleets'
import { openFolder, readWorkloadStream } from '#bench/proof/opened-folder'
import type { Proof } from '#bench/proof/outcome'
import {
  type DiskState,
  diskStateAfter,
  type FileOperation,
  layOut,
  type RecordedOperation,
} from '#bench/proof/power/disk-state'
import { readStrace, straced, type TracedFiles } from '#bench/proof/power/strace'
import { openWorkloads, type WorkloadRunner } from '#bench/proof/workloads/workload-runner'
import { SeededRandom } from '#bench/random'
import { freePort, type ServerProcess, startServer } from '#bench/server-process'
import { sleep, unixMs } from '#bench/time'

interface RecordingOptions {
  readonly seed: number
  readonly lifeMs: number
  /** Extra MB written in the last life: with 20 the database begins a new log. 0 by default. */
  readonly floodMb?: number
}

/** The operations on the folder, and the acknowledged changes and events, each with its time. */
export interface Recording {
  readonly runner: WorkloadRunner
  readonly fleets: FleetLedger
  readonly operations: readonly RecordedOperation[]
  /** From this time on the expected content is known. */
  readonly firstAt: number
  readonly received: readonly ReceivedEvent[]
}

interface ReceivedEvent {
  readonly at: number
  readonly event: StreamEvent
}

/** How many server processes run in turn on the same data. SIGTERM ends the second, SIGKILL the others. */
const lives = 3
const clockMs = 2
/** The fleets that report over links: devices and changes a second, all together. */
const fleetSize = { devices: 50, rate: 600 } as const
const floodMsMax = 15_000
const problemsMax = 5

/** `folder`: for temporary data, deleted when `use` is done. */
export async function withRecording<Result>(
  options: RecordingOptions,
  use: (recording: Recording, folder: string) => Promise<Result>,
): Promise<Result> {
  const folder = temporaryFolder('power-proof-')
  try {
    return await use(await record(folder.path, options), folder.path)
  } finally {
    await folder.remove()
  }
}

/** Opens this many disk states. `forget`: operations that the disk never did, to test the proof itself. */
export async function tryStates(
  recording: Recording,
  folder: string,
  options: { readonly seed: number; readonly states: number; readonly print: (line: string) => void },
  forget: (operation: FileOperation) => boolean = () => false,
) {
  const all = recording.operations.map(({ operation }) => operation)
  const random = new SeededRandom(options.seed)
  const problems: string[] = []
  let [states, statesWithMore, statesWithFrames, framesSearched] = [0, 0, 0, 0]
  while (states < options.states && problems.length < problemsMax) {
    const count = momentIn(all, random)
    const at = (recording.operations[count]?.at ?? Number.POSITIVE_INFINITY) - clockMs
    const done = all.slice(0, count).filter((operation) => !forget(operation))
    if (at > recording.firstAt) statesWithMore++
    const frames = framesOf(recording.fleets.framesAt(at))
    if (frames > 0) statesWithFrames++
    framesSearched += frames
    const found = await faultsOf(diskStateAfter(done, random), at, recording, join(folder, `state-${states}`))
    problems.push(...found.slice(0, 3).map((text) => `state ${states}, after ${count} operations: ${text}`))
    if (++states % 50 === 0) options.print(`${states} states`)
  }
  return { states, statesWithMore, statesWithFrames, framesSearched, problems }
}

async function record(folder: string, { seed, lifeMs, floodMb = 0 }: RecordingOptions): Promise<Recording> {
  const place = { port: await freePort(), dataFolder: join(folder, 'data') }
  mkdirSync(place.dataFolder, { mode: 0o700 })
  const trace = join(folder, 'trace')
  const settings = { environment: { DURABILITY: 'disk' }, inFront: straced(trace), isKilledAtExit: true }
  const start = () => startServer(proofServer(place, settings))
  let server = await start()
  const runner = await openWorkloads({ ...place, random: new SeededRandom(seed) })
  const { authorization, first, api } = runner
  const key = await createProvisioningKey(place.port, authorization, 'Fleets')
  const fleets = new FleetLedger({ ...fleetSize, port: place.port, seed, key })
  const firstAt = unixMs()
  const received: ReceivedEvent[] = []
  const onEvent = (event: StreamEvent) => received.push({ at: unixMs(), event })
  const dashboard = new Dashboard({
    ...{ url: api.url, from: first, authorization, isFolding: false, backoffMsMax: 200, onEvent },
  })
  const files: TracedFiles = new Map()
  const operations: RecordedOperation[] = []
  for (let life = 0; life < lives; life++) {
    if (life > 0) server = await start()
    const faults = await runner.check()
    if (faults.length > 0) throw new Error(`while it was recorded: ${faults.join('; ')}`)
    if (life === 0) {
      dashboard.start()
      await fleets.start()
    }
    await live(server, runner, lifeMs, life === lives - 1 ? floodMb : 0, life === 1)
    await isWritten(trace)
    operations.push(...(await readStrace(trace, place.dataFolder, files)))
    rmSync(trace)
  }
  dashboard.stop()
  await runner.end()
  fleets.close()
  if (fleets.faults.length > 0) throw new Error(`while it was recorded: ${fleets.faults.join('; ')}`)
  return { runner, fleets, operations, firstAt, received }
}

/** Runs the workloads for some time, and then stops the server by SIGTERM, or kills it. */
async function live(
  server: ServerProcess,
  runner: WorkloadRunner,
  lifeMs: number,
  floodMb: number,
  isStopped: boolean,
): Promise<void> {
  const stopWork = runner.work()
  const flooding = runner.flood(floodMb)
  await sleep(lifeMs)
  await Promise.race([flooding, sleep(floodMsMax)])
  if (isStopped) await stopWork()
  await (isStopped ? server.stop() : server.kill())
  await Promise.all([stopWork(), flooding])
}

/**
 * How many operations were done when the power failed. In half of the cases this is just before or after an operation
 * other than a write.
 */
function momentIn(operations: readonly FileOperation[], random: SeededRandom): number {
  const anywhere = random.below(operations.length + 1)
  if (random.below(2) === 0) return anywhere
  const next = operations.findIndex(({ kind }, place) => place >= anywhere && kind !== 'write')
  return next < 0 ? anywhere : next + random.below(2)
}

async function faultsOf(
  state: DiskState,
  at: number,
  { runner, fleets, firstAt, received }: Recording,
  folder: string,
): Promise<readonly string[]> {
  mkdirSync(folder, { mode: 0o700 })
  layOut(state, folder)
  const running = await openFolder(folder).catch((error: Error) => error)
  try {
    if (running instanceof Error) {
      const { message, stack } = running
      return [`the server does not open it: ${isPlainFailure(running) ? message : `a bug: ${stack}`}`]
    }
    if (at <= firstAt) return []
    const publishedBefore = received.filter((each) => each.at < at).map(({ event }) => event)
    const { port } = running
    const url = `http://127.0.0.1:${port}`
    const { lastFrames, faults } = await readWorkloadStream(url, runner, publishedBefore, fleets.framesAt(at))
    return [
      ...faults,
      ...(await fleets.sessionFaults(port, lastFrames)),
      ...(await runner.faultsAt(at, { port, dataFolder: folder })),
    ]
  } finally {
    if (!(running instanceof Error)) await running.stop()
    rmSync(folder, { recursive: true })
  }
}

/** Waits until the tracer has written the exit of its process. */
async function isWritten(trace: string): Promise<void> {
  for (let size = -1; ; ) {
    await sleep(200)
    const now = statSync(trace).size
    if (now === size) return
    size = now
  }
}

/** How many MB are written in the last life of the server, so that the database begins a new log. */
const floodMb = 20

export const powerProof: Proof<{ states: number; lifeMs: number }> = {
  about: '400 disk states after a power loss, with DURABILITY=disk',
  help: `Records the server's file operations with DURABILITY=disk (by strace), constructs disk states that a power loss at any
moment may leave, and opens each: it must open, and contain all changes acknowledged before.`,
  options: [
    option('--states N', 'disk states to open', integer(1), 400),
    option('--life-ms N', 'duration of each of the three lives of the server', integer(1), 2500),
  ],
  async run({ seed, states, lifeMs }, print) {
    return withRecording({ seed, lifeMs, floodMb }, async (recording, folder) => {
      const { problems, ...tried } = await tryStates(recording, folder, { seed, states, print })
      const acknowledged = Object.values(recording.runner.counts).reduce((sum, counts) => sum + counts.acknowledged, 0)
      const all = recording.operations.map(({ operation }) => operation)
      const syncs = all.filter(({ kind }) => kind === 'sync' || kind === 'sync_folder').length
      const renames = all.filter((each) => each.kind === 'name' && each.names.length > 1).length
      const bytes = all.reduce((sum, each) => sum + (each.kind === 'write' ? each.bytes.length : 0), 0)
      return {
        problems,
        summary: [
          `recorded: ${acknowledged} writes and ${recording.fleets.framesAcknowledged} reports over links acknowledged and ` +
            `${recording.received.length} events received, in ${all.length} operations on files, ` +
            `${syncs} of them fsync and ${renames} rename; ${(bytes / 1e6).toFixed(1)} MB`,
          `${tried.states} disk states, ${tried.statesWithMore} with acknowledged changes, ` +
            `${tried.statesWithFrames} with reports over links, ${tried.framesSearched} of those in all: ` +
            (problems.length === 0 ? 'all opened, and contained them' : 'not all opened and contained them'),
        ],
      }
    })
  },
}
