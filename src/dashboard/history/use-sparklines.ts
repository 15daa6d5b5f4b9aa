import { useEffect, useReducer, useRef, useState } from 'preact/hooks'
import { usePolling } from '#dashboard/components/use-call'
import { seriesKey } from '#dashboard/history/chart-series'
import { SparklineCache, type SparklinePoints, type SparklineSeries } from '#dashboard/history/sparkline-points'
import { client } from '#dashboard/session'
import { runAfter } from '#dashboard/timers'

/** Nothing is requested until the same rows have been visible for this time. */
const restMs = 300
/** How often points are checked for their age. */
const checkMs = 10_000

const bucketMs = 60_000

/**
 * The last hour of these series, by key. One query reads all series that are not known yet or were read over a minute
 * ago. After a failure, for example with history off, there are no points.
 */
export function useSparklines(series: readonly SparklineSeries[]): (key: string) => SparklinePoints | undefined {
  const cache = useRef<SparklineCache>()
  cache.current ??= new SparklineCache()
  const known = cache.current
  const [, render] = useReducer((count: number, _: undefined) => count + 1, 0)
  const isAsking = useRef(false)
  const asked = series.map(seriesKey).join('\n')
  const latest = useRef(series)
  latest.current = series
  const [ask] = useState(() => async () => {
    if (isAsking.current) return
    isAsking.current = true
    for (;;) {
      const due = known.due(latest.current, client.now())
      if (due.length === 0) break
      const points = await read(due).catch(() => new Map<string, SparklinePoints>())
      for (const each of due) known.add(seriesKey(each), points.get(seriesKey(each)), client.now())
      render(undefined)
    }
    isAsking.current = false
  })
  useEffect(() => runAfter(restMs, () => void ask()), [asked])
  usePolling(ask, checkMs)
  return (key) => known.pointsOf(key)
}

async function read(series: readonly SparklineSeries[]): Promise<ReadonlyMap<string, SparklinePoints>> {
  const answer = await client.call('POST /history/query', {
    body: {
      series: series.map(({ deviceIdentifier, serviceIdentifier, propId }) => {
        return { deviceIdentifier, serviceIdentifier, properties: [propId] }
      }),
      ...{ from: '-1h', interval: bucketMs, aggregates: ['avg'] },
    },
  })
  const found = new Map<string, SparklinePoints>()
  if ('series' in answer) {
    for (const each of answer.series) found.set(seriesKey(each), { time: each.time, avg: each.avg ?? [] })
  }
  return found
}
