import { mkdirSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { Dashboard, type StreamEvent } from '#bench/dashboard'
import { callApi, identityOn } from '#bench/harness/identity'
import { loadedBefore } from '#bench/harness/servers'
import { temporaryFolder } from '#bench/harness/temporary-folder'
import { openFolder, patientSettings, readStream } from '#bench/proof/opened-folder'
import { type Proof, positive, seedFrom, seedOption } from '#bench/proof/outcome'
import { type DiskState, diskStateAfter, layOut } from '#bench/proof/power/disk-state'
import type { FileOperation, RecordedOperation } from '#bench/proof/power/file-operations'
import { FleetLedger, framesOf } from '#bench/proof/power/fleet-ledger'
import { FileNumbers, readStrace, straced } from '#bench/proof/power/strace'
import { WorkloadRunner } from '#bench/proof/workloads/workload-runner'
import { SeededRandom } from '#bench/random'
import { freePort, type ServerProcess, startServer } from '#bench/server-process'

export interface PowerProofOptions {
  readonly seed: number
  readonly states: number
  readonly lifeMs: number
  /** Extra MB written in the last life: with 20 the database begins a new log. 0 by default. */
  readonly floodMb?: number
  readonly print: (line: string) => void
}

export interface PowerProofReport {
  readonly seconds: number
  readonly operations: Readonly<Record<string, number>>
  readonly bytesWritten: number
  readonly states: number
  /** States before which a change had been acknowledged. */
  readonly statesWithMore: number
  /** States before which a report over a link had been acknowledged. */
  readonly statesWithFrames: number
  /** Frames that were searched, over all states. */
  readonly framesSearched: number
  readonly eventsReceived: number
  readonly acknowledged: number
  readonly framesAcknowledged: number
  readonly problems: readonly string[]
}

type RecordingOptions = Pick<PowerProofOptions, 'seed' | 'lifeMs' | 'floodMb'>

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

/** Each continues the data of the one before; the second is stopped cleanly, the others are killed. */
const lives = 3
const clockMs = 2
/** The fleets that report over links: devices and changes a second, all together. */
const fleetSize = { devices: 50, rate: 600 } as const
const mailMsMax = 5_000
const floodMsMax = 15_000
const problemsMax = 5

/**
 * Records the server's file operations with `DURABILITY=disk` while workloads write and fleets report over links. Then
 * constructs disk states that a power loss at any moment may leave, and opens each: it must open, and contain
 * everything that had been acknowledged or published before that moment.
 */
async function provePower(options: PowerProofOptions): Promise<PowerProofReport> {
  const startedAt = performance.now()
  const report = await withRecording(options, async (recording, folder) => {
    const all = recording.operations.map(({ operation }) => operation)
    return {
      operations: countsOf(all),
      bytesWritten: all.reduce((sum, each) => sum + (each.kind === 'write' ? each.bytes.length : 0), 0),
      eventsReceived: recording.received.length,
      acknowledged: Object.values(recording.runner.counts).reduce((sum, each) => sum + each.acknowledged, 0),
      framesAcknowledged: recording.fleets.framesAcknowledged,
      ...(await tryStates(recording, folder, options)),
    }
  })
  return { seconds: (performance.now() - startedAt) / 1000, ...report }
}

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
  { seed, states: wanted, print }: Omit<PowerProofOptions, 'lifeMs'>,
  forget: (operation: FileOperation) => boolean = () => false,
): Promise<Pick<PowerProofReport, 'states' | 'statesWithMore' | 'statesWithFrames' | 'framesSearched' | 'problems'>> {
  const all = recording.operations.map(({ operation }) => operation)
  const random = new SeededRandom(seed)
  const problems: string[] = []
  let states = 0
  let statesWithMore = 0
  let statesWithFrames = 0
  let framesSearched = 0
  while (states < wanted && problems.length < problemsMax) {
    const count = momentIn(all, random)
    const at = (recording.operations[count]?.at ?? Number.POSITIVE_INFINITY) - clockMs
    const done = all.slice(0, count).filter((operation) => !forget(operation))
    if (at > recording.firstAt) statesWithMore++
    const frames = framesOf(recording.fleets.devicesAt(at))
    if (frames > 0) statesWithFrames++
    framesSearched += frames
    const found = await faultsOf(diskStateAfter(done, random), at, recording, join(folder, `state-${states}`))
    problems.push(...found.slice(0, 3).map((text) => `state ${states}, after ${count} operations: ${text}`))
    if (++states % 50 === 0) print(`${states} states`)
  }
  return { states, statesWithMore, statesWithFrames, framesSearched, problems }
}

