import { answerWith } from '#bench/harness/answering'
import { CpuClock, type CpuUse } from '#bench/harness/cpu-clock'
import { ReadTooSlowly } from '#bench/harness/read-too-slowly'
import type { LoadedServer } from '#bench/harness/under-load'
import { Credit } from '#bench/load/credit'
import { LoadDashboards } from '#bench/load/dashboards'
import { LoadFleet } from '#bench/load/fleet'
import { Lead } from '#bench/load/lead'

/** The load of a question about telling many: dashboards, and as many events as the slowest of them can hear. */
interface FanoutSpec extends LoadedServer {
  readonly dashboards: number
  /** So many events may be on their way to the slowest dashboard. */
  readonly eventsMax: number
  /** See `Lead`. */
  readonly napMs: number
  /** Whether events are frames of a fleet, or made by the server itself, told how many. */
  readonly isFleet: boolean
}

interface FanoutPhase {
  readonly warmupMs: number
  readonly measuredMs: number
}

/** Measured from the end of the warm-up until every dashboard has heard every event. */
export interface FanoutResult extends CpuUse {
  readonly events: number
  readonly deliveries: number
}

const fleetOptions = { devices: 10_000, links: 50, window: 64, changes: 1, properties: 1, prefix: 'LOAD' }
const drainMsMax = 30_000

let spec: FanoutSpec
let dashboards: LoadDashboards
let lead: Lead
let fleet: LoadFleet | undefined

answerWith({
  async open(asked: FanoutSpec) {
    spec = asked
    const { port, dashboards: count, eventsMax, napMs, authorizations } = spec
    const grant = spec.isFleet ? await openFleet() : await openCredit()
    dashboards = new LoadDashboards({ port, count, authorizations, moved: () => lead.moved() })
    lead = new Lead({ eventsMax, napMs, grant, heardByAll: () => dashboards.heardByAll })
    await dashboards.open()
  },

  async run({ warmupMs, measuredMs }: FanoutPhase): Promise<FanoutResult> {
    dashboards.clear()
    lead.begin()
    await pause(warmupMs)
    const clock = new CpuClock(spec.serverProcessId)
    const heardWarm = dashboards.deliveries
    await pause(measuredMs)
    lead.stop()
    await dashboards.hearing(lead.granted, drainMsMax)
    const use = clock.read()
    await fleet?.settled(drainMsMax)
    fleet?.check()
    dashboards.check()
    if (dashboards.deliveries !== lead.granted * spec.dashboards)
      throw new Error('a dashboard heard more than was told')
    if (dashboards.gaps > 0) throw new ReadTooSlowly(dashboards.gaps)
    const deliveries = dashboards.deliveries - heardWarm
    return { ...use, deliveries, events: deliveries / spec.dashboards }
  },
})

async function openCredit(): Promise<(events: number) => void> {
  const credit = await Credit.open(spec.port)
  return (events) => credit.grant(events)
}

async function openFleet(): Promise<(events: number) => void> {
  const opened = new LoadFleet({ ...fleetOptions, port: spec.port, authorizations: spec.authorizations })
  await opened.open()
  fleet = opened
  return (events) => opened.sendTogether(events)
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}
