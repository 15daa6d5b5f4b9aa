import {
  averagesAcross,
  dayMs,
  historyDay,
  hourMs,
  minuteMs,
  openHistory,
  piecesOf,
  seriesQuery,
} from '#bench/benchmarks/history-queries'
import type { Case, Figures, Round, Variant } from '#bench/harness/benchmark'
import { spreadOf } from '#bench/harness/statistics'
import { folderBytes, temporaryFolder } from '#bench/harness/temporary-folder'
import { installedServer, isInstalled } from '#bench/peers/peer-systems'
import { usageOf } from '#bench/process-usage'
import { SeededRandom } from '#bench/random'
import type { HistoryAnswer } from '#history/history-query'
import { answerQuery } from '#history/query'

/** Points of one day, a second after each minute: all systems then agree in which bucket a point is. */
const { from: begin, to: end } = historyDay
const minutes = dayMs / minuteMs
const shownSeries = 100
const timeOf = (minute: number) => begin + minute * minuteMs + 1_000

/** For each device, the value of each minute. */
type Values = readonly Float64Array[]

function valuesOf(devices: number): Values {
  const random = new SeededRandom(1)
  return Array.from({ length: devices }, () => {
    let value = random.below(100)
    return Float64Array.from({ length: minutes }, () => {
      value = Math.round(value * 10 + random.below(7) - 3) / 10
      return value
    })
  })
}

const average = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length

function averagesOf(values: Float64Array, bucketMinutes: number): number[] {
  return Array.from({ length: minutes / bucketMinutes }, (_, bucket) =>
    average([...values.subarray(bucket * bucketMinutes, (bucket + 1) * bucketMinutes)]),
  )
}

/** A system that stores the points. */
interface History {
  write(values: Values): Promise<void>
  /** The values of one device. */
  raw(): Promise<readonly number[]>
  /** The averages of the first devices, by 5 minutes. */
  series(): Promise<readonly (readonly number[])[]>
  /** For each hour, the average over all devices of the average of each device. */
  across(): Promise<readonly number[]>
  cpuMs(): number
  /** Ends the system, and returns its bytes on the disk. Must be the last call. */
  end(): Promise<number>
}

async function measure(open: () => Promise<History>, { isQuick }: Round): Promise<Figures> {
  const values = valuesOf(isQuick ? 100 : 1_000)
  const history = await open()
  const before = history.cpuMs()
  await history.write(values)
  const points = values.length * minutes
  const cpuPerPoint = ((history.cpuMs() - before) / points) * 1000
  const raw = await timed(() => history.raw())
  const series = await timed(() => history.series())
  const across = await timed(() => history.across())
  checkEqual('values', raw.answer, [...(values[0] as Float64Array)])
  for (const [device, found] of series.answer.entries()) {
    checkEqual('averages by 5 minutes', found, averagesOf(values[device] as Float64Array, 5))
  }
  const hourly = values.map((each) => averagesOf(each, 60))
  checkEqual(
    'averages over all devices',
    across.answer,
    Array.from({ length: 24 }, (_, hour) => average(hourly.map((each) => each[hour] as number))),
  )
  const bytes = await history.end()
  return { cpuPerPoint, bytesPerPoint: bytes / points, rawMs: raw.ms, seriesMs: series.ms, acrossMs: across.ms }
}

/** Asks five times; returns the last answer and the median of the times. */
async function timed<Answer>(ask: () => Promise<Answer>): Promise<{ readonly answer: Answer; readonly ms: number }> {
  const times: number[] = []
  for (;;) {
    const before = performance.now()
    const answer = await ask()
    times.push(performance.now() - before)
    if (times.length === 5) return { answer, ms: spreadOf(times).median }
  }
}

