import type { FleetReport, UpdateCounts, WriteCounts } from '#bench/fleet/counts'
import type { Fleet } from '#bench/fleet/fleet'
import type { LatencySummary } from '#bench/histogram'

/** The last second of a fleet. */
export interface FleetSecond {
  readonly devices: number
  readonly devicesOnline: number
  readonly changesPerSecond: number
  /** Since the start. */
  readonly changesAcknowledged: number
  readonly latencyMs: LatencySummary
  readonly faultCount: number
}

/** Answers, at each call, the time since the last one. */
export function secondsOf(fleet: Fleet): () => FleetSecond {
  let lastAt = performance.now()
  let lastChanges = 0
  return () => {
    const now = performance.now()
    const { changesAcknowledged } = fleet.counts
    const second = {
      devices: fleet.devices.length,
      devicesOnline: fleet.devicesOnline,
      changesPerSecond: Math.round(((changesAcknowledged - lastChanges) * 1000) / Math.max(1, now - lastAt)),
      changesAcknowledged,
      latencyMs: fleet.counts.takeRecent(),
      faultCount: fleet.counts.faultCount,
    }
    lastAt = now
    lastChanges = changesAcknowledged
    return second
  }
}

export function lineOf(second: FleetSecond): string {
  const { devicesOnline, devices, changesPerSecond, latencyMs } = second
  const faults = second.faultCount > 0 ? `  FAULTS ${second.faultCount}` : ''
  return (
    `${devicesOnline}/${devices} devices  ${changesPerSecond} changes/s  ` +
    `ack p50 ${latencyMs.p50} ms  p99 ${latencyMs.p99} ms${faults}`
  )
}

function writesLine({ heard, again, done, rejected, left, triggers }: WriteCounts): string {
  const ids = `${done} done once each (${triggers} triggers), ${rejected} rejected, ${left} left without an answer`
  return `writes                ${heard} heard, ${again} of them again; ${ids}`
}

function updatesLine(counts: UpdateCounts): string {
  const { heard, again, installed, updated, wrong, refused, failed, notHad, vanished, resumed, bytes } = counts
  return (
    `updates               ${heard} heard, ${again} of them again; ${installed} installed once each ` +
    `(${updated} came back with it, ${wrong} with the old), ${failed} failed, ${notHad} not to be had, ${refused} refused; ` +
    `${vanished} vanished, ${resumed} went on; ${Math.round(bytes / 1024)} KiB`
  )
}

export function totalsOf(report: FleetReport, seconds: number): string {
  const { latencyMs } = report
  return [
    `changes acknowledged  ${report.changesAcknowledged} (${Math.round(report.changesAcknowledged / seconds)}/s)`,
    `frames                ${report.framesSent} sent, ${report.framesAcknowledged} acknowledged, ` +
      `${report.framesResent} sent again, ${report.framesRefused} refused, ${report.framesSkipped} skipped`,
    `acknowledgement       p50 ${latencyMs.p50} ms, p99 ${latencyMs.p99} ms, p99.9 ${latencyMs.p999} ms, max ${latencyMs.max} ms`,
    `links                 ${report.connects} connects, ${report.cuts} cuts, closes ${JSON.stringify(report.closes)}`,
    `errors                ${JSON.stringify(report.errors)}`,
    ...(report.writes.heard > 0 ? [writesLine(report.writes)] : []),
    ...(report.updates.heard > 0 ? [updatesLine(report.updates)] : []),
    ...(report.faultCount > 0 ? [`FAULTS                ${report.faultCount}`, ...report.faults] : []),
  ].join('\n')
}
