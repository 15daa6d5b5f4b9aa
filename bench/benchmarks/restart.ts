// Answers: how long from the start of the process until the server answers, and until a complete and correct full read begins, with 10⁴, 10⁵ and 10⁶ devices of 10 properties on disk, after SIGTERM and after SIGKILL under full load, when the log to replay is as long as it gets. Does not count: a cold disk (the files are in the page cache), the rest of the read, devices that reconnect. Each round starts on a copy of one state left by SIGKILL (and by a SIGTERM after it), made once.
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Benchmark, Case, Figures } from '#bench/harness/benchmark'
import { standardLoad } from '#bench/harness/running-load'
import { copyDataFolder, temporaryFolder } from '#bench/harness/temporary-folder'
import { LoadFleet } from '#bench/load/fleet'
import { flood, type Reported, readState } from '#bench/load/restart'
import { usageOf } from '#bench/process-usage'
import { freePort, ServerProcess, startServer } from '#bench/server-process'
import { sleep, unixMs } from '#bench/time'
import { redoLimits } from '#runtime/checkpoints'

interface Size {
  readonly name: string
  readonly devices: number
  readonly secondsMax?: number
  readonly roundsMax?: number
}

const sizes: readonly Size[] = [
  { name: '10 000 devices', devices: 10_000 },
  { name: '100 000 devices', devices: 100_000, secondsMax: 3 },
  { name: '1 000 000 devices', devices: 1_000_000, secondsMax: 20, roundsMax: 3 },
]

const ends = ['SIGTERM', 'SIGKILL'] as const
type End = (typeof ends)[number]

/** Sizes are divided by this in a quick round. */
const quickDivisor = 100
/** After this number of frames the log to replay has its maximum length: 1.5 times the server's limits. */
function floodFramesOf(devices: number): number {
  const { eventsMax, growth = { eventsPerActor: 0, timesMax: 1 } } = redoLimits
  const { eventsPerActor, timesMax } = growth
  return 1.5 * Math.min(Math.max(eventsMax, devices * eventsPerActor), eventsMax * timesMax)
}

/** Longer than every target: a slow start misses its target, and does not fail. */
const startMsMax = 120_000

/** A folder with the data of a stopped server for each kind of end, and what was acknowledged. */
interface StoppedServer {
  readonly folder: string
  readonly reported: Reported
}
const left = new Map<string, StoppedServer>()

async function fill(name: string, folder: string, devices: number, isQuick: boolean): Promise<void> {
  const port = await freePort()
  const filled = await startServer({ port, dataFolder: join(folder, 'SIGKILL'), isKilledAtExit: true })
  const fleet = new LoadFleet({ ...standardLoad, changes: 10, port, devices })
  left.set(name, { folder, reported: { options: fleet.options, numbers: fleet.numbers } })
  try {
    await fleet.open()
    await flood(fleet, isQuick ? floodFramesOf(devices) / quickDivisor : floodFramesOf(devices))
  } finally {
    await filled.kill()
    // The last bytes of the server may still arrive.
    await sleep(100)
    fleet.close()
  }
  await copyDataFolder(join(folder, 'SIGKILL'), join(folder, 'SIGTERM'))
  const stopped = await startServer({ port, dataFolder: join(folder, 'SIGTERM'), isKilledAtExit: true })
  const result = await stopped.stop()
  if (result !== 0) throw new Error(`SIGTERM ended the server with ${result}`)
}

async function started({ folder, reported }: StoppedServer, end: End): Promise<Figures> {
  const dataFolder = join(folder, 'round')
  await copyDataFolder(join(folder, end), dataFolder)
  const port = await freePort()
  const spawnedAt = unixMs()
  const server = new ServerProcess({ port, dataFolder, isKilledAtExit: true })
  try {
    await server.serving(startMsMax)
    const firstAnswerMs = unixMs() - spawnedAt
    const usage = usageOf(server.processId)
    const firstBytesMs = (await readState(port, reported)) - spawnedAt
    return {
      firstAnswer: firstAnswerMs / 1000,
      firstBytes: firstBytesMs / 1000,
      serverCpu: usage.cpuSeconds,
      serverMemory: usage.residentBytes / 2 ** 20,
    }
  } finally {
    await server.kill()
    await rm(dataFolder, { recursive: true, force: true })
  }
}

function caseOf({ name, roundsMax = Infinity }: Size): Case {
  const measure = (end: End) => {
    const there = left.get(name)
    if (!there) throw new Error(`nothing was left for ${name}`)
    return started(there, end)
  }
  const variants = ends.map((end) => ({ name: `after ${end}`, measure: async () => measure(end) }))
  return { name, roundsMax, variants }
}

export const restart: Benchmark = {
  figures: {
    firstAnswer: { title: 'first answer, s', digits: 2 },
    firstBytes: { title: 'full read begins, s', digits: 2 },
    serverCpu: { title: 'server CPU until then, s', digits: 2 },
    serverMemory: { title: 'server RSS then, MiB', digits: 0 },
  },
  cases: sizes.map(caseOf),
  targets: sizes.flatMap(({ name, secondsMax }) =>
    ends.flatMap((end) =>
      ['firstAnswer', 'firstBytes'].flatMap((figure) =>
        secondsMax === undefined ? [] : [{ case: name, variant: `after ${end}`, figure, atMost: secondsMax }],
      ),
    ),
  ),
  async setUp(isQuick) {
    const { path: folder, remove } = temporaryFolder('bench-restart-')
    const takeDown = async () => {
      left.clear()
      await remove()
    }
    try {
      for (const { name, devices } of sizes) {
        await fill(name, join(folder, String(devices)), isQuick ? devices / quickDivisor : devices, isQuick)
      }
    } catch (error) {
      await takeDown()
      throw error
    }
    return takeDown
  },
}
