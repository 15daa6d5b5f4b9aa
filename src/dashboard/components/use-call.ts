import { useCallback, useEffect, useRef, useState } from 'preact/hooks'
import { hasAccess, liveState, onReconnect } from '#dashboard/session'
import { delayed, runEvery } from '#dashboard/timers'

export interface CallState<Value> {
  /** The latest answer; it stays during a refresh. */
  readonly value: Value | undefined
  readonly problem: unknown
  readonly isLoading: boolean
  readonly refresh: () => void
}

/**
 * Calls when the component appears, and when `deps` change. Only the answer of the latest call counts. Changed `deps`
 * drop the value; `refresh` keeps it until the answer arrives.
 */
export function useCall<Value>(call: () => Promise<Value>, deps: readonly unknown[]): CallState<Value> {
  const [state, setState] = useState<Partial<CallState<Value>>>({ isLoading: true })
  const latest = useRef(0)
  const send = useCallback((isRefresh: boolean) => {
    latest.current += 1
    const number = latest.current
    setState((before) => (isRefresh ? { ...before, isLoading: true } : { isLoading: true }))
    call().then(
      (value) => number === latest.current && setState({ value, isLoading: false }),
      (problem) => number === latest.current && setState(({ value }) => ({ value, problem, isLoading: false })),
    )
  }, deps)
  useEffect(() => {
    send(false)
    return () => {
      latest.current += 1
    }
  }, [send])
  const refresh = useCallback(() => send(true), [send])
  const { value, problem, isLoading = false } = state
  return { value, problem, isLoading, refresh }
}

/** Many events at once, as after a change of a fleet, cause one call. */
const refreshDelayMs = 250

/**
 * Refreshes after events whose type begins with this text, and when the connection is live again. Without a text:
 * never.
 */
export function useRefreshOnEvents(
  { refresh }: Pick<CallState<unknown>, 'refresh'>,
  eventPrefix: string | undefined,
): void {
  const latest = useRef(refresh)
  latest.current = refresh
  useEffect(() => {
    if (eventPrefix === undefined) return undefined
    const refreshing = delayed(refreshDelayMs, () => latest.current())
    const endEvents = liveState().events(({ type }) => {
      if (type.startsWith(eventPrefix)) refreshing.start()
    })
    const endConnection = onReconnect(() => refreshing.start())
    return () => {
      refreshing.cancel()
      endEvents()
      endConnection()
    }
  }, [eventPrefix])
}

/** Repeats an action while the page is visible and the user is signed in. `run` undefined: does nothing. */
export function usePolling(run: (() => void) | undefined, everyMs: number): void {
  useEffect(() => {
    if (!run) return undefined
    return runEvery(everyMs, () => {
      if (!document.hidden && hasAccess()) run()
    })
  }, [run, everyMs])
}

/** A refresh keeps the current rows until the first page arrives. */
export interface PagedList<Row> extends Omit<CallState<unknown>, 'value'> {
  /** Undefined until the first page arrives. */
  readonly rows: readonly Row[] | undefined
  readonly hasMore: boolean
  readonly loadMore: () => void
}

/**
 * Loads the first page when the component appears and when `deps` change, and other pages on demand. A page with fewer
 * rows than `pageSize` is the last one.
 */
export function usePagedList<Row>(
  pages: () => AsyncIterable<readonly Row[]>,
  pageSize: number,
  deps: readonly unknown[],
): PagedList<Row> {
  const iterator = useRef<AsyncIterator<readonly Row[]> | undefined>(undefined)
  /** The rows before the page that is loaded next. Undefined: it is the first page. */
  const before = useRef<readonly Row[] | undefined>(undefined)
  // Stops loading pages ahead, before a refresh and when the list disappears.
  const stop = () => void iterator.current?.return?.()
  const { value, ...call } = useCall(async () => {
    const rows = before.current
    before.current = undefined
    if (!rows) stop()
    const source = (rows && iterator.current) ?? pages()[Symbol.asyncIterator]()
    iterator.current = source
    const { done, value } = await source.next()
    const page = done ? [] : value
    return { rows: [...(rows ?? []), ...page], hasMore: !done && page.length >= pageSize }
  }, deps)
  useEffect(() => stop, [])
  const loadMore = () => {
    before.current = value?.rows
    call.refresh()
  }
  // An iterator ends when it fails, so more rows need a refresh.
  const hasMore = call.problem === undefined && value?.hasMore === true
  return { ...call, rows: value?.rows, hasMore, loadMore }
}
