import { serveFunctions } from '#bench/harness/remote'
import type { ServerTarget } from '#bench/harness/servers'
import { LatencyHistogram } from '#bench/histogram'
import { lastValue } from '#bench/load/dashboards'
import { count, type EndCounts } from '#bench/load/end-counts'
import { LoadFleet, type LoadFleetOptions } from '#bench/load/fleet'
import type { RawSocket } from '#bench/load/raw-socket'
import { localAddressOf } from '#bench/load/single-request'
import { numberOf } from '#bench/load/update-template'
import type { SentFrames } from '#bench/proof/event-checker'
import { openEventSocket } from '#bench/proof/overload/event-socket'
import { SeededRandom } from '#bench/random'
import { isFulfilled, sleep } from '#bench/time'

/**
 * Devices that report at a steady rate, and a dashboard that receives all their events. The latency of an event counts
 * from the due time of its frame, and belongs to the second of that time.
 *
 * The program has two roles. `begin` starts the rated load. `run` is an attack: the same load at a rate that is too
 * high, or with links that all close again and again.
 */

export interface CountedLoadOptions extends ServerTarget, Omit<LoadFleetOptions, 'window' | 'changes' | 'properties'> {
  readonly service: string
  readonly framesPerSecond: number
  readonly seed: number
  /** The fleet disconnects at the end of `run`: unacknowledged frames are not sent again. */
  readonly disconnectsAfterRun?: boolean
  /** All links close and reconnect at the same time, each from its own address. */
  readonly isStorm?: boolean
}

/** The frames of a fleet after the load. */
export interface FrameCounts extends SentFrames {
  readonly ends: EndCounts
  readonly faults: readonly string[]
}

/**
 * One second of the rated load. `p99`: latency, at a dashboard, of the events of the frames that were due in this
 * second.
 */
export interface Second {
  readonly at: number
  /** `Number.MAX_VALUE` when the events of more than one frame in a hundred are missing. */
  readonly p99: number
}

const settleMsMax = 60_000
/** The time in which all links must be connected again after `cutAll`. */
const backMsMax = 90_000
const dashboardReconnectMs = 200
const secondMs = 1_000
const faultsMax = 20
/** If the events of a larger share are missing, the p99 of the second counts as infinite. */
const missingShareMax = 0.01
const objectUpdatedStart = Buffer.from('{"type":"OBJECT_UPDATED"')

let options: CountedLoadOptions
let fleet: LoadFleet
let dashboard: RawSocket | undefined
let isOver = false
let isAttack = false
const ends: EndCounts = {}
const dashboardEnds: EndCounts = {}
const latencies = new Map<number, LatencyHistogram>()

serveFunctions({
  async open(asked: CountedLoadOptions): Promise<void> {
    options = asked
    const random = new SeededRandom(asked.seed)
    fleet = new LoadFleet({
      ...{ ...asked, window: 0, changes: 1, properties: 1 },
      reconnecting: { ended: (how) => count(ends, how), chance: () => random.next(), backoffMsMax: 2_000 },
      ...(asked.isStorm && { localAddressOf }),
    })
    await fleet.open()
    await connectDashboard()
  },

  begin: () => fleet.beginPace(options.framesPerSecond),

  async run({ seconds }: { readonly seconds: number }): Promise<EndCounts> {
    isAttack = true
    fleet.beginPace(options.framesPerSecond)
    const ended: EndCounts = {}
    if (options.isStorm) {
      const endsAt = performance.now() + seconds * 1000
      do await cutAndReconnect(ended)
      while (performance.now() < endsAt)
      return ended
    }
    await sleep(seconds * 1000)
    const heldBack = fleet.giveUp()
    count(ended, 'sent', sum(fleet.sequences().sent))
    count(ended, 'held back', heldBack)
    if (options.disconnectsAfterRun) fleet.close()
    return ended
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
    if (options.disconnectsAfterRun) return true
    if (!isAttack || options.isStorm) fleet.pause()
    return isFulfilled(fleet.settled(settleMsMax))
  },

  frameCounts(): FrameCounts {
    if (latencies.size === 0) throw new Error('the dashboard of the fleet received no event')
    const all: EndCounts = { ...ends }
    // The dashboard of an attack may be closed because it is too slow.
    if (!isAttack) for (const [how, times] of Object.entries(dashboardEnds)) count(all, `dashboard: ${how}`, times)
    const faults = fleet.failures.slice(0, faultsMax).map(({ message }) => message)
    return { prefix: options.prefix, ...fleet.sequences(), ends: all, faults }
  },

  close(): void {
    isOver = true
    dashboard?.close()
    fleet.close()
  },
})

/** Cuts all links, waits until they are back with their devices, and counts those that are and those that are not. */
async function cutAndReconnect(ended: EndCounts): Promise<void> {
  const endsAt = performance.now() + backMsMax
  fleet.cutAll()
  // The connections close in the next iterations of the event loop.
  await sleep(20)
  while (fleet.ready < options.links && performance.now() < endsAt) await sleep(20)
  count(ended, 'back', fleet.ready)
  count(ended, `not back within ${backMsMax / 1000} s`, options.links - fleet.ready)
}

/** If the dashboard is closed, it reconnects and receives later events. */
async function connectDashboard(): Promise<void> {
  const closed = (how: string) => {
    if (isOver) return
    count(dashboardEnds, how)
    setTimeout(() => void connectDashboard(), dashboardReconnectMs)
  }
  const query = { services: options.service }
  const opened = await openEventSocket({ ...options, query, onText: noteEvent, closed })
  if (typeof opened === 'string') count(dashboardEnds, opened)
  else dashboard = opened
}

const secondOf = (at: number) => Math.floor(at / secondMs)

function noteEvent(bytes: Buffer, start: number, end: number): void {
  const { length } = objectUpdatedStart
  if (bytes.compare(objectUpdatedStart, 0, length, start, start + length) !== 0) return
  const dueAt = fleet.dueAt(numberOf(lastValue(bytes, end))) ?? 0
  const second = secondOf(dueAt)
  const histogram = latencies.get(second) ?? new LatencyHistogram()
  latencies.set(second, histogram)
  histogram.record(performance.now() - dueAt)
}

/** The p99 of all frames that were due in this second; a frame without an event yet counts as infinitely late. */
function p99Of(second: number): number {
  const histogram = latencies.get(second)
  const due = options.framesPerSecond
  if (!histogram || due - histogram.count > due * missingShareMax + 1) return Number.MAX_VALUE
  return histogram.percentile(Math.min(1, (0.99 * due) / histogram.count))
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((all, each) => all + each, 0)
}
