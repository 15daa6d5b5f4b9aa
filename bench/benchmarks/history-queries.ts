import {
  averagesAcross,
  dayMs,
  type HistoryWriter,
  historyDay,
  hourMs,
  minuteMs,
  openHistory,
  piecesOf,
  type Report,
  seriesQuery,
} from '#bench/benchmarks/history-writer'
import type { Benchmark, Case, Figures, Round } from '#bench/harness/benchmark'
import { SeededRandom } from '#bench/random'
import type { HistoryAnswer } from '#history/history-query'
import { answerQuery } from '#history/query'
import { reusePiece } from '#history/text-pieces'

const { from: begin, to: endOfDay } = historyDay
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
