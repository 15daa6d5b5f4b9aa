import type { Item } from '#client/routes'
import { type StatusRow, severityOrder } from '#dashboard/values/alarm-order'

/** The status of alarms on devices. */

export type Alarm = Item<'GET /alarms'>

/** The number of devices on which an alarm is active, and the earliest time since when. */
export interface AlarmSummary {
  readonly active: number
  /** Unix ms. */
  readonly since: number | undefined
}

export const inactiveSummary: AlarmSummary = { active: 0, since: undefined }

/** By resource name of the alarm; without alarms that are active on no device. */
export function alarmSummaries(rows: Iterable<StatusRow>): ReadonlyMap<string, AlarmSummary> {
  const summaries = new Map<string, AlarmSummary>()
  for (const { resourceIdentifier, active, since } of rows) {
    if (!active) continue
    const before = summaries.get(resourceIdentifier) ?? inactiveSummary
    summaries.set(resourceIdentifier, { active: before.active + 1, since: Math.min(before.since ?? since, since) })
  }
  return summaries
}

/** Active alarms first, by severity; then the others by name. */
export function sortedAlarms(alarms: readonly Alarm[], summaries: ReadonlyMap<string, AlarmSummary>): readonly Alarm[] {
  const isActive = ({ resourceIdentifier }: Alarm) => summaries.has(resourceIdentifier)
  return alarms.toSorted(
    (a, b) =>
      Number(isActive(b)) - Number(isActive(a)) ||
      (isActive(a) ? severityOrder[a.severity] - severityOrder[b.severity] : 0) ||
      a.name.localeCompare(b.name),
  )
}

/** The rows of one alarm: active ones first, then the newest. */
export function rowsOfAlarm(rows: Iterable<StatusRow>, resourceIdentifier: string): readonly StatusRow[] {
  return [...rows]
    .filter((row) => row.resourceIdentifier === resourceIdentifier)
    .sort((a, b) => Number(b.active) - Number(a.active) || b.since - a.since)
}
