import { mkdirSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { Dashboard, type StreamEvent } from '#bench/dashboard'
import { asked, identityOn } from '#bench/harness/identity'
import { loadedBefore } from '#bench/harness/servers'
import { temporaryFolder } from '#bench/harness/temporary-folder'
import { openLeft, patient, readStream } from '#bench/proof/left-folder'
import { type DiskState, diskStateAfter, layOut } from '#bench/proof/power/disk-state'
import { FleetBooks, framesOf } from '#bench/proof/power/fleet-books'
import type { FileOperation, RecordedOperation } from '#bench/proof/power/operations'
import { FileNumbers, readStrace, straced } from '#bench/proof/power/strace'
import { WorkloadRunner } from '#bench/proof/workloads/workload-runner'
import { SeededRandom } from '#bench/random'
import { freePort, type ServerProcess, startServer } from '#bench/server-process'

export interface PowerProofOptions {
  readonly seed: number
  /** Of the disk, each opened. */
  readonly states: number
  /** How long each of the lives of the server lasts. */
  readonly lifeMs: number
  /** Written in the last of them besides, MB: with 20 the database begins a new log on the way. 0 by default. */
  readonly floodMb?: number
  readonly print: (line: string) => void
}

export interface PowerProofReport {
  readonly seconds: number
  readonly operations: Readonly<Record<string, number>>
  readonly bytesWritten: number
  readonly states: number
  /** In so many of them something had been acknowledged before. */
  readonly statesWithMore: number
  /** In so many of them a report over a link had been. */
  readonly statesWithFrames: number
  /** Looked for, in all of the disks together. */
  readonly framesLookedFor: number
  readonly eventsHeard: number
  readonly acknowledged: number
  /** Reports over links. */
  readonly framesAcknowledged: number
  readonly problems: readonly string[]
}

type RecordingOptions = Pick<PowerProofOptions, 'seed' | 'lifeMs' | 'floodMb'>

/** What was done to the folder, and what was known outside, each with its time. */
export interface Recording {
  readonly runner: WorkloadRunner
  readonly fleets: FleetBooks
  readonly operations: readonly RecordedOperation[]
  /** From then on what must be there is known. */
  readonly firstAt: number
  readonly heard: readonly HeardEvent[]
}

interface HeardEvent {
  readonly at: number
  readonly event: StreamEvent
}

/** Each on what the one before left; the second is told to stop, the others are killed. */
const lives = 3
/** Clocks of two processes, read at different places. */
const clockMs = 2
/** Of the fleets that report over links, in all; changes a second, in all. */
const fleetSize = { devices: 50, rate: 600 } as const
const mailMsMax = 5_000
const floodMsMax = 15_000
const problemsMax = 5

/**
 * Records what the server does to its folder with `DURABILITY=disk` while workloads write and fleets report over links, then makes up disks as a power loss at any moment of it
 * may leave them, and opens each: it must open, and hold all that had been acknowledged and told until that moment.
 */
export async function provePower(options: PowerProofOptions): Promise<PowerProofReport> {
  const startedAt = performance.now()
  const report = await withRecording(options, async (recording, folder) => {
    const all = recording.operations.map(({ operation }) => operation)
    return {
      operations: countsOf(all),
      bytesWritten: all.reduce((sum, each) => sum + (each.kind === 'write' ? each.bytes.length : 0), 0),
      eventsHeard: recording.heard.length,
      acknowledged: Object.values(recording.runner.counts).reduce((sum, each) => sum + each.acknowledged, 0),
      framesAcknowledged: recording.fleets.framesAcknowledged,
      ...(await tryStates(recording, folder, options)),
    }
  })
  return { seconds: (performance.now() - startedAt) / 1000, ...report }
}

/** `folder`: for what is made of it. All of it is gone when `use` is done. */
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

/** Opens so many disks. `forget`: operations that the disk never did; for trying the proof itself. */
export async function tryStates(
  recording: Recording,
  folder: string,
  { seed, states: wanted, print }: Omit<PowerProofOptions, 'lifeMs'>,
  forget: (operation: FileOperation) => boolean = () => false,
): Promise<Pick<PowerProofReport, 'states' | 'statesWithMore' | 'statesWithFrames' | 'framesLookedFor' | 'problems'>> {
  const all = recording.operations.map(({ operation }) => operation)
  const random = new SeededRandom(seed)
  const problems: string[] = []
  let states = 0
  let statesWithMore = 0
  let statesWithFrames = 0
  let framesLookedFor = 0
  while (states < wanted && problems.length < problemsMax) {
    const count = momentIn(all, random)
    const at = (recording.operations[count]?.at ?? Number.POSITIVE_INFINITY) - clockMs
    const done = all.slice(0, count).filter((operation) => !forget(operation))
    if (at > recording.firstAt) statesWithMore++
    const frames = framesOf(recording.fleets.devicesAt(at))
    if (frames > 0) statesWithFrames++
    framesLookedFor += frames
    const found = await faultsOf(diskStateAfter(done, random), at, recording, join(folder, `state-${states}`))
    problems.push(...found.slice(0, 3).map((text) => `state ${states}, after ${count} operations: ${text}`))
    if (++states % 50 === 0) print(`${states} states`)
  }
  return { states, statesWithMore, statesWithFrames, framesLookedFor, problems }
}

async function record(folder: string, { seed, lifeMs, floodMb = 0 }: RecordingOptions): Promise<Recording> {
  const port = await freePort()
  const dataFolder = join(folder, 'data')
  mkdirSync(dataFolder, { mode: 0o700 })
  const random = new SeededRandom(seed)
  const url = `http://127.0.0.1:${port}`
  const heard: HeardEvent[] = []
  const files = new FileNumbers()
  const operations: RecordedOperation[] = []
  let runner: WorkloadRunner | undefined
  let fleets: FleetBooks | undefined
  let dashboard: Dashboard | undefined
  let firstAt = Infinity
  for (let life = 0; life < lives; life++) {
    const trace = join(folder, `trace-${life}`)
    const server = await startServer({
      port,
      dataFolder,
      environment: { ...identityOn, ...patient, DURABILITY: 'disk' },
      nodeArguments: loadedBefore('harness/cheap-passwords'),
      inFront: straced(trace),
      isKilledAtExit: true,
    })
    runner ??= await WorkloadRunner.open({ port, dataFolder, random })
    const { authorization } = runner
    if (!fleets) {
      const body = { name: 'Fleets' }
      const { key } = await asked<{ key: string }>(port, '/iam/provisioning-keys', { person: authorization, body })
      fleets = new FleetBooks(url, { ...fleetSize, seed, key })
    }
    firstAt = Math.min(firstAt, now())
    const faults = await runner.check()
    if (faults.length > 0) throw new Error(`while it was recorded: ${faults.join('; ')}`)
    if (!dashboard) {
      const onEvent = (event: StreamEvent) => heard.push({ at: now(), event })
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
  return { runner, fleets, operations, firstAt, heard }
}

interface Life {
  readonly lifeMs: number
  /** By SIGTERM, not by SIGKILL. */
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

/** How many operations were done when the power failed: half of the time it is at one that matters. */
function momentIn(operations: readonly FileOperation[], random: SeededRandom): number {
  const anywhere = random.below(operations.length + 1)
  if (random.below(2) === 0) return anywhere
  const next = operations.findIndex(({ kind }, place) => place >= anywhere && kind !== 'write')
  return next < 0 ? anywhere : next + random.below(2)
}

async function faultsOf(
  state: DiskState,
  at: number,
  { runner, fleets, firstAt, heard }: Recording,
  folder: string,
): Promise<readonly string[]> {
  mkdirSync(folder, { mode: 0o700 })
  layOut(state, folder)
  const left = await openLeft(folder)
  try {
    if (!left.running) return [`it does not open: ${left.refusal}`]
    if (at <= firstAt) return []
    const told = heard.filter((each) => each.at < at).map(({ event }) => event)
    const { port } = left.running
    const url = `http://127.0.0.1:${port}`
    const devices = fleets.devicesAt(at)
    const { events, faults } = await readStream(url, runner, told, { devices })
    return [
      ...faults,
      ...(await fleets.sessionFaults(url, devices, events)),
      ...(await runner.faultsAt(at, { port, dataFolder: folder })),
      // What was not sent before is sent now.
      ...(await runner.unmailedAt(at, folder, mailMsMax)),
    ]
  } finally {
    await left.running?.stop()
    rmSync(folder, { recursive: true })
  }
}

/** Until the tracer has written down the end of what it watches. */
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
