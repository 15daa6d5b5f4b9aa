import { useCallback, useEffect, useState } from 'preact/hooks'
import type { DeviceHistory, History } from '#client/client'
import { statusOf } from '#dashboard/components/problem-text'
import type { HistorySeries } from '#dashboard/history/chart-data'
import { type ChartSeries, seriesByService, seriesKey } from '#dashboard/history/chart-series'
import { edgesOf, type Span } from '#dashboard/history/span'
import { client, liveState } from '#dashboard/session'
import { runAfter } from '#dashboard/timers'

export interface Histories {
  /** By key of the series. While another span is being read, these are still the series of the previous span. */
  readonly series: ReadonlyMap<string, HistorySeries>
  readonly gaps: readonly History['gaps'][]
  /** The largest interval of the histories; undefined until a history is read. */
  readonly intervalMs: number | undefined
  readonly isLoading: boolean
  readonly problem: unknown
  readonly refresh: () => void
}

interface ServiceAnswer {
  readonly group: readonly ChartSeries[]
  readonly history: History
}

/** The number of buckets of a chart, each about two pixels wide. */
const points = 500

/** Reads again after this time, when the history was behind. */
const behindMs = 5_000

/**
 * Reads the histories of all series, with one request for each service. Keeps histories current if the span ends now.
 */
export function useHistories(series: readonly ChartSeries[], span: Span): Histories {
  const [answers, setAnswers] = useState<readonly ServiceAnswer[]>([])
  const [problem, setProblem] = useState<unknown>()
  const [isLoading, setLoading] = useState(true)
  const [attempt, setAttempt] = useState(0)
  const refresh = useCallback(() => setAttempt((count) => count + 1), [])
  const asked = JSON.stringify([series.map(seriesKey), span])

  useEffect(() => {
    const ends: (() => void)[] = []
    let isOver = false
    const follow = (group: readonly ChartSeries[], history: DeviceHistory, lastMs: number) =>
      history.live((changed) => {
        setAnswers((before) => before.map((each) => (each.group === group ? { group, history: changed } : each)))
        // When the window has moved by its whole length, reads again, to drop the points before the window.
        if (client.now() - changed.from > 2 * lastMs) refresh()
      })
    setLoading(true)
    Promise.all(seriesByService(series).map(async (group) => ({ group, history: await read(group, span) }))).then(
      (all) => {
        if (isOver) return
        setAnswers(all)
        setProblem(undefined)
        setLoading(false)
        if ('lastMs' in span) for (const { group, history } of all) ends.push(follow(group, history, span.lastMs))
      },
      (failure: unknown) => {
        if (isOver) return
        setProblem(failure)
        setLoading(false)
        if (isBehind(failure)) ends.push(runAfter(behindMs, refresh))
      },
    )
    return () => {
      isOver = true
      for (const end of ends) end()
    }
  }, [asked, attempt])

  return {
    series: new Map(answers.flatMap(seriesIn)),
    gaps: answers.map(({ history }) => history.gaps),
    intervalMs: answers.length === 0 ? undefined : Math.max(...answers.map(({ history }) => history.interval ?? 0)),
    isLoading,
    problem,
    refresh,
  }
}

function read(group: readonly ChartSeries[], span: Span): Promise<DeviceHistory> {
  const { deviceIdentifier, serviceIdentifier } = group[0] as ChartSeries
  const { from, to } = edgesOf(span, client.now())
  const propIds = group.map(({ propId }) => propId)
  return liveState()
    .device(deviceIdentifier)
    .history(serviceIdentifier, propIds, {
      ...('lastMs' in span ? { from } : { from, to }),
      ...{ interval: 'auto', points, aggregates: 'min,avg,max,count,last' },
      tz: Intl.DateTimeFormat().resolvedOptions().timeZone,
    })
}

function seriesIn({ group, history }: ServiceAnswer): (readonly [string, HistorySeries])[] {
  return group.flatMap((each) => {
    const found = history.series.find(({ propId }) => propId === each.propId)
    return found ? [[seriesKey(each), found] as const] : []
  })
}

export function isHistoryOff(problem: unknown): boolean {
  return statusOf(problem) === 404 && problem instanceof Error && problem.message === 'history is off'
}

/** Whether the history has not stored the latest reports yet, or is overloaded. */
export function isBehind(problem: unknown): boolean {
  return statusOf(problem) === 503
}
