import type { HistorySource } from '#client/device-history'
import { pauseMsAfter } from '#client/problem'
import { requestOf } from '#client/requests'
import type { Answer, Parameters } from '#client/routes'
import type { EventOf } from '#model/event'

const route = 'GET /devices/:deviceIdentifier/services/:serviceIdentifier/desired'

/** The values that a device should have for a service, by decimal propId. Contract 12. */
export type Desired = Answer<typeof route>

/** Calls `changed` with the present values, and after each change, until the returned function is called. */
export function followDesired(
  source: HistorySource,
  parameters: Parameters<typeof route>,
  changed: (desired: Desired) => void,
): () => void {
  const { platform } = source
  let round = new AbortController()
  const read = async () => {
    round.abort()
    round = new AbortController()
    const { signal } = round
    for (let attempt = 1; !signal.aborted; attempt++) {
      let failed: unknown
      try {
        const { status, body } = await source.read(requestOf(route, { parameters, signal }))
        if (status === 200 && !signal.aborted) changed(body as Desired)
        if (status < 500 && status !== 429) return
      } catch (error) {
        failed = error
      }
      if (!signal.aborted) await platform.sleep(pauseMsAfter(failed, attempt, platform.random), signal)
    }
  }
  const endEvents = source.events((event) => {
    if (event.type !== 'DESIRED_UPDATED') return
    const { deviceIdentifier, serviceIdentifier, desired } = event as EventOf<'DESIRED_UPDATED'>
    if (deviceIdentifier !== parameters.deviceIdentifier || serviceIdentifier !== parameters.serviceIdentifier) return
    // A read that has not ended may return an older state than this event, so it is aborted. Later changes have events.
    round.abort()
    changed(desired)
  })
  const endMissed = source.missed(() => void read())
  void read()
  return () => {
    round.abort()
    endEvents()
    endMissed()
  }
}
