import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { integer, option } from '#bench/command-line'
import { Dashboard, type StreamEvent } from '#bench/dashboard'
import { Fleet } from '#bench/fleet/fleet'
import { administrator, readToken } from '#bench/harness/identity'
import type { MemoryUse, ProbeMessage } from '#bench/harness/memory-probe'
import { loadedBefore } from '#bench/harness/servers'
import { spreadOf } from '#bench/harness/statistics'
import { temporaryFolder } from '#bench/harness/temporary-folder'
import { identifierOf } from '#bench/load/fleet-link'
import { processUsage } from '#bench/process-usage'
import { type LoadedServer, startLoaded } from '#bench/proof/loaded-server'
import type { Outcome, Proof } from '#bench/proof/outcome'
import { freePort } from '#bench/server-process'
import { sleep, until } from '#bench/time'

interface SoakOptions {
  readonly minutes: number
  readonly seed: number
  readonly devices: number
  readonly rate: number
  readonly print: (line: string) => void
  /** Node arguments before the server's program, to test the proof itself. */
  readonly nodeArguments?: readonly string[]
}

/**
 * Quantities that must not grow, each with the growth a minute that is a problem, in the unit of the title. The bounds
 * allow for data that the server keeps for a day, such as results of actions. Half an hour cannot distinguish a smaller
 * growth from noise.
 */
export const gauges = {
  live: { title: 'memory in use after a collection, MB', scale: 1e6, growthMax: 0.1 },
  resident: { title: 'resident memory, MB', scale: 1e6, growthMax: 0.5 },
  descriptors: { title: 'open descriptors', scale: 1, growthMax: 0.5 },
  database: { title: 'database, MB', scale: 1e6, growthMax: 5 },
} as const

type GaugeName = keyof typeof gauges
type Sample = Readonly<Record<GaugeName, number>> & { readonly minutes: number }

/** After this share of the time, all temporary data of the server has its final size. */
const warmShare = 0.4
const samplesCount = 240
/**
 * The samples after the warm-up are divided into spans. A span is longer than the interval between garbage collections.
 */
const spansCount = 24
/** Fewer points give no confidence interval. */
const pointsMin = 6
/** 95 % of a normal distribution lie within this many standard deviations. */
const deviations95 = 1.96
/** Short expiry times, so that temporary data is deleted regularly. */
const shortLived = {
  STREAM_RETENTION_MB: '16',
  ACCESS_TOKEN_LIFETIME_S: '60',
  REFRESH_TOKEN_LIFETIME_S: '60',
  WRITE_TIMEOUT_S: '2',
} as const
/** The pauses of the workloads are this much longer, because the server keeps some of their data for a day. */
const pauseTimes = 8
const passingPrefix = 'PASSING'
const subscribersAtOnce = 6
const onlineMsMax = 20_000
const printEverySamples = 10

/**
 * Runs the server under the load of the kill proof, but without kills, while devices and subscribers come and go, and
 * measures whether its memory, descriptors or disk usage grow. At the end all acknowledged changes must be there.
 */
export async function proveSoak(options: SoakOptions) {
  const isForeign = ({ deviceIdentifier }: StreamEvent) => String(deviceIdentifier).startsWith(passingPrefix)
  const folder = temporaryFolder('soak-proof-')
  const place = { port: await freePort(), dataFolder: folder.path }
  const probe = loadedBefore('harness/memory-probe')
  const nodeArguments = ['--expose-gc', ...probe, ...(options.nodeArguments ?? [])]
  const settings = { environment: shortLived, nodeArguments, isKilledAtExit: true }
  try {
    const server = await startLoaded({ ...options, pauseTimes, isForeign }, place, settings)
    try {
      return await soak(server, options)
    } finally {
      await server.end()
    }
  } finally {
    await folder.remove()
  }
}

