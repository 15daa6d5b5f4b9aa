import { answerWith } from '#bench/harness/answering'
import { CpuClock, type CpuUse } from '#bench/harness/cpu-clock'
import { ReadTooSlowly } from '#bench/harness/read-too-slowly'
import type { LoadedServer } from '#bench/harness/under-load'
import { LatencyHistogram, type LatencySummary } from '#bench/histogram'
import { type AlarmManner, alarmBodies, ExpectedTurns, makeAlarms, type Turns } from '#bench/load/alarms'
import { LoadDashboards } from '#bench/load/dashboards'
import { LoadFleet, type LoadFleetOptions } from '#bench/load/fleet'

/** The load of a question about the way of a change through the server: a fleet, and dashboards that hear all of it. */
export interface IngestSpec extends LoadFleetOptions, LoadedServer {
  readonly dashboards: number
  /** Alarms over what the fleet reports; absent: none. */
  readonly alarms?: AlarmManner
  /** Something else happens on the server at the same time, and is heard: it does not count. With one dashboard. */
  readonly isBeside?: boolean
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
  /** How often alarms turned. Each such turn is an event too. */
  readonly alarmTurns: number
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
/** What alarms have to do, and what the witness heard of it. */
let expected: ExpectedTurns | undefined
let heardTurns = { active: 0, inactive: 0 }
const delivery = new LatencyHistogram()

answerWith({
  /** Devices without an acknowledged frame. */
  silent: (): number => fleet.numbers.reduce((count, number) => count + (number < 0 ? 1 : 0), 0),

  async open(asked: IngestSpec) {
    spec = asked
    const { alarms, port, authorizations } = spec
    if (alarms !== undefined) await makeAlarms(port, authorizations, alarmBodies(alarms, spec))
    expected = alarms === 'changing' ? new ExpectedTurns(spec) : undefined
    heardTurns = { active: 0, inactive: 0 }
    fleet = new LoadFleet(spec, expected?.sent.bind(expected))
    await fleet.open()
    dashboards = new LoadDashboards({
      port: spec.port,
      count: spec.dashboards,
      authorizations: spec.authorizations,
      heard: (number) => {
        const dueAt = fleet.dueAt(number)
        if (dueAt !== undefined) delivery.record(performance.now() - dueAt)
      },
      alarmTurned: (isActive) => {
        heardTurns[isActive ? 'active' : 'inactive']++
      },
      ...(spec.isBeside && { heardOther: () => {} }),
    })
    await dashboards.open()
  },

  async run({ warmupMs, measuredMs, rate }: PhaseSpec): Promise<PhaseResult> {
    dashboards.clear()
    const acknowledgedBefore = fleet.acknowledged
    const turnsBefore = turnsExpected()
    if (rate === undefined) fleet.begin()
    else fleet.beginPace(rate)
    await pause(warmupMs)
    const clock = new CpuClock(spec.serverProcessId)
    const acknowledgedWarm = fleet.acknowledged
    const deliveriesWarm = dashboards.deliveries
    const bytesWarm = dashboards.bytes
    const turnsWarm = turnsExpected()
    fleet.latency.clear()
    delivery.clear()
    await pause(measuredMs)
    fleet.pause()
    await fleet.settled(settleMsMax)
    const frames = fleet.acknowledged - acknowledgedBefore
    const events = frames + turnsExpected() - turnsBefore
    await dashboards.hearing(spec.dashboards > 0 ? events : 0, settleMsMax)
    const use = clock.read()
    fleet.check()
    dashboards.check()
    if (dashboards.gaps > 0) throw new ReadTooSlowly(dashboards.gaps)
    if (dashboards.deliveries !== events * spec.dashboards) throw new Error('a dashboard heard more than was sent')
    if (spec.dashboards > 0) checkTurns()
    const measured = fleet.acknowledged - acknowledgedWarm
    return {
      ...use,
      frames: measured,
      changes: measured * spec.changes,
      alarmTurns: turnsExpected() - turnsWarm,
      deliveries: dashboards.deliveries - deliveriesWarm,
      dashboardBytes: dashboards.bytes - bytesWarm,
      acknowledgement: fleet.latency.summary(),
      delivery: delivery.summary(),
    }
  },
})

function turnsExpected(): number {
  const { active, inactive } = expected?.turns ?? noTurns
  return active + inactive
}

/** Everything sent was heard: every alarm has turned as often as it had to, and each way. */
function checkTurns(): void {
  const { active, inactive } = expected?.turns ?? noTurns
  if (heardTurns.active === active && heardTurns.inactive === inactive) return
  const heard = `${heardTurns.active} times active and ${heardTurns.inactive} times inactive`
  throw new Error(`alarms turned ${heard}, not ${active} and ${inactive} times`)
}

const noTurns: Turns = { active: 0, inactive: 0 }

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}