function checkEqual(what: string, found: readonly number[], expected: readonly number[]): void {
  const isEqual = (index: number) => Math.abs((found[index] as number) - (expected[index] as number)) < 1e-6
  if (found.length !== expected.length || !found.every((_, index) => isEqual(index)))
    throw new Error(`${what} differ: ${found.slice(0, 5)} (${found.length}), not ${expected.slice(0, 5)}`)
}

const ownCpuMs = () => {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1000
}

async function ours(): Promise<History> {
  const writer = await openHistory(1)
  const { history } = writer
  let devices = 0
  return {
    async write(values) {
      devices = values.length
      for (let minute = 0; minute < minutes; minute++) {
        const time = timeOf(minute)
        await writer.write(values.map((each, device) => ({ device, time, values: [each[minute] as number] })))
      }
      await writer.settle()
    },
    async raw() {
      const query = seriesQuery([0], { raw: { limit: undefined, isDescending: false } })
      return parsed(await answerQuery(history, query)).series[0].value
    },
    async series() {
      const buckets = { interval: 5 * minuteMs, zone: 'UTC', aggregates: ['avg'] as const }
      const shown = Array.from({ length: Math.min(shownSeries, devices) }, (_, device) => device)
      const answer = await answerQuery(history, seriesQuery(shown, { buckets }))
      return parsed(answer).series.map(({ avg }: { avg: number[] }) => avg)
    },
    across: async () => parsed(await averagesAcross(history, devices)).value,
    cpuMs: ownCpuMs,
    end: async () => (await writer.end()).bytes,
  }
}

function parsed(answer: HistoryAnswer) {
  return JSON.parse(Buffer.concat(piecesOf(answer)).toString())
}

async function victoriaMetrics(): Promise<History> {
  const folder = temporaryFolder('bench-victoria-metrics-')
  const line = ['-httpListenAddr=127.0.0.1:{port}', `-storageDataPath=${folder.path}`, '-retentionPeriod=100y']
  const limits = ['-search.maxUniqueTimeseries=100000', '-search.disableCache', '-loggerLevel=ERROR']
  const server = await installedServer({ command: 'victoria-metrics', line: [...line, ...limits] })()
  const ask = async (path: string, body?: string) => {
    const answer = await fetch(`http://127.0.0.1:${server.port}${path}`, { method: 'POST', ...(body && { body }) })
    const text = await answer.text()
    if (!answer.ok) throw new Error(`victoria-metrics: ${path}: ${answer.status} ${text.slice(0, 200)}`)
    return text
  }
  /** In VictoriaMetrics the time of a bucket is its end, and a point at that time belongs to the bucket. */
  const range = async (query: string, stepMs: number) => {
    const [from, to, step] = [begin + stepMs, end, stepMs].map((ms) => ms / 1000)
    const text = await ask(
      `/api/v1/query_range?${new URLSearchParams({ query, start: `${from}`, end: `${to}`, step: `${step}s` })}`,
    )
    const { data } = JSON.parse(text) as { data: { result: { metric: { d?: string }; values: [number, string][] }[] } }
    return data.result
      .map(({ metric, values }) => ({ device: Number(metric.d), values: values.map(([, value]) => Number(value)) }))
      .sort((a, b) => a.device - b.device)
      .map(({ values }) => values)
  }
  return {
    async write(values) {
      const timestamps = Array.from({ length: minutes }, (_, minute) => timeOf(minute))
      for (let first = 0; first < values.length; first += 50) {
        const lines = values.slice(first, first + 50).map((each, place) => {
          const metric = { __name__: 'v', d: `${first + place}` }
          return JSON.stringify({ metric, values: [...each], timestamps })
        })
        await ask('/api/v1/import', lines.join('\n'))
      }
      await ask('/internal/force_flush')
      await ask('/internal/force_merge')
    },
    async raw() {
      const text = await ask(`/api/v1/export?${new URLSearchParams({ 'match[]': 'v{d="0"}' })}`)
      return JSON.parse(text).values
    },
    series: () => range(`avg_over_time(v{d=~"[0-9]{1,2}"}[5m])`, 5 * minuteMs),
    across: async () => (await range('avg(avg_over_time(v[1h]))', hourMs))[0] ?? [],
    cpuMs: () => usageOf(server.processId).cpuSeconds * 1000,
    async end() {
      await server.stop()
      const bytes = await folderBytes(folder.path)
      await folder.remove()
      return bytes
    },
  }
}