async function soak(server: LoadedServer, { minutes, print }: SoakOptions) {
  const { problems, fleets, runner, witness } = server
  const startedAt = performance.now()
  const minutesPassed = () => (performance.now() - startedAt) / 60_000
  const isOver = () => minutesPassed() > minutes || server.process.isEnded || problems.length > 0
  const visits = { devices: 0, subscribers: 0 }
  const samples: Sample[] = []
  const sample = async () => {
    await sleep((minutes * 60_000) / samplesCount)
    samples.push({ ...(await sampleOf(server)), minutes: minutesPassed() })
    if (samples.length % printEverySamples > 0) return
    const live = ((samples.at(-1)?.live ?? 0) / gauges.live.scale).toFixed(1)
    print(`${minutesPassed().toFixed(1)} min: ${fleets.changesAcknowledged} changes acknowledged; ${live} MB in use`)
  }
  const repeated = async (step: () => Promise<void>) => {
    while (!isOver()) await step().catch((error: Error) => problems.push(error.message))
  }
  const stopWork = runner.work()
  await Promise.all([
    repeated(sample),
    repeated(() => connectDevice(server, ++visits.devices)),
    ...Array.from({ length: subscribersAtOnce }, () => repeated(() => subscribe(server, ++visits.subscribers))),
    repeated(() => disconnectSome(server)),
  ])
  await stopWork()
  const seconds = minutesPassed() * 60
  server.mustRun('')
  const { changesAcknowledged } = fleets
  await server.settle({ isWhole: false })
  await server.stop()
  const warm = samples.filter((each) => each.minutes >= minutes * warmShare)
  const growth = (Object.keys(gauges) as GaugeName[]).map((name) => growthOf(name, warm))
  problems.push(...witness.problems(), ...growth.flatMap(({ problem }) => problem ?? []))
  const received = witness.frames.report()
  const acknowledged = Object.values(runner.counts).reduce((sum, each) => sum + each.acknowledged, 0)
  const outcome: Outcome = {
    problems,
    summary: [
      `${(seconds / 60).toFixed(1)} minutes, ${warmShare * 100} % of them warm-up: ${changesAcknowledged} changes acknowledged, ` +
        `${(changesAcknowledged / seconds).toFixed(0)} a second`,
      `${visits.devices} devices and ${visits.subscribers} subscribers that connected and left; ${acknowledged} writes of ` +
        `${Object.keys(runner.counts).length} other kinds`,
      `${received.acknowledged} frames acknowledged, ${received.found} received, ` +
        `${received.repeated} doubled or out of order, ${received.wrong} wrong`,
      ...growth.map(({ text }) => text),
    ],
  }
  // The fields in addition to the outcome are for the test of the proof itself.
  return { ...outcome, growth, received, visits, acknowledged }
}

async function sampleOf({ process, place }: LoadedServer): Promise<Omit<Sample, 'minutes'>> {
  const question: ProbeMessage = { type: 'memory' }
  const { heapBytes, bufferBytes, codeBytes } = await process.ask<MemoryUse>(question)
  const folder = join(place.dataFolder, 'db')
  const sizes = readdirSync(folder).map((name) => statSync(join(folder, name), { throwIfNoEntry: false })?.size ?? 0)
  return {
    live: heapBytes + bufferBytes - codeBytes,
    resident: processUsage(process.processId)?.residentBytes ?? 0,
    descriptors: readdirSync(`/proc/${process.processId}/fd`).length,
    database: sizes.reduce((sum, size) => sum + size, 0),
  }
}

/** A new device, whose connection is cut now and then. In the end it is deleted. */
async function connectDevice({ url, key, random, runner }: LoadedServer, number: number): Promise<void> {
  const fleet = new Fleet({
    ...{ url: url.replace(/^http/, 'ws'), key, prefix: `${passingPrefix}-${number}`, devices: 1, links: 1 },
    ...{ rate: 40, changes: 2, seed: number, backoffMsMax: 400 },
  })
  fleet.start()
  try {
    if (!(await fleet.allOnline(onlineMsMax))) throw new Error('a device is not welcome')
    await sleep(random.between(200, 2_000))
    if (number % 3 === 0) fleet.cutAll()
    await sleep(random.between(100, 1_000))
  } finally {
    await fleet.stop(number % 4 > 0)
  }
  if (fleet.counts.faultCount > 0) throw new Error(fleet.counts.faults.join('; '))
  for (const { identifier } of fleet.devices) await runner.api.must('DELETE', `/devices/${identifier}`)
}

