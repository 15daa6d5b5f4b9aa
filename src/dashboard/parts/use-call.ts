import { useCallback, useEffect, useRef, useState } from 'preact/hooks'
import type { Answer, FirmwareView } from '#client/client'
import { client, isIn } from '#dashboard/session'
import { state } from '#dashboard/state'
import { after, every } from '#dashboard/world'

export interface Called<Value> {
  /** The latest answer; it stays while the same is asked again. */
  readonly value: Value | undefined
  /** What the latest call failed with. */
  readonly problem: unknown
  readonly isLoading: boolean
  /** Asks once more. */
  readonly again: () => void
}

interface Round<Value> {
  readonly value?: Value | undefined
  readonly problem?: unknown
  readonly isLoading: boolean
}

/**
 * Asks when the component appears and whenever one of `deps` changes. Of answers that overtake each other the one asked
 * for last stands. With other `deps` the value of before is dropped; with `again` it stays shown.
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

/** Many events at once, as of an edit that reaches a fleet, are one look. */
const waitMs = 250

/**
 * Asks again after events of these types (all that begin so), and when the connection is live again: what was answered
 * stays right, whoever changes it.
 */
export function useFollowed(called: Called<unknown>, typesBegin: string): void {
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

/** Does it again and again while the page is seen and somebody is in; nothing where there is nothing to do. */
export function useRepeated(run: (() => void) | undefined, everyMs: number): void {
  useEffect(() => {
    if (!run) return undefined
    return every(everyMs, () => {
      if (!document.hidden && isIn()) run()
    })
  }, [run, everyMs])
}

/** A release may be brought at any time, by whomever. */
const askEveryMs = 5_000

/**
 * The firmware of a device as the server says it now. Whether there is something newer is in no event: it is asked for
 * again and again, and whenever the device has another firmware.
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
  useRepeated(live && fresh.again, askEveryMs)
  return fresh
}
