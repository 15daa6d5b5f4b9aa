import type { StreamEvent, StreamPosition } from '#bench/dashboard'
import type { Fleet } from '#bench/fleet/fleet'
import type { ServerTarget } from '#bench/harness/server-target'
import { numberOf } from '#bench/load/update-template'
import { EventChecker } from '#bench/proof/event-checker'
import type { FrameCounts } from '#bench/proof/overload/counted-load'

export interface AuditOptions extends ServerTarget {
  /** The stream is read from here; no fleet reported before. */
  readonly first: StreamPosition
  /** Fleets whose frames are compared with the stream one by one. */
  readonly fleets: readonly Fleet[]
  readonly frameCounts: readonly FrameCounts[]
}

/** For a million events and more. */
const readMsMax = 600_000
const problemsMax = 20

/**
 * Compares the stored stream and state with what the server acknowledged: every acknowledged frame must be in the
 * stream once and in the order of its device, and the state must match the stream. Returns the problems, and how many
 * frames were acknowledged.
 */
export async function auditStream({ port, authorizations, first, fleets, frameCounts }: AuditOptions): Promise<{
  readonly acknowledged: number
  readonly problems: readonly string[]
}> {
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
    if (number !== before * fleet.sent.length + device)
      problems.push(`${identifier} reported ${number} after ${before} frames`)
    fleet.stored[device] = before + 1
    return true
  }
  const witness = new EventChecker({
    ...{ name: 'stream', url: `http://127.0.0.1:${port}`, fleets, from: first, rule: 'whole', others },
    ...(authorizations && { authorization: authorizations.person }),
  })
  const { dashboard } = witness
  dashboard.start()
  if (!(await dashboard.caughtUp(readMsMax))) problems.push('the stream could not be read to its end')
  problems.push(...(await dashboard.differences()).map((text) => `stream against GET /devices: ${text}`))
  dashboard.stop()
  let { acknowledged } = witness.report()
  for (const { prefix, sent, acknowledged: least, stored } of counted) {
    for (const [device, number] of stored.entries()) {
      acknowledged += least[device] as number
      if (number < (least[device] as number))
        problems.push(`${prefix}-${device} was acknowledged ${least[device]}, and ${number} is stored`)
      if (number > (sent[device] as number))
        problems.push(`${prefix}-${device} sent ${sent[device]}, and ${number} is stored`)
    }
  }
  return { acknowledged, problems: [...problems, ...witness.problems()].slice(0, problemsMax) }
}
