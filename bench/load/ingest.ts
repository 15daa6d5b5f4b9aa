import { answerWith } from '#bench/harness/answering'
import { CpuClock, type CpuUse } from '#bench/harness/cpu-clock'
import { ReadTooSlowly } from '#bench/harness/read-too-slowly'
import type { LoadedServer } from '#bench/harness/under-load'
import { LatencyHistogram, type LatencySummary } from '#bench/histogram'
import { LoadDashboards } from '#bench/load/dashboards'
import { LoadFleet, type LoadFleetOptions } from '#bench/load/fleet'

/** The load of a question about the way of a change through the server: a fleet, and dashboards that hear all of it. */
export interface IngestSpec extends LoadFleetOptions, LoadedServer {
  readonly dashboards: number
}

export interface PhaseSpec {
  readonly warmupMs: number
  readonly measuredMs: number
  /** Frames a second; absent: as fast as the windows allow. */
  readonly rate?: number
}

/** Measured from the end of the warm-up until everything sent was acknowledged, and heard by every dashboard. */
export interface PhaseResult extends CpuUse {
  readonly frames: number
  readonly changes: number
  readonly deliveries: number
  readonly dashboardBytes: number
  readonly acknowledgement: LatencySummary
  /** From when a frame was due until the witness heard of it. */
  readonly delivery: LatencySummary
}

const settleMsMax = 60_000

let spec: IngestSpec
let fleet: LoadFleet
let dashboards: LoadDashboards
const delivery = new LatencyHistogram()

answerWith({
  /** Devices without an acknowledged frame. */
  silent: (): number => fleet.numbers.reduce((count, number) => count + (number < 0 ? 1 : 0), 0),

  async open(asked: IngestSpec) {
    spec = asked
    fleet = new LoadFleet(spec)
    await fleet.open()
    dashboards = new LoadDashboards({
      port: spec.port,
      count: spec.dashboards,
      authorizations: spec.authorizations,
      heard: (number) => {
        const dueAt = fleet.dueAt(number)
        if (dueAt !== undefined) delivery.record(performance.now() - dueAt)
      },
    })
    await dashboards.open()
  },

  async run({ warmupMs, measuredMs, rate }: PhaseSpec): Promise<PhaseResult> {
    dashboards.clear()
    const acknowledgedBefore = fleet.acknowledged
    if (rate === undefined) fleet.begin()
    else fleet.beginPace(rate)
    await pause(warmupMs)
    const clock = new CpuClock(spec.serverProcessId)
    const acknowledgedWarm = fleet.acknowledged
    const deliveriesWarm = dashboards.deliveries
    const bytesWarm = dashboards.bytes
    fleet.latency.clear()
    delivery.clear()
    await pause(measuredMs)
    fleet.pause()
    await fleet.settled(settleMsMax)
    const frames = fleet.acknowledged - acknowledgedBefore
    await dashboards.hearing(spec.dashboards > 0 ? frames : 0, settleMsMax)
    const use = clock.read()
    fleet.check()
    dashboards.check()
    if (dashboards.deliveries !== frames * spec.dashboards) throw new Error('a dashboard heard more than was sent')
    if (dashboards.gaps > 0) throw new ReadTooSlowly(dashboards.gaps)
    const measured = fleet.acknowledged - acknowledgedWarm
    return {
      ...use,
      frames: measured,
      changes: measured * spec.changes,
      deliveries: dashboards.deliveries - deliveriesWarm,
      dashboardBytes: dashboards.bytes - bytesWarm,
      acknowledgement: fleet.latency.summary(),
      delivery: delivery.summary(),
    }
  },
})

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}
