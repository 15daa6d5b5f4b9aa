import { serveFunctions } from '#bench/harness/remote-functions'
import { LatencyHistogram } from '#bench/histogram'
import { lastValue } from '#bench/load/dashboards'
import { numberOf } from '#bench/load/update-template'
import { CountedFleet, type CountedFleetOptions, type FrameCounts } from '#bench/proof/overload/counted-fleet'
import { count, type EndCounts } from '#bench/proof/overload/end-counts'
import { EventClient } from '#bench/proof/overload/event-client'
import type { Second } from '#bench/proof/overload/recovery'

/**
 * Devices that report at a steady rate, and a dashboard that receives all their events. The latency of an event counts
 * from its frame's due time and belongs to that second. A flood is the same at a rate that is too high.
 */
let fleet: CountedFleet
let dashboard: EventClient
let isOver = false
const dashboardEnds: EndCounts = {}
let isFlood = false
const latencies = new Map<number, LatencyHistogram>()
const openMsMax = 30_000
const settleMsMax = 60_000
const comeBackMs = 200
const secondMs = 1_000
/** If the events of a larger share are missing, the second has no p99. */
const missingShareMax = 0.01
/** The part of an event that contains its device. */
const headBytes = 220
const updatedStart = '{"type":"OBJECT_UPDATED"'
const deviceName = '"deviceIdentifier":"'

serveFunctions({
  async open(options: CountedFleetOptions): Promise<void> {
    fleet = new CountedFleet(options)
    await fleet.open(openMsMax)
    await listen(options)
  },

  begin: () => fleet.begin(),

  async run({ seconds }: { readonly seconds: number }): Promise<EndCounts> {
    isFlood = true
    fleet.begin()
    await new Promise((resolve) => setTimeout(resolve, seconds * 1000))
    const { sent, heldBack } = fleet.giveUp()
    const ends: EndCounts = {}
    count(ends, 'sent', sent)
    count(ends, 'held back', heldBack)
    return ends
  },

  /** Complete seconds that began at `from` (Unix ms) or later. */
  seconds({ from }: { readonly from: number }): readonly Second[] {
    const last = secondOf(performance.now()) - 1
    const first = Math.ceil((from - performance.timeOrigin) / secondMs)
    return Array.from({ length: Math.max(0, last - first) }, (_, place) => {
      const second = first + place
      return { at: performance.timeOrigin + second * secondMs, p99: p99Of(second) }
    })
  },

  async settle(): Promise<boolean> {
    if (!isFlood) fleet.pause()
    return fleet.settled(settleMsMax)
  },

  frameCounts(): FrameCounts {
    if (latencies.size === 0) throw new Error('its dashboard got no event')
    const ends: EndCounts = { ...fleet.ends }
    // A dashboard of a flood may be too slow.
    if (!isFlood) for (const [how, times] of Object.entries(dashboardEnds)) count(ends, `dashboard: ${how}`, times)
    return { ...fleet.frameCounts(), ends }
  },

  close(): void {
    isOver = true
    dashboard.leave()
    fleet.close()
  },
})

/** A dashboard that was closed reconnects and receives later events. */
async function listen(options: CountedFleetOptions): Promise<void> {
  dashboard = new EventClient()
  const closed = () => {
    if (isOver) return
    count(dashboardEnds, dashboard.end)
    setTimeout(() => void listen(options), comeBackMs)
  }
  const refusal = await dashboard.enter({ ...options, query: { services: options.service }, onText: note, closed })
  if (refusal !== undefined) count(dashboardEnds, refusal)
}

const secondOf = (at: number) => Math.floor(at / secondMs)

function note(bytes: Buffer, start: number, end: number): void {
  const head = bytes.toString('latin1', start, Math.min(end, start + headBytes))
  const from = head.indexOf(deviceName) + deviceName.length
  const { prefix } = fleet.options
  if (!head.startsWith(updatedStart) || !head.startsWith(`${prefix}-`, from)) return
  const device = Number(head.slice(from + prefix.length + 1, head.indexOf('"', from)))
  const dueAt = fleet.dueAt(device, numberOf(lastValue(bytes, end)))
  const second = secondOf(dueAt)
  const histogram = latencies.get(second) ?? new LatencyHistogram()
  latencies.set(second, histogram)
  histogram.record(performance.now() - dueAt)
}

/** Of all frames that were due in this second; a frame without an event yet counts as infinitely late. */
function p99Of(second: number): number {
  const histogram = latencies.get(second)
  const due = fleet.options.framesPerSecond
  if (!histogram || due - histogram.count > due * missingShareMax + 1) return Number.MAX_VALUE
  return histogram.percentile(Math.min(1, (0.99 * due) / histogram.count))
}
