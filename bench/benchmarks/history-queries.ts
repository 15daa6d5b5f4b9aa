import { join } from 'node:path'
import type { Benchmark, Case, Figures, Round } from '#bench/harness/benchmark'
import { folderBytes, temporaryFolder } from '#bench/harness/temporary-folder'
import { SeededRandom } from '#bench/random'
import { answerFleetAggregate } from '#history/fleet-aggregate'
import type { HistoryAnswer, HistoryQuery } from '#history/history-query'
import { HistoryStore } from '#history/history-store'
import { answerQuery } from '#history/query'
import { defaultLimits } from '#history/retention'
import { reusePiece } from '#history/text-pieces'
import type { Entry } from '#model/entry'
import { propertyTypeOf } from '#model/property-type'
import { ChunkPacker } from '#store/chunk'
import { levelStorage } from '#store/level'
import { Shapes } from '#store/shapes'

/** Values of all properties of a device at one time. */
export interface Report {
  readonly device: number
  /** Unix ms. */
  readonly time: number
  readonly values: readonly number[]
}

const historyTenant = 'default'
const historyService = 'service'
const deviceName = (device: number) => `DEVICE-${device}`

const begin = Date.UTC(2026, 0, 1)
export const [minuteMs, hourMs, dayMs] = [60_000, 3_600_000, 86_400_000] as const
/** The day to which queries refer, unless they say otherwise. */
export const historyDay = { from: begin, to: begin + dayMs }

/** A query of a series of each device. */
export function seriesQuery(devices: readonly number[], more: Partial<HistoryQuery>): HistoryQuery {
  const service = { service: historyService, declared: [], propIds: undefined, path: '' }
  const services = devices.map((device) => ({ device: deviceName(device), ...service }))
  return { tenant: historyTenant, form: 'series', ...historyDay, now: historyDay.to, services, ...more }
}

/** For each hour of the day, the average over the first devices of the average of each device. */
export function averagesAcross(history: HistoryStore, devices: number): Promise<HistoryAnswer> {
  const names = Array.from({ length: devices }, (_, device) => deviceName(device)).join('\n')
  return answerFleetAggregate(history, {
    ...{ tenant: historyTenant, ...historyDay, now: historyDay.to, interval: hourMs, zone: 'UTC' },
    ...{ service: historyService, propId: 0, aggregate: 'avg', across: 'avg', devices: names },
  })
}

/** The text of an answer in pieces. @throws Error if the query was refused */
export function piecesOf(answer: HistoryAnswer) {
  if (answer === 'unknown' || 'faults' in answer) throw new Error(`a query was refused: ${JSON.stringify(answer)}`)
  return answer.pieces
}

type HistoryWriter = Awaited<ReturnType<typeof openHistory>>

/** Opens a new history, and writes reports to it as the worker thread of the server does. */
export async function openHistory(propertiesEach: number) {
  const folder = temporaryFolder('bench-history-')
  const open = () => levelStorage({ folder: folder.path, headroomBytes: 0 }).open()
  const storage = await open()
  const shapes = new Shapes(() => undefined)
  const type = propertyTypeOf('float64')
  if (!type) throw new Error('no such type')
  const properties = Array.from({ length: propertiesEach }, (_, propId) => ({ propId, type, modifier: 0 }))
  const shape = shapes.intern(historyService, properties)
  const history = await HistoryStore.open(storage, shapes, defaultLimits)
  const [base] = history.checkpoints
  if (base) await history.resume(base, 'epoch')
  let offset = 1
  let cpuMs = 0

  async function merge(all: boolean): Promise<void> {
    history.confirm(history.flushed)
    await history.merge({ all, pause: async () => {} })
  }

  async function timed(work: () => Promise<void>): Promise<void> {
    const before = process.cpuUsage()
    await work()
    const { user, system } = process.cpuUsage(before)
    cpuMs += (user + system) / 1000
  }

  /** Writes and merges everything. */
  const settle = () =>
    timed(async () => {
      await history.flush()
      await merge(true)
    })

  return {
    history,
    settle,

    async write(reports: readonly Report[]): Promise<void> {
      const packer = new ChunkPacker(() => {})
      const now = reports[0]?.time ?? 0
      for (const report of reports) packer.add([entryOf(shape, report)])
      const chunks = [...packer.chunks(now, 0, offset, (_, length) => Buffer.allocUnsafe(length))]
      offset += reports.length
      await timed(async () => {
        for (const chunk of chunks) await history.apply({ tenant: historyTenant, time: now, ...chunk }, now)
        if (history.isMergeDue) await merge(false)
      })
    },

    /** Settles, closes and deletes the history. `cpuMs`: CPU time of all writes and merges. `bytes`: size on disk before. */
    async end(): Promise<{ readonly cpuMs: number; readonly bytes: number }> {
      await settle()
      await storage.close()
      // On opening, LevelDB writes its log as a table. Pages that were merged take space until LevelDB compacts them.
      const compacted = await open()
      await compacted.compact()
      await compacted.close()
      const bytes = await folderBytes(join(folder.path, 'db'))
      await folder.remove()
      return { cpuMs, bytes }
    },
  }
}

function entryOf(shape: ReturnType<Shapes['intern']>, { device, time, values }: Report): Entry {
  return {
    kind: 'reported',
    device: deviceName(device),
    flakeAddress: device + 1,
    shape,
    at: time,
    timestamp: time,
    seq: time,
    items: values.flatMap((value, propId) => [propId, value]),
  }
}

