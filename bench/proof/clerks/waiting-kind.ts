import { AlarmWait, type HeardOfWait } from '#bench/proof/clerks/alarm-waits'
import { clerkPropId, reportOf } from '#bench/proof/clerks/device-kinds'
import type { Found, LedgerKind, Wish } from '#bench/proof/clerks/ledger'
import { slotsOf } from '#bench/proof/clerks/named'
import type { ProofApi } from '#bench/proof/clerks/proof-api'
import { type DeviceRow, type StatusRow, turningAlarm } from '#bench/proof/clerks/rule-kinds'

/** An alarm that waits: conditions that begin, hold for long enough or do not, and end. */

export const waitingDevices = slotsOf('WAITING', 6)
const forSeconds = 1
const raisedMsMax = 10_000
const pollMs = 50

/** While what a device reports is odd, behind a second of it. */
export const waitingAlarm = { ...turningAlarm, name: 'waiting', devices: waitingDevices, forSeconds }

type Event = Readonly<Record<string, unknown>>

/**
 * Reports by which a condition begins, holds or ends. Where it holds behind a kill, the alarm comes to be active; where it
 * does not, it is not active; and of each what is told must be right. `alarm`: the resource name of `waitingAlarm`.
 */
export function waitingAlarmsKind(authorization: string, alarm: string): LedgerKind {
  const waits = new Map(waitingDevices.map((device) => [device, new AlarmWait(forSeconds * 1000)]))
  const faults: string[] = []
  return {
    name: 'alarms that wait',
    slots: waitingDevices,
    // Of the second that it waits each moment meets reports.
    pauseMs: 200,
    // Judged as it is heard: when an alarm is raised no wish can say.
    told(event: Event) {
      const device = String(event.deviceIdentifier)
      const heard = waits.has(device) ? heardIn(event, alarm) : undefined
      const wrong = heard && waits.get(device)?.hear(Number(event.offset), heard)
      if (wrong !== undefined) faults.push(`${device} ${wrong}`)
      return undefined
    },
    wish(slot, before, _, random): Wish {
      const value = Number(before?.held.split(' ').at(-1) ?? 0)
      const turns = random.below(4) === 0 || !holdsAt(value)
      const next = 2 * (serialOf(value) + 1) + (holdsAt(value) === turns ? 0 : 1)
      const body = reportOf(slot, next)
      return {
        method: 'POST',
        path: '/link',
        headers: { authorization },
        body,
        held: `${slot} ${next}`,
        isOnceOnly: true,
      }
    },
    async look(api, entries) {
      const [wrong] = faults.splice(0)
      if (wrong !== undefined) throw new Error(wrong)
      const query = waitingDevices.map((device) => `&deviceIdentifier=${device}`).join('')
      const rows = await api.rows<DeviceRow>(`/devices?depth=2${query}`)
      const values = new Map(
        rows.map(({ deviceIdentifier, services }) => [
          deviceIdentifier,
          services[0]?.properties[clerkPropId]?.value ?? 0,
        ]),
      )
      // Of a copy only what is known for sure.
      const judged = [...values].filter(([device]) => !api.isCopy || !entries.get(device)?.pending)
      await mustStand(api, alarm, query, new Map(judged))
      return new Map([...values].map(([device, value]): [string, Found] => [device, { held: `${device} ${value}` }]))
    },
  }
}

/** Reports are numbered: whoever fell behind sees that he was spared some. */
function serialOf(value: number): number {
  return Math.floor(value / 2)
}

function holdsAt(value: number): boolean {
  return value % 2 === 1
}

function heardIn(event: Event, alarm: string): HeardOfWait | undefined {
  const { type, resourceIdentifier, updates, timestamp, since } = event
  const at = Number(timestamp)
  if (type === 'OBJECT_UPDATED') {
    const value = (updates as { value?: number }[])[0]?.value
    return value === undefined ? undefined : { type: 'reported', at, serial: serialOf(value), holds: holdsAt(value) }
  }
  if (resourceIdentifier !== alarm) return undefined
  if (type === 'ALARM_STATUS_ACTIVE') return { type: 'raised', at, since: Number(since) }
  return type === 'ALARM_STATUS_INACTIVE' ? { type: 'ended', at } : undefined
}

/** Active where the condition holds, and nowhere else. By device, what it reported last. */
async function mustStand(
  api: ProofApi,
  alarm: string,
  query: string,
  values: ReadonlyMap<string, number>,
): Promise<void> {
  for (const end = performance.now() + raisedMsMax; ; await new Promise((resolve) => setTimeout(resolve, pollMs))) {
    const rows = await api.rows<StatusRow>(`/alarms/status?active=true${query}`)
    const active = rows.flatMap((row) => (row.resourceIdentifier === alarm ? [row.deviceIdentifier] : []))
    const wrong = active.find((device) => values.has(device) && !holdsAt(values.get(device) ?? 0))
    if (wrong !== undefined) throw new Error(`${wrong} has an alarm, and its condition ended with ${values.get(wrong)}`)
    const missing = [...values].find(([device, value]) => holdsAt(value) && !active.includes(device))
    if (!missing) return
    if (performance.now() > end)
      throw new Error(`${missing[0]} stands at ${missing[1]}, and its alarm is not raised in ${raisedMsMax / 1000} s`)
  }
}
