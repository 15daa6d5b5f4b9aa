import { useEffect, useLayoutEffect, useState } from 'preact/hooks'
import type { DeviceHistory, History } from '#client/client'
import { statusOf } from '#dashboard/components/problem-text'
import { type CallState, useCall } from '#dashboard/components/use-call'
import type { HistorySeries } from '#dashboard/history/chart-data'
import { type ChartSeries, seriesByService, seriesKey } from '#dashboard/history/chart-series'
import { edgesOf, type Span } from '#dashboard/history/span'
import { client, liveState } from '#dashboard/session'
import { runAfter } from '#dashboard/timers'

export interface Histories extends Omit<CallState<unknown>, 'value'> {
  /** By key of the series. While another span is being read, these are still the series of the previous span. */
  readonly series: ReadonlyMap<string, HistorySeries>
  readonly gaps: readonly History['gaps'][]
  /** The largest interval of the histories; undefined until a history is read. */
  readonly intervalMs: number | undefined
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
  const asked = JSON.stringify([series.map(seriesKey), span])
  const { value, problem, isLoading, refresh } = useCall(
    () => Promise.all(seriesByService(series).map(async (group) => ({ group, history: await read(group, span) }))),
    [asked],
  )
  const [answers, setAnswers] = useState<readonly ServiceAnswer[]>([])
  // A layout effect, so that the page never shows the previous series as those of another span.
  useLayoutEffect(() => {
    if (!value) return undefined
    setAnswers(value)
    if (!('lastMs' in span)) return undefined
    const ends = value.map(({ group, history }) =>
      history.live((changed) => {
        setAnswers((before) => before.map((each) => (each.group === group ? { group, history: changed } : each)))
        // When the window has moved by its whole length, reads again, to drop the points before the window.
        if (client.now() - changed.from > 2 * span.lastMs) refresh()
      }),
    )
    return () => {
      for (const end of ends) end()
    }
  }, [value])
  useEffect(() => (isBehind(problem) ? runAfter(behindMs, refresh) : undefined), [problem])

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
