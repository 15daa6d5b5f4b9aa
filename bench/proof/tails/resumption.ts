import { Dashboard, type StreamEvent, type StreamPosition } from '#bench/dashboard'
import type { Office } from '#bench/proof/clerks/office'
import { ProofApi } from '#bench/proof/clerks/proof-api'

const catchUpMsMax = 10_000

export interface Resumption {
  /** Heard last, before the accident. */
  readonly last: StreamPosition
  /** The end of the stream when it was opened. */
  readonly head: number
  /** Told before anything was lost: it is there, and was not given again. */
  readonly left: number
  /** Whether the epoch of `last` is among what is left. */
  readonly isEpochLeft: boolean
}

/**
 * Of two dashboards that come back: who heard no more than is left goes on there without a gap, also over what is written now;
 * who heard more is told that he must read everything, also when its offsets were given again.
 */
export async function resumptionFaults(
  url: string,
  { authorization }: Pick<Office, 'authorization'>,
  { last, head, left, isEpochLeft }: Resumption,
): Promise<readonly string[]> {
  const api = new ProofApi(url, authorization, '')
  const made = await api.ask('POST', '/devices', { body: { deviceIdentifier: 'NEW-AFTER-FAULT' } })
  if (made.status !== 201) return [`making a device is answered ${made.status} ${made.text}`]
  const faults: string[] = []
  if (isEpochLeft) {
    const heard = await comeBack({ epoch: last.epoch, offset: left })
    const gap = heard.events.findIndex(({ offset }, place) => offset !== left + 1 + place)
    if (heard.isStartedOver) faults.push(`who heard ${left}, which is there, is told to read everything`)
    else if (gap >= 0) faults.push(`who heard ${left} is told ${heard.events[gap]?.offset} as number ${gap + 1}`)
    else if (!heard.events.some(({ deviceIdentifier }) => deviceIdentifier === 'NEW-AFTER-FAULT'))
      faults.push(`who heard ${left} is not told of a device that was made`)
  }
  if (last.offset > head && !(await comeBack(last)).isStartedOver)
    faults.push(`who heard ${last.offset} goes on, though the stream ended at ${head}`)
  return faults

  async function comeBack(from: StreamPosition) {
    const events: StreamEvent[] = []
    const onEvent = (event: StreamEvent) => events.push(event)
    const dashboard = new Dashboard({ url, from, authorization, isFolding: false, backoffMsMax: 50, onEvent })
    dashboard.start()
    const hasAll = await dashboard.caughtUp(catchUpMsMax)
    dashboard.stop()
    if (!hasAll) faults.push(`who heard ${from.offset} does not come to the end of the stream`)
    faults.push(...dashboard.faults)
    return { events, isStartedOver: dashboard.counts.notRecovered + dashboard.counts.resyncs > 0 }
  }
}
