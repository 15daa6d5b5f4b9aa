import { SlowLoadError } from '#bench/harness/benchmark'
import { serveFunctions } from '#bench/harness/remote'
import type { ServerTarget } from '#bench/harness/servers'
import { LatencyHistogram, type LatencySummary } from '#bench/histogram'
import { LoadDashboards } from '#bench/load/dashboards'
import { LoadFleet, type LoadFleetOptions } from '#bench/load/fleet'
import { type LeadLimits, leadOf } from '#bench/load/lead'
import { type ProtocolName, protocols } from '#bench/load/peer-protocols'
import { type CpuUse, startCpuClock } from '#bench/process-usage'
import { sleep } from '#bench/time'

/** A load: a fleet whose devices report, and dashboards that receive all changes. */
export interface LoadSpec extends Omit<LoadFleetOptions, 'protocol'>, ServerTarget {
  /** The protocol of another system. Absent: that of this server. */
  readonly protocol?: ProtocolName
  readonly dashboards: number
  readonly witnesses?: number
  /** The server also sends other events, which do not count. Only with one dashboard. */
  readonly hasOtherEvents?: boolean
  /** Sends only as fast as the slowest dashboard reads; absent: as fast as the links accept. */
  readonly lead?: LeadLimits & {
    /** Maximum number of changes per write on a link; absent: unlimited. */
    readonly togetherMax?: number
  }
  /** Time limit for frames and events in flight at the end; default one minute. */
  readonly drainMsMax?: number
}

export interface PhaseSpec {
  readonly warmupMs: number
  readonly measuredMs: number
  readonly rate?: number
}

/**
 * Figures from the end of the warm-up until every frame is acknowledged and every dashboard has received every event.
 */
export interface PhaseResult extends CpuUse {
  readonly frames: number
  readonly changes: number
  readonly deliveries: number
  readonly dashboardBytes: number
  /** From the due time of a frame to its acknowledgement and to its event at a witness. */
  readonly acknowledgement: LatencySummary
  readonly delivery: LatencySummary
  /** The number of devices that have not reported in any phase. */
  readonly silent: number
}

const drainMsDefault = 60_000

let spec: LoadSpec
let fleet: LoadFleet
let dashboards: LoadDashboards
let lead: ReturnType<typeof leadOf> | undefined
const delivery = new LatencyHistogram()

serveFunctions({
  async open(asked: LoadSpec) {
    spec = asked
    const { port, authorizations, lead: limits, hasOtherEvents, witnesses } = spec
    const protocol = spec.protocol === undefined || spec.protocol === 'own' ? undefined : protocols[spec.protocol]
    fleet = new LoadFleet({ ...spec, protocol })
    await fleet.open()
    dashboards = new LoadDashboards({
      port,
      count: spec.dashboards,
      authorizations,
      protocol,
      witnesses,
      hasOtherEvents,
      onChange: (number) => {
        const dueAt = fleet.dueAt(number)
        if (dueAt !== undefined) delivery.record(performance.now() - dueAt)
      },
      moved: () => lead?.moved(),
    })
    if (limits) {
      const { togetherMax = Infinity } = limits
      const grant = (changes: number) => {
        for (let rest = changes; rest > 0; rest -= togetherMax) fleet.sendTogether(Math.min(rest, togetherMax))
      }
      lead = leadOf({ ...limits, grant, receivedByAll: () => dashboards.receivedByAll })
    }
    await dashboards.open()
  },

  async run({ warmupMs, measuredMs, rate }: PhaseSpec): Promise<PhaseResult> {
    dashboards.clear()
    const before = counted()
    if (rate !== undefined) fleet.beginPace(rate)
    else if (lead) lead.begin()
    else fleet.begin()
    await sleep(warmupMs)
    const readClock = startCpuClock(spec.processId)
    const warm = counted()
    fleet.latency.clear()
    delivery.clear()
    await sleep(measuredMs)
    lead?.stop()
    fleet.pause()
    const { drainMsMax = drainMsDefault } = spec
    await fleet.settled(drainMsMax)
    const end = counted()
    const events = end.frames - before.frames
    if (spec.dashboards > 0) await dashboards.waitForEvents(events, drainMsMax)
    const use = readClock()
    fleet.check()
    dashboards.check()
    if (dashboards.gaps > 0) throw new SlowLoadError(dashboards.gaps)
    if (dashboards.deliveries !== events * spec.dashboards)
      throw new Error('a dashboard received more events than expected')
    const frames = end.frames - warm.frames
    return {
      ...use,
      frames,
      changes: frames * spec.changes,
      deliveries: dashboards.deliveries - warm.deliveries,
      dashboardBytes: dashboards.bytes - warm.bytes,
      acknowledgement: fleet.latency.summary(),
      delivery: delivery.summary(),
      silent: fleet.numbers.reduce((count, number) => count + (number < 0 ? 1 : 0), 0),
    }
  },
})

function counted() {
  const { deliveries, bytes } = dashboards
  return { frames: fleet.acknowledged, deliveries, bytes }
}
