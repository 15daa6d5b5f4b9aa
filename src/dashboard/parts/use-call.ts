import { useCallback, useEffect, useRef, useState } from 'preact/hooks'
import type { Answer, FirmwareView } from '#client/client'
import { client, isIn } from '#dashboard/session'
import { state } from '#dashboard/state'
import { after, every } from '#dashboard/world'

export interface Called<Value> {
  /** The latest answer; it stays while the call is repeated. */
  readonly value: Value | undefined
  /** The failure of the latest call. */
  readonly problem: unknown
  readonly isLoading: boolean
  /** Repeats the call. */
  readonly again: () => void
}

type Round<Value> = Pick<Called<Value>, 'isLoading'> & Partial<Called<Value>>

/**
 * Calls when the component appears, and when `deps` change. Only the answer of the latest call counts. Changed `deps`
 * drop the value; `again` keeps it until the answer arrives.
 */
export function useCall<Value>(call: () => Promise<Value>, deps: readonly unknown[]): Called<Value> {
  const [round, setRound] = useState<Round<Value>>({ isLoading: true })
  const turn = useRef(0)
  const ask = useCallback((isAgain: boolean) => {
    turn.current += 1
    const mine = turn.current
    setRound((before) => (isAgain ? { ...before, isLoading: true } : { isLoading: true }))
    call().then(
      (value) => mine === turn.current && setRound({ value, isLoading: false }),
      (problem) => mine === turn.current && setRound((before) => ({ value: before.value, problem, isLoading: false })),
    )
  }, deps)
  useEffect(() => {
    ask(false)
    return () => {
      turn.current += 1
    }
  }, [ask])
  const again = useCallback(() => ask(true), [ask])
  return { value: round.value, problem: round.problem, isLoading: round.isLoading, again }
}

/** Many events at once, as after a change of a fleet, cause one call. */
const waitMs = 250

/**
 * Repeats the call after events whose type begins with this text, and when the connection is live again, so that the
 * answer stays current.
 */
export function useRefreshOnEvents(called: Called<unknown>, typesBegin: string): void {
  const again = useRef(called.again)
  again.current = called.again
  useEffect(() => {
    let cancel: (() => void) | undefined
    const soon = () => {
      cancel ??= after(waitMs, () => {
        cancel = undefined
        again.current()
      })
    }
    const { events, connection } = followed()
    const endEvents = events((event) => {
      if (event.type.startsWith(typesBegin)) soon()
    })
    let wasLive = connection.value.state === 'live'
    const endConnection = connection.subscribe(() => {
      const isLive = connection.value.state === 'live'
      if (isLive && !wasLive) soon()
      wasLive = isLive
    })
    return () => {
      cancel?.()
      endEvents()
      endConnection()
    }
  }, [typesBegin])
}

function followed() {
  const live = state()
  return { events: live.events.bind(live), connection: live.connection }
}

/** Repeats an action while the page is visible and the user is signed in; undefined does nothing. */
export function usePolling(run: (() => void) | undefined, everyMs: number): void {
  useEffect(() => {
    if (!run) return undefined
    return every(everyMs, () => {
      if (!document.hidden && isIn()) run()
    })
  }, [run, everyMs])
}

/** Other users may upload a release at any time. */
const askEveryMs = 5_000

/**
 * The current firmware of a device. No event reports an available update, so it is polled, and read again when the
 * firmware changes.
 */
export function useFreshFirmware(
  deviceIdentifier: string,
  live: FirmwareView | undefined,
): Called<Answer<'GET /updates/:deviceIdentifier'>> {
  const firmwares = (live?.firmwares ?? []).map(({ firmware }) => firmware).join()
  const fresh = useCall(
    () => client.call('GET /updates/:deviceIdentifier', { parameters: { deviceIdentifier } }),
    [deviceIdentifier, firmwares],
  )
  usePolling(live && fresh.again, askEveryMs)
  return fresh
}
