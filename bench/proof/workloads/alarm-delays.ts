import { pass, slotsOf, type Workload } from '#bench/proof/workloads/expected-state'
import type { ProofApi } from '#bench/proof/workloads/proof-api'
import { activeDevices, reportChange, reportedValues, turningAlarm } from '#bench/proof/workloads/reports'

/** An alarm with `forSeconds`: conditions that begin, hold for long enough or not, and end. */

export const delayedDevices = slotsOf('WAITING', 6)
const forSeconds = 1
const raisedMsMax = 10_000
const pollMs = 50
/** A raised alarm may be so late, also on a busy machine. */
const lateMsMax = 2_000

/** Active after the reported value was odd for a second. */
export const delayedAlarm = { ...turningAlarm, name: 'waiting', devices: delayedDevices, forSeconds }

type Event = Readonly<Record<string, unknown>>

/**
 * Reports by which a condition begins, holds or ends. Where it holds after a kill the alarm becomes active, elsewhere it is
 * inactive; every event must be right. `alarm`: the resource name of `delayedAlarm`. `gateway`: reports for any device.
 */
export function delayedAlarmsWorkload(gateway: string, alarm: string): Workload {
  const checks = new Map(delayedDevices.map((device) => [device, new DelayCheck(forSeconds * 1000)]))
  const faults: string[] = []
  return {
    name: 'alarms with a delay',
    slots: delayedDevices,
    // So that reports arrive at every moment of the delay.
    pauseMs: 200,
    // Events are checked as they come: no change can say when an alarm will be raised.
    eventText(event: Event) {
      const device = String(event.deviceIdentifier)
      const relevant = checks.has(device) ? delayEventOf(event, alarm) : undefined
      const wrong = relevant && checks.get(device)?.receive(Number(event.offset), relevant)
      if (wrong !== undefined) faults.push(`${device} ${wrong}`)
      return undefined
    },
    nextChange(slot, before, _, random) {
      const value = Number(before?.content.split(' ').at(-1) ?? 0)
      const isTurning = random.below(4) === 0 || !holdsAt(value)
      const next = 2 * (serialOf(value) + 1) + (holdsAt(value) === isTurning ? 0 : 1)
      return { ...reportChange(gateway, slot, next), content: `${slot} ${next}` }
    },
    async observe(api, entries) {
      const [wrong] = faults.splice(0)
      if (wrong !== undefined) throw new Error(wrong)
      const values = await reportedValues(api, delayedDevices)
      // In a copy, only what is known for sure.
      const judged = [...values].filter(([device]) => !api.isCopy || !entries.get(device)?.pending)
      await mustStand(api, alarm, new Map(judged))
      return new Map([...values].map(([device, value]) => [device, { content: `${device} ${value}` }]))
    },
  }
}

/** Reports are numbered: a slow subscriber sees which ones it missed. */
function serialOf(value: number): number {
  return Math.floor(value / 2)
}

function holdsAt(value: number): boolean {
  return value % 2 === 1
}

function delayEventOf(event: Event, alarm: string): DelayEvent | undefined {
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

/** Active where the condition holds, and on no other device. `values`: by device, the value that it reported last. */
async function mustStand(api: ProofApi, alarm: string, values: ReadonlyMap<string, number>): Promise<void> {
  for (const end = performance.now() + raisedMsMax; ; await pass(pollMs)) {
    const active = await activeDevices(api, alarm, delayedDevices)
    const wrong = active.find((device) => values.has(device) && !holdsAt(values.get(device) ?? 0))
    if (wrong !== undefined) throw new Error(`${wrong} has an alarm, and its condition ended with ${values.get(wrong)}`)
    const missing = [...values].find(([device, value]) => holdsAt(value) && !active.includes(device))
    if (!missing) return
    if (performance.now() > end)
      throw new Error(`${missing[0]} is at ${missing[1]}, and its alarm is not raised in ${raisedMsMax / 1000} s`)
  }
}

export type DelayEvent =
  | { readonly type: 'reported'; readonly at: number; readonly serial: number; readonly holds: boolean }
  | { readonly type: 'raised'; readonly at: number; readonly since: number }
  | { readonly type: 'ended'; readonly at: number }

/**
 * Checks the events of one device: an alarm is raised once, as of the moment when the condition had held for long enough
 * without a break and not before; it ends with the report that ends the condition, and is not raised if that came first.
 */
export class DelayCheck {
  readonly #forMs: number
  #offset = 0
  #serial: number | undefined
  #holds = false
  /** Undefined: its beginning was not received. */
  #holdsSince: number | undefined
  #isRaised = false
  /** The next event must be the end of the alarm. */
  #isEnding = false
  /** Wrong unless the next report shows that some before it were missed. */
  #suspicion: string | undefined

  constructor(forMs: number) {
    this.#forMs = forMs
  }

  /** The fault of an event. The same event, received by a second subscriber, is ignored. */
  receive(offset: number, event: DelayEvent): string | undefined {
    if (offset <= this.#offset) return undefined
    this.#offset = offset
    const wasEnding = this.#isEnding
    this.#isEnding = false
    if (wasEnding && event.type !== 'ended')
      return `is ${event.type} at ${event.at}, and its alarm has not ended before`
    if (event.type === 'reported') return this.#reported(event)
    if (event.type === 'raised') return this.#raised(event)
    const wasRaised = this.#isRaised
    this.#isRaised = false
    if (!wasRaised) return `had no alarm, and its end was published at ${event.at}`
    if (!wasEnding) this.#suspicion = `has an alarm that ended at ${event.at}, and its condition holds`
    return undefined
  }

  #reported({ at, serial, holds }: Extract<DelayEvent, { type: 'reported' }>): string | undefined {
    const isNext = this.#serial === undefined || serial === this.#serial + 1
    const heldBefore = this.#holds
    const since = this.#holdsSince
    const suspicion = isNext ? this.#suspicion : undefined
    this.#suspicion = undefined
    this.#serial = serial
    this.#holds = holds
    if (!isNext || !holds) this.#holdsSince = undefined
    else if (!heldBefore) this.#holdsSince = at
    if (holds) return suspicion
    this.#isEnding = this.#isRaised
    const isOverdue = isNext && since !== undefined && at > since + this.#forMs + lateMsMax
    return isOverdue && !this.#isRaised ? `held for ${at - since} ms, and its alarm was not raised` : suspicion
  }

  #raised({ at, since }: Extract<DelayEvent, { type: 'raised' }>): string | undefined {
    const wasRaised = this.#isRaised
    this.#isRaised = true
    if (wasRaised) return `has an alarm that was raised twice, again at ${at}`
    if (at < since) return `has an alarm that was raised ${since - at} ms before its time`
    if (!this.#holds) this.#suspicion = `has an alarm that was raised at ${at} though its condition had ended`
    else if (this.#holdsSince !== undefined && since !== this.#holdsSince + this.#forMs)
      this.#suspicion = `holds since ${this.#holdsSince}, and its alarm is raised as of ${since}`
    return undefined
  }
}
