import type { Platform } from '#client/platform'
import { ConnectionLost, Problem, pauseMsAfter } from '#client/problem'
import { nextOf, requestOf } from '#client/requests'
import type { Answer, Query } from '#client/routes'
import type { Exchange, Request } from '#client/transport'
import type { EventOf, StreamEvent } from '#model/event'

const route = 'GET /devices/:deviceIdentifier/services/:serviceIdentifier/history'

/** The answer of the server: a series for each property and type, as columns. */
export type History = Answer<typeof route>
type Series = History['series'][number]

/**
 * `from` and `to`: Unix milliseconds, or a time before now such as `-24h`. Without `interval`, the history has all
 * points.
 */
export type HistoryOptions = Omit<Query<typeof route>, 'properties' | 'limit' | 'order' | 'position'>

export interface DeviceHistory extends History {
  /**
   * Continues this history up to the present: calls `changed` with each newer history, until the returned function is
   * called or the server answers 400, 401, 403 or 404. Without an interval, points are added from events. With an
   * interval, the last buckets are read again at most once a second, and less often with intervals over a minute.
   */
  live(changed: (history: History) => void): () => void
}

/** The parts of a live state that a history uses. */
export interface HistorySource {
  readonly platform: Pick<Platform, 'sleep' | 'random'>
  readonly read: Exchange
  events(listener: (event: StreamEvent) => void): () => void
  /** Called when events were missed. */
  missed(listener: () => void): () => void
}

interface Question {
  readonly deviceIdentifier: string
  readonly serviceIdentifier: string
  readonly properties: readonly (string | number)[] | undefined
  readonly options: HistoryOptions
}

export async function readHistory(source: HistorySource, question: Question): Promise<DeviceHistory> {
  const history = await readPages(source, question)
  return { ...history, live: (changed) => follow(source, question, history, changed) }
}

async function readPages(source: HistorySource, question: Question, signal?: AbortSignal): Promise<History> {
  const { deviceIdentifier, serviceIdentifier, properties, options } = question
  const query = { ...options, ...(properties && { properties: properties.join(',') }) }
  let request: Request = requestOf(route, { parameters: { deviceIdentifier, serviceIdentifier }, query, signal })
  let history: History | undefined
  for (;;) {
    const { status, headers, body } = await source.read(request)
    if (status !== 200) throw new Problem(status, body, headers)
    const page = body as History
    if (!Array.isArray(page.series)) throw new ConnectionLost(`${request.path}: the answer is not a history`)
    history = history ? joined(history, page) : page
    const next = nextOf(headers)
    if (next === undefined) return history
    request = { method: 'GET', path: next, signal }
  }
}

/** Joins two histories. Where they overlap, `after` replaces `before`. */
function joined(before: History, after: History): History {
  const added = after.series.filter((each) => !before.series.some((other) => isSame(each, other)))
  const series = before.series.map((each) => {
    const later = after.series.find((other) => isSame(each, other))
    return later ? joinedSeries(each, later, after.from) : each
  })
  return { ...after, from: before.from, gaps: [...before.gaps, ...after.gaps], series: [...series, ...added] }
}

function isSame(a: Series, b: Series): boolean {
  return a.propId === b.propId && a.type === b.type
}

/** Cuts the columns of `before` at `from`, and appends the columns of `after`. */
function joinedSeries(before: Series, after: Series, from: number): Series {
  const kept = before.time.filter((time) => time < from).length
  const columns = Object.entries(after).map(([name, column]) => {
    if (!Array.isArray(column)) return [name, column]
    const earlier = before[name as 'time'] ?? []
    if (name === 'marks') return [name, [...before.marks.filter(({ time }) => time < from), ...after.marks]]
    return [name, [...earlier.slice(0, kept), ...column]]
  })
  return { ...before, ...Object.fromEntries(columns) }
}

/** The statuses after which another attempt would get the same answer. */
const lasting: ReadonlySet<number> = new Set([400, 401, 403, 404])

/** The minimum time between two reads: a delay of a sixtieth of the interval is not visible. */
function refreshMsOf(interval: number): number {
  return Math.min(10_000, Math.max(1_000, interval / 60))
}