const endOfDay = historyDay.to
const end = begin + 365 * dayMs

/**
 * Three fleets: devices with a point every minute for a day, every ten seconds for a day, and every minute for a year.
 */
const [everyMinute, everyTenSeconds, forAYear] = ['minute', 'ten seconds', 'year'] as const
type Fleet = typeof everyMinute | typeof everyTenSeconds | typeof forAYear

async function filled(fleet: Fleet, devices: number): Promise<HistoryWriter> {
  const writer = await openHistory(1)
  const random = new SeededRandom(1)
  const values = new Float64Array(devices)
  const periodMs = fleet === everyTenSeconds ? 10_000 : minuteMs
  const until = fleet === forAYear ? end : endOfDay
  const batchesOf = Math.max(1, Math.floor(1_000 / devices))
  const reports: Report[] = []
  for (let time = begin, batch = 1; time < until; time += periodMs, batch++) {
    for (let device = 0; device < devices; device++) {
      const value = Math.round((values[device] as number) * 10 + random.below(7) - 3) / 10
      values[device] = value
      reports.push({ device, time, values: [value] })
    }
    if (batch % batchesOf === 0) await writer.write(reports.splice(0))
  }
  if (reports.length > 0) await writer.write(reports)
  await writer.settle()
  return writer
}

const bucketsOf = (interval: number) => ({ interval, zone: 'UTC', aggregates: ['avg', 'min', 'max'] as const })

function bytesOf(answer: HistoryAnswer): number {
  const pieces = piecesOf(answer)
  // As in the server, when the client has received them.
  for (const piece of pieces) reusePiece(piece)
  return pieces.reduce((sum, { byteLength }) => sum + byteLength, 0)
}

/** Measures `count` queries. With fewer than 100 queries, p99 is the slowest. */
async function timesOf(count: number, ask: () => Promise<HistoryAnswer>): Promise<Figures> {
  const times: number[] = []
  // The first queries are slower, because the code is compiled meanwhile.
  for (let index = 0; index < count / 4; index++) await ask()
  for (let index = 0; index < count; index++) {
    const before = performance.now()
    if (bytesOf(await ask()) < 500) throw new Error('a query found nothing')
    times.push(performance.now() - before)
  }
  times.sort((a, b) => a - b)
  return { p99: times[Math.ceil(times.length * 0.99) - 1] ?? Number.NaN }
}

const measured =
  (
    fleet: Fleet,
    devices: number,
    quick: number,
    measure: (writer: HistoryWriter, devices: number) => Promise<Figures>,
  ) =>
  async (round: Round): Promise<Figures> => {
    const count = round.isQuick ? quick : devices
    const writer = await filled(fleet, count)
    try {
      return await measure(writer, count)
    } finally {
      await writer.end()
    }
  }

const list = (count: number) => Array.from({ length: count }, (_, device) => device)

const dayRaw = 'a day of one series, 8 640 points'
const yearOfHours = 'a year of one series by hours'
const hundred = '100 series, 24 h by 5 min'
const across = '10 000 devices, 24 h by 1 h, across'
const exported = 'export of 100 series as CSV'

export const queries: Case = {
  name: 'queries',
  variants: [
    {
      name: dayRaw,
      measure: measured(everyTenSeconds, 1, 1, ({ history }) =>
        timesOf(100, () => answerQuery(history, seriesQuery([0], { raw: { limit: undefined, isDescending: false } }))),
      ),
    },
    {
      name: yearOfHours,
      measure: measured(forAYear, 1, 1, ({ history }) =>
        timesOf(100, () => answerQuery(history, seriesQuery([0], { to: end, now: end, buckets: bucketsOf(hourMs) }))),
      ),
    },
    {
      name: hundred,
      measure: measured(everyTenSeconds, 100, 10, ({ history }, devices) =>
        timesOf(20, () => answerQuery(history, seriesQuery(list(devices), { buckets: bucketsOf(5 * minuteMs) }))),
      ),
    },
    {
      name: across,
      measure: measured(everyMinute, 10_000, 100, ({ history }, devices) =>
        timesOf(5, () => averagesAcross(history, devices)),
      ),
    },
    {
      name: exported,
      measure: measured(everyTenSeconds, 100, 10, async ({ history }, devices) => {
        let points = 0
        const before = performance.now()
        for (const device of list(devices)) {
          for (let range: { from: number; to: number } | undefined = historyDay; range; ) {
            const answer: HistoryAnswer = await answerQuery(history, seriesQuery([device], { form: 'csv', ...range }))
            bytesOf(answer)
            range = (answer as Extract<HistoryAnswer, { pieces: unknown }>).next
          }
          points += dayMs / 10_000
        }
        return { pointsPerSecond: points / ((performance.now() - before) / 1000) }
      }),
    },
  ],
}

/** `p99` in milliseconds. */
export const queryTargets: Benchmark['targets'] = [
  { case: queries.name, variant: dayRaw, figure: 'p99', atMost: 10 },
  { case: queries.name, variant: yearOfHours, figure: 'p99', atMost: 10 },
  { case: queries.name, variant: hundred, figure: 'p99', atMost: 150 },
  { case: queries.name, variant: across, figure: 'p99', atMost: 1_000 },
  { case: queries.name, variant: exported, figure: 'pointsPerSecond', atLeast: 1_000_000 },
]