/** The parts of `@duckdb/node-api` that are used here: it is not a dependency, because it takes 100 MB. */
interface DuckDb {
  readonly DuckDBInstance: { create(path: string): Promise<{ connect(): Promise<DuckConnection>; closeSync(): void }> }
}
interface DuckConnection {
  run(sql: string): Promise<unknown>
  runAndReadAll(sql: string): Promise<{ getRows(): unknown[][] }>
  createAppender(table: string): Promise<{
    appendInteger(value: number): void
    appendBigInt(value: bigint): void
    appendDouble(value: number): void
    endRow(): void
    closeSync(): void
  }>
  closeSync(): void
}

const duckName: string = '@duckdb/node-api'
const duck = await import(duckName).then(
  (module) => module as DuckDb,
  () => undefined,
)

async function duckDb({ DuckDBInstance }: DuckDb): Promise<History> {
  const folder = temporaryFolder('bench-duckdb-')
  const instance = await DuckDBInstance.create(`${folder.path}/points.db`)
  const connection = await instance.connect()
  await connection.run('create table points (device integer, time bigint, value double)')
  const rows = async (sql: string) => (await connection.runAndReadAll(sql)).getRows().map((row) => row.map(Number))
  return {
    async write(values) {
      const appender = await connection.createAppender('points')
      for (let minute = 0; minute < minutes; minute++) {
        const time = BigInt(timeOf(minute))
        for (const [device, each] of values.entries()) {
          appender.appendInteger(device)
          appender.appendBigInt(time)
          appender.appendDouble(each[minute] as number)
          appender.endRow()
        }
      }
      appender.closeSync()
      await connection.run('checkpoint')
    },
    raw: async () => (await rows('select value from points where device = 0 order by time')).flat(),
    async series() {
      const found = await rows(`select device, time // ${5 * minuteMs} as bucket, avg(value) from points
        where device < ${shownSeries} group by device, bucket order by device, bucket`)
      const buckets = minutes / 5
      return Array.from({ length: found.length / buckets }, (_, device) =>
        found.slice(device * buckets, (device + 1) * buckets).map(([, , value]) => value as number),
      )
    },
    across: async () =>
      (
        await rows(`select avg(value) from (select time // ${hourMs} as bucket, avg(value) as value from points
        group by device, bucket) group by bucket order by bucket`)
      ).flat(),
    cpuMs: ownCpuMs,
    async end() {
      connection.closeSync()
      instance.closeSync()
      const bytes = await folderBytes(folder.path)
      await folder.remove()
      return bytes
    },
  }
}

const variantOf = (name: string, open: () => Promise<History>): Variant => ({
  name,
  measure: (round) => measure(open, round),
})

/** The same points in other systems, where they are installed: `apt install victoria-metrics`, `npm install --no-save @duckdb/node-api`. */
export const historyPeers: Case = {
  name: 'the same points in other systems',
  baseline: 'this server',
  variants: [
    variantOf('this server', ours),
    ...(isInstalled('victoria-metrics') ? [variantOf('VictoriaMetrics', victoriaMetrics)] : []),
    ...(duck ? [variantOf('DuckDB', () => duckDb(duck))] : []),
  ],
}

export const historyPeerFigures = {
  rawMs: { title: 'a day of one series, ms', digits: 1, isCompared: true },
  seriesMs: { title: '100 series by 5 min, ms', digits: 1, isCompared: true },
  acrossMs: { title: 'all devices by hour, ms', digits: 1, isCompared: true },
} as const
