import { answerWith } from '#bench/harness/answering'
import { CpuClock, type CpuUse } from '#bench/harness/cpu-clock'
import type { LoadedServer } from '#bench/harness/under-load'
import { LatencyHistogram, type LatencySummary } from '#bench/histogram'
import { LoadFleet } from '#bench/load/fleet'
import { Lead } from '#bench/load/lead'
import { PeerDashboards } from '#bench/load/peer-dashboards'
import { PeerFleet } from '#bench/load/peer-fleet'
import { type ProtocolName, protocols } from '#bench/load/peer-protocols'

/** The same load for each system, in its own protocol: a fleet, and dashboards that hear all of it. */
export interface PeersSpec extends LoadedServer {
  readonly protocol: ProtocolName
  readonly dashboards: number
  readonly witnesses: number
  /** 0: nothing is sent. */
  readonly devices: number
  readonly links: number
  /** So many changes may be on their way to the slowest dashboard, where there is no rate. */
  readonly changesMax: number
  /** See `Lead`. */
  readonly napMs: number
}

export interface PeersPhase {
  readonly warmupMs: number
  readonly measuredMs: number
  /** Changes a second, whatever comes of them; absent: as many as the slowest dashboard hears. */
  readonly rate?: number
}

/** Measured from the end of the warm-up until every dashboard has heard every change. */
export interface PeersResult extends CpuUse {
  readonly changes: number
  readonly deliveries: number
  /** All that came over the sockets of dashboards meanwhile. */
  readonly dashboardBytes: number
  /** From when a change was due until a witness heard of it. */
  readonly latency: LatencySummary
}

/** Changes that a link sends in one piece at most, as long as none of them is heard of. */
const togetherMax = 64
const drainMsMax = 8_000
const prefix = 'LOAD'

let spec: PeersSpec
let fleet: LoadFleet | PeerFleet | undefined
let dashboards: PeerDashboards
let lead: Lead
const latency = new LatencyHistogram()

answerWith({
  async open(asked: PeersSpec) {
    spec = asked
    const { port, authorizations, links, devices, witnesses, changesMax, napMs } = spec
    const protocol = protocols[spec.protocol]
    if (devices > 0) {
      const place = { port, devices, links, prefix }
      fleet =
        spec.protocol === 'own'
          ? new LoadFleet({ ...place, authorizations, window: togetherMax, changes: 1, properties: 1, gatherMs: 1 })
          : new PeerFleet({ ...place, protocol })
      await fleet.open()
    }
    dashboards = new PeerDashboards({
      protocol,
      port,
      count: spec.dashboards,
      authorizations,
      witnesses,
      heard: (number) => {
        const dueAt = fleet?.dueAt(number)
        if (dueAt !== undefined) latency.record(performance.now() - dueAt)
      },
      moved: () => lead.moved(),
    })
    lead = new Lead({ eventsMax: changesMax, napMs, grant: send, heardByAll: () => dashboards.heardByAll })
    if (devices > 0) await dashboards.open()
  },

  /** Of the dashboards of a load that sends nothing. */
  more: (count: number) => dashboards.open(count),

  async run({ warmupMs, measuredMs, rate }: PeersPhase): Promise<PeersResult> {
    dashboards.clear()
    const acknowledgedBefore = acknowledged()
    if (rate === undefined) lead.begin()
    else fleet?.beginPace(rate)
    await pause(warmupMs)
    const clock = new CpuClock(spec.serverProcessId)
    const [heardWarm, bytesWarm] = [dashboards.deliveries, dashboards.bytes]
    latency.clear()
    await pause(measuredMs)
    lead.stop()
    const paced = rate === undefined ? undefined : await ended(acknowledgedBefore)
    const sent = paced ?? lead.granted
    await dashboards.hearing(sent, drainMsMax)
    const use = clock.read()
    if (fleet instanceof LoadFleet) await fleet.settled(drainMsMax)
    fleet?.check()
    dashboards.check()
    if (dashboards.deliveries !== sent * spec.dashboards) throw new Error('a dashboard heard more than was sent')
    const deliveries = dashboards.deliveries - heardWarm
    return {
      ...use,
      deliveries,
      changes: deliveries / spec.dashboards,
      dashboardBytes: dashboards.bytes - bytesWarm,
      latency: latency.summary(),
    }
  },
})

function send(changes: number): void {
  for (let rest = changes; rest > 0; rest -= togetherMax) fleet?.sendTogether(Math.min(rest, togetherMax))
}

function acknowledged(): number {
  return fleet instanceof LoadFleet ? fleet.acknowledged : 0
}

/** Ends a pace; answers how many changes were sent with it. */
async function ended(acknowledgedBefore: number): Promise<number> {
  fleet?.pause()
  if (!(fleet instanceof LoadFleet)) return fleet?.sent ?? 0
  await fleet.settled(drainMsMax)
  return fleet.acknowledged - acknowledgedBefore
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}
