import { answerWith } from '#bench/harness/answering'
import { LatencyHistogram } from '#bench/histogram'
import { CountedFleet, type CountedFleetOptions, type FleetBooks } from '#bench/proof/overload/counted-fleet'
import { count, type Ends } from '#bench/proof/overload/ends'
import { EventEar } from '#bench/proof/overload/event-ear'
import { headOf, reportedBy } from '#bench/proof/overload/event-text'
import type { Second } from '#bench/proof/overload/recovery'

/**
 * What a server is there for: devices that report at the rated pace, and a dashboard that hears of it. It counts from when
 * each frame was due, by the second in which it was.
 */
let fleet: CountedFleet
let ear: EventEar
const heard = new Map<number, LatencyHistogram>()
const openMsMax = 30_000
const settleMsMax = 60_000
const secondMs = 1_000
/** More of a second's frames unheard than this: its p99 is unheard. */
const unheardShareMax = 0.01

answerWith({
  async open(options: CountedFleetOptions): Promise<void> {
    fleet = new CountedFleet(options)
    await fleet.open(openMsMax)
    ear = new EventEar({
      ...options,
      query: { services: options.service },
      heard: (bytes, start, end) => {
        const reported = reportedBy(options.prefix, bytes, end, headOf(bytes, start, end))
        if (reported) note(reported.device, reported.number)
      },
    })
    await ear.open()
  },

  begin: () => fleet.begin(),

  /** Those that began at `from` (Unix ms) or later, and are over. */
  seconds({ from }: { readonly from: number }): readonly Second[] {
    const last = secondOf(performance.now()) - 1
    const first = Math.ceil((from - performance.timeOrigin) / secondMs)
    return Array.from({ length: Math.max(0, last - first) }, (_, place) => {
      const second = first + place
      return { at: performance.timeOrigin + second * secondMs, p99: p99Of(second) }
    })
  },

  async settle(): Promise<boolean> {
    fleet.pause()
    return fleet.settled(settleMsMax)
  },

  books(): FleetBooks {
    const ends: Ends = { ...fleet.ends }
    for (const [how, times] of Object.entries(ear.ends)) count(ends, `dashboard: ${how}`, times)
    return { ...fleet.books(), ends }
  },

  close(): void {
    ear.stop()
    fleet.close()
  },
})

const secondOf = (at: number) => Math.floor(at / secondMs)

function note(device: number, number: number): void {
  const dueAt = fleet.dueAt(device, number)
  const second = secondOf(dueAt)
  const histogram = heard.get(second) ?? new LatencyHistogram()
  heard.set(second, histogram)
  histogram.record(performance.now() - dueAt)
}

/** Of all that were due in it; those that nobody has heard of yet took for ever. */
function p99Of(second: number): number {
  const histogram = heard.get(second)
  const due = fleet.options.framesPerSecond
  if (!histogram || due - histogram.count > due * unheardShareMax + 1) return Number.MAX_VALUE
  return histogram.percentile(Math.min(1, (0.99 * due) / histogram.count))
}