function follow(
  source: HistorySource,
  question: Question,
  first: History,
  changed: (history: History) => void,
): () => void {
  const { deviceIdentifier, serviceIdentifier } = question
  const { interval, tz } = first
  const ended = new AbortController()
  const { signal } = ended
  let history = first
  /** Points that were reported since the last read began, and that the answer may lack. Undefined: nothing is being read. */
  let reported: EventOf<'OBJECT_UPDATED'>[] | undefined
  /** Called when the history must be read again. */
  let wake = () => {}

  const read = async () => {
    reported = []
    // Missed points may have any time, so without an interval everything is read again. With an interval, only the last
    // bucket and later ones are read: late points of earlier buckets are not included.
    const from = interval === undefined ? first.from : lastTimeOf(history)
    const { points: _, to: __, ...options } = question.options
    const fixed = { ...options, from, ...(interval !== undefined && { interval }), ...(tz !== undefined && { tz }) }
    const newer = await readPages(source, { ...question, options: fixed }, signal)
    history = interval === undefined ? newer : joined(history, newer)
    if (interval === undefined) for (const event of reported) history = withEvent(history, event, question)
    reported = undefined
    changed(history)
  }
  const run = async () => {
    for (let attempt = 1; !signal.aborted; attempt++) {
      const isOutdated = new Promise<void>((resolve) => {
        wake = resolve
      })
      try {
        await read()
        attempt = 0
        if (interval !== undefined) await source.platform.sleep(refreshMsOf(interval), signal)
        await isOutdated
      } catch (error) {
        // The caller may no longer read the history, or the device is gone.
        if (error instanceof Problem && lasting.has(error.status)) end()
        if (signal.aborted) return
        await source.platform.sleep(pauseMsAfter(error, attempt, source.platform.random), signal).catch(() => {})
      }
    }
  }
  const unsubscribe = source.events((event) => {
    if (event.type !== 'OBJECT_UPDATED') return
    const update = event as EventOf<'OBJECT_UPDATED'>
    if (update.deviceIdentifier !== deviceIdentifier || update.serviceIdentifier !== serviceIdentifier) return
    if (interval !== undefined) wake()
    else if (reported) reported.push(update)
    else {
      history = withEvent(history, update, question)
      changed(history)
    }
  })
  const unsubscribeMissed = source.missed(() => wake())
  const end = () => {
    unsubscribe()
    unsubscribeMissed()
    ended.abort()
    wake()
  }
  void run()
  return end
}

function lastTimeOf({ from, series }: History): number {
  return Math.max(from, ...series.map(({ time }) => time.at(-1) ?? from))
}

/** A point replaces an earlier point with the same time, as on the server. */
function withEvent(
  history: History,
  { timestamp, updates }: EventOf<'OBJECT_UPDATED'>,
  { properties }: Question,
): History {
  const series = [...history.series]
  for (const update of updates) {
    const { propId, type } = update
    let place = series.findIndex((each) => isSame(each, { propId, type } as Series))
    const isAsked = properties === undefined || series.some((each) => each.propId === propId)
    if (!isAsked || timestamp < history.from) continue
    if (place < 0) place = series.push({ propId, type, time: [], value: [], marks: [] }) - 1
    const before = series[place] as Series
    if (update.tag !== 'value' || update.value === undefined) {
      const mark = { time: timestamp, tag: update.tag === 'error' ? ('error' as const) : ('removed' as const) }
      series[place] = {
        ...before,
        marks: [...before.marks, { ...mark, ...('error' in update && { error: update.error }) }],
      }
      continue
    }
    series[place] = withPoint(before, timestamp, update.value)
  }
  return { ...history, to: Math.max(history.to, timestamp + 1), series }
}

function withPoint(series: Series, at: number, point: NonNullable<Series['value']>[number]): Series {
  const { time, value = [] } = series
  let place = time.length
  while (place > 0 && (time[place - 1] as number) >= at) place--
  const isReplaced = time[place] === at
  return {
    ...series,
    time: time.toSpliced(place, isReplaced ? 1 : 0, at),
    value: value.toSpliced(place, isReplaced ? 1 : 0, point),
  }
}