/** A subscriber that stops reading, loses its connection and resumes; its session ends before its socket, or after it. */
async function subscribe({ url, random, place, runner }: LoadedServer, number: number): Promise<void> {
  const authorization = `Bearer ${await readToken(place.port, administrator)}`
  const dashboard = new Dashboard({
    ...{ url, authorization, from: number % 3 === 0 ? 'state' : 'now', isFolding: false, backoffMsMax: 300 },
    ...(number % 3 > 0 && { query: { devices: identifierOf('ALONE', number % 5) } }),
  })
  dashboard.start()
  try {
    for (let left = 3 + random.below(6); left > 0; left--) {
      if (!(await until(() => dashboard.isLive, onlineMsMax, 20))) throw new Error('a subscriber does not connect')
      const choice = random.next()
      if (choice < 0.4) dashboard.stall()
      else if (choice < 0.7) dashboard.cut()
      await sleep(random.between(300, 3_000))
      dashboard.unstall()
    }
    if (number % 2 === 0) dashboard.stop()
    await runner.api.must('POST', '/auth/logout', { headers: { authorization } })
    await sleep(200)
  } finally {
    dashboard.stop()
  }
  if (dashboard.faultCount > 0) throw new Error(dashboard.faults.join('; '))
}

async function disconnectSome({ random, witness, fleets }: LoadedServer): Promise<void> {
  await sleep(random.between(2_000, 12_000))
  if (random.below(3) === 0) witness.dashboard.cut()
  else fleets.cutSome(random)
}

interface Growth {
  readonly perMinute: number
  /** The values and the growth, with the 95 % confidence interval. */
  readonly text: string
  readonly problem?: string
}

/** Fits a line to the medians of spans: single samples are correlated, and would make the interval too narrow. */
function growthOf(name: GaugeName, samples: readonly Sample[]): Growth {
  const { title, scale, growthMax } = gauges[name]
  const length = Math.max(1, Math.floor(samples.length / spansCount))
  const spans = Array.from({ length: Math.floor(samples.length / length) }, (_, span) =>
    samples.slice(span * length, (span + 1) * length),
  )
  const points = spans.map((span) => ({
    minutes: spreadOf(span.map(({ minutes }) => minutes)).median,
    value: spreadOf(span.map((each) => each[name] / scale)).median,
  }))
  if (points.length < pointsMin) {
    const problem = `${title}: has only ${samples.length} samples`
    return { perMinute: Number.NaN, text: problem, problem }
  }
  const { perMinute, low, high } = slopeOf(points)
  const { median, min, max } = spreadOf(points.map(({ value }) => value))
  const [middle, least, most, slope, lowest, highest] = [median, min, max, perMinute, low, high].map((value) =>
    value.toFixed(2),
  )
  const text = `${title}: ${middle} (${least} to ${most}), growth ${slope} a minute (${lowest} to ${highest})`
  return { perMinute, text, ...(low > growthMax && { problem: `${text}: at most ${growthMax} is allowed` }) }
}

/**
 * The Theil–Sen slope: the median of the slopes of all pairs. More than a quarter of the points may be outliers, such
 * as a compaction, without an effect. The interval is Sen's, from the variance of Kendall's S. Sen 1968, "Estimates of
 * the regression coefficient based on Kendall's tau".
 */
function slopeOf(points: readonly { readonly minutes: number; readonly value: number }[]) {
  const slopes = points
    .flatMap((one, place) =>
      points.slice(place + 1).map((other) => (other.value - one.value) / (other.minutes - one.minutes)),
    )
    .sort((a, b) => a - b)
  const { length: count } = points
  const reach = deviations95 * Math.sqrt((count * (count - 1) * (2 * count + 5)) / 18)
  const at = (place: number) => slopes[Math.min(slopes.length - 1, Math.max(0, place))] as number
  return {
    perMinute: spreadOf(slopes).median,
    low: at(Math.floor((slopes.length - reach) / 2)),
    high: at(Math.ceil((slopes.length + reach) / 2)),
  }
}

/** Devices, and changes a second, of all fleets together. */
const fleetSize = { devices: 500, rate: 15_000 } as const

export const soakProof: Proof<{ minutes: number }> = {
  about: 'half an hour under all kinds of load without growth',
  help: `Runs the server under the load of the kill proof, but without kills, while devices and subscribers come and go, and
measures whether its memory, descriptors or disk usage grow after the warm-up (two fifths of the time). Below ten
minutes most results are noise.`,
  options: [option('--minutes N', 'duration', integer(1), 30)],
  run: ({ seed, minutes }, print) => proveSoak({ ...fleetSize, seed, minutes, print }),
}
