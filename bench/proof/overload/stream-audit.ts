import type { StreamEvent, StreamPosition } from '#bench/dashboard'
import type { Fleet } from '#bench/fleet/fleet'
import type { ServerTarget } from '#bench/harness/server-target'
import { numberOf } from '#bench/load/update-template'
import { EventChecker } from '#bench/proof/event-checker'
import type { FrameCounts } from '#bench/proof/overload/counted-fleet'

export interface AuditOptions extends ServerTarget {
  /** The stream is read from here; no fleet reported before. */
  readonly first: StreamPosition
  /** Fleets whose frames are compared with the stream one by one. */
  readonly fleets: readonly Fleet[]
  /** The counts of counting fleets. */
  readonly frameCounts: readonly FrameCounts[]
}

export interface Audited {
  readonly events: number
  readonly acknowledged: number
  readonly problems: readonly string[]
}

/** For a million events and more. */
const readMsMax = 600_000
const problemsMax = 20

/**
 * Compares the stored stream and state with what the server acknowledged: every acknowledged frame must be in the
 * stream once and in the order of its device, and the state must match the stream.
 */
export async function auditStream({
  port,
  authorizations,
  first,
  fleets,
  frameCounts,
}: AuditOptions): Promise<Audited> {
  const problems: string[] = []
  const counted = frameCounts.map((each) => ({ ...each, stored: new Uint32Array(each.sent.length) }))
  const named = fleets.map(({ options }) => `${options.prefix}-`)
  const others = ({ type, deviceIdentifier, updates }: StreamEvent) => {
    const identifier = String(deviceIdentifier)
    const fleet = type === 'OBJECT_UPDATED' && counted.find(({ prefix }) => identifier.startsWith(`${prefix}-`))
    if (!fleet) return !named.some((prefix) => identifier.startsWith(prefix))
    const device = Number(identifier.slice(fleet.prefix.length + 1))
    const number = numberOf((updates as { value: number }[]).at(-1)?.value ?? 0)
    const before = fleet.stored[device] as number
    if (number !== before + 1) problems.push(`${identifier} reported ${number} after ${before}`)
    fleet.stored[device] = number
    return true
  }
  const authorization = authorizations && { authorization: authorizations.person }
  const url = `http://127.0.0.1:${port}`
  const witness = new EventChecker({
    name: 'stream',
    url,
    fleets,
    from: first,
    rule: 'whole',
    ...authorization,
    others,
  })
  const { dashboard } = witness
  dashboard.start()
  if (!(await dashboard.caughtUp(readMsMax))) problems.push('the stream could not be read to its end')
  problems.push(...(await dashboard.differences()).map((text) => `stream against GET /devices: ${text}`))
  dashboard.stop()
  for (const { prefix, sent, acknowledged, stored } of counted) {
    for (const [device, number] of stored.entries()) {
      const [least, most] = [acknowledged[device] as number, sent[device] as number]
      if (number < least) problems.push(`${prefix}-${device} was acknowledged ${least}, and ${number} is stored`)
      if (number > most) problems.push(`${prefix}-${device} sent ${most}, and ${number} is stored`)
    }
  }
  const sum = (numbers: readonly number[]) => numbers.reduce((all, each) => all + each, 0)
  return {
    events: dashboard.counts.events,
    acknowledged: witness.report().acknowledged + sum(frameCounts.map((each) => sum(each.acknowledged))),
    problems: [...problems, ...witness.problems()].slice(0, problemsMax),
  }
}
