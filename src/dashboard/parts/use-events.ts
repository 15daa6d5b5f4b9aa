import { useEffect, useRef } from 'preact/hooks'
import type { Called } from '#dashboard/parts/use-call'
import { state } from '#dashboard/state'
import { after } from '#dashboard/world'

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