async function record(folder: string, { seed, lifeMs, floodMb = 0 }: RecordingOptions): Promise<Recording> {
  const port = await freePort()
  const dataFolder = join(folder, 'data')
  mkdirSync(dataFolder, { mode: 0o700 })
  const random = new SeededRandom(seed)
  const url = `http://127.0.0.1:${port}`
  const received: ReceivedEvent[] = []
  const files = new FileNumbers()
  const operations: RecordedOperation[] = []
  let runner: WorkloadRunner | undefined
  let fleets: FleetLedger | undefined
  let dashboard: Dashboard | undefined
  let firstAt = Infinity
  for (let life = 0; life < lives; life++) {
    const trace = join(folder, `trace-${life}`)
    const server = await startServer({
      port,
      dataFolder,
      environment: { ...identityOn, ...patientSettings, DURABILITY: 'disk' },
      nodeArguments: loadedBefore('harness/cheap-passwords'),
      inFront: straced(trace),
      isKilledAtExit: true,
    })
    runner ??= await WorkloadRunner.open({ port, dataFolder, random })
    const { authorization } = runner
    if (!fleets) {
      const body = { name: 'Fleets' }
      const { key } = await callApi<{ key: string }>(port, '/iam/provisioning-keys', { person: authorization, body })
      fleets = new FleetLedger(url, { ...fleetSize, seed, key })
    }
    firstAt = Math.min(firstAt, now())
    const faults = await runner.check()
    if (faults.length > 0) throw new Error(`while it was recorded: ${faults.join('; ')}`)
    if (!dashboard) {
      const onEvent = (event: StreamEvent) => received.push({ at: now(), event })
      dashboard = new Dashboard({
        url,
        from: runner.first,
        authorization,
        isFolding: false,
        backoffMsMax: 200,
        onEvent,
      })
      dashboard.start()
      await fleets.start()
    }
    await live(server, runner, { lifeMs, isStopped: life === 1, floodMb: life === lives - 1 ? floodMb : 0 })
    await isWritten(trace)
    operations.push(...(await readStrace(trace, dataFolder, files)))
    rmSync(trace)
  }
  dashboard?.stop()
  await runner?.end()
  if (!runner || !fleets) throw new Error('nothing was recorded')
  const faults = await fleets.stop()
  if (faults.length > 0) throw new Error(`while it was recorded: ${faults.join('; ')}`)
  return { runner, fleets, operations, firstAt, received }
}

interface Life {
  readonly lifeMs: number
  /** Stopped with SIGTERM; otherwise with SIGKILL. */
  readonly isStopped: boolean
  readonly floodMb: number
}

async function live(
  server: ServerProcess,
  runner: WorkloadRunner,
  { lifeMs, isStopped, floodMb }: Life,
): Promise<void> {
  let isOver = false
  const flooding = runner.flood(floodMb, () => isOver)
  const working = Promise.all([runner.run(() => isOver), flooding])
  await pass(lifeMs)
  await Promise.race([flooding, pass(floodMsMax)])
  if (isStopped) isOver = true
  if (isStopped) await working
  await (isStopped ? server.stop() : server.kill())
  isOver = true
  await working
}

/** How many operations were done when the power failed. Half of the time the moment is at an important operation. */
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
  const left = await openFolder(folder)
  try {
    if (!left.running) return [`it does not open: ${left.refusal}`]
    if (at <= firstAt) return []
    const publishedBefore = received.filter((each) => each.at < at).map(({ event }) => event)
    const { port } = left.running
    const url = `http://127.0.0.1:${port}`
    const devices = fleets.devicesAt(at)
    const { events, faults } = await readStream(url, runner, publishedBefore, { devices })
    return [
      ...faults,
      ...(await fleets.sessionFaults(url, devices, events)),
      ...(await runner.faultsAt(at, { port, dataFolder: folder })),
      // Mails that were not sent before are sent by the copy.
      ...(await runner.unmailedAt(at, folder, mailMsMax)),
    ]
  } finally {
    await left.running?.stop()
    rmSync(folder, { recursive: true })
  }
}

/** Waits until the tracer has written the exit of its process. */
async function isWritten(trace: string): Promise<void> {
  for (let size = -1; ; ) {
    await pass(200)
    const now = statSync(trace).size
    if (now === size) return
    size = now
  }
}

function countsOf(operations: readonly FileOperation[]): Readonly<Record<string, number>> {
  const counts: Record<string, number> = {}
  for (const { kind } of operations) counts[kind] = (counts[kind] ?? 0) + 1
  return counts
}

function now(): number {
  return performance.timeOrigin + performance.now()
}

function pass(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}

const help = `Usage: npm run proof -- power [options]

Records the server's file operations with DURABILITY=disk (by strace), constructs disk states that a power loss at any moment
may leave, and opens each: it must open, and contain all changes acknowledged before. Uses files in a temporary folder.

  --states N            disk states to open (400)
  --seed N              random seed (the clock)
  --life-ms N           duration of each of the three lives of the server (2500)`

/** Written in the last life of the server, so that the database begins a new log. */
const floodMb = 20

export const powerProof: Proof = {
  about: '400 disk states after a power loss, with DURABILITY=disk',
  help,
  async run(args, print) {
    const { values } = parseArgs({
      args: [...args],
      options: {
        ...seedOption,
        states: { type: 'string', default: '400' },
        'life-ms': { type: 'string', default: '2500' },
      },
    })
    const seed = seedFrom(values.seed)
    const states = positive('states', values.states)
    print(`seed ${seed}, ${states} states`)
    const lifeMs = positive('life-ms', values['life-ms'])
    const report = await provePower({ seed, states, lifeMs, floodMb, print })
    const { seconds, problems, ...figures } = report
    const { sync = 0, sync_folder: folders = 0, rename = 0 } = figures.operations
    return {
      seed,
      seconds,
      summary: [
        `recorded: ${figures.acknowledged} writes and ${figures.framesAcknowledged} reports over links acknowledged and ` +
          `${figures.eventsReceived} events received, in ` +
          `${Object.values(figures.operations).reduce((sum, count) => sum + count, 0)} operations on files, ` +
          `${sync + folders} of them fsync and ${rename} rename; ${(figures.bytesWritten / 1e6).toFixed(1)} MB`,
        `${figures.states} disk states, ${figures.statesWithMore} with acknowledged changes, ` +
          `${figures.statesWithFrames} with reports over links, ${figures.framesSearched} of those in all: ` +
          (problems.length === 0 ? 'all opened, and held all of it' : 'not all opened, or held all of it'),
      ],
      problems,
    }
  },
}
