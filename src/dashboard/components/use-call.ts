import { useCallback, useEffect, useRef, useState } from 'preact/hooks'
import { hasAccess } from '#dashboard/session'
import { liveState, onReconnect } from '#dashboard/state'
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
