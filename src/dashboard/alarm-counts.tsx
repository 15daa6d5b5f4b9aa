import { Badge, Status } from '#dashboard/components/status'
import { useObservable } from '#dashboard/components/use-observable'
import { liveState, mayUser } from '#dashboard/session'
import { bySeverityAndAge, type StatusRow } from '#dashboard/values/alarm-order'
import { groupBy } from '#dashboard/values/group-by'

/** Counts of active alarms, for pages that are not about alarms. */

/** The number of active alarms that no user has acknowledged. */
export function OpenAlarms() {
  let count = 0
  for (const { active, acknowledged } of useObservable(liveState().alarms).values())
    if (active && !acknowledged) count++
  if (count === 0) return null
  return (
    <Badge tone="bad">
      {count} <span class="hidden">not acknowledged</span>
    </Badge>
  )
}

/** The active alarms of each device, in no order. */
export function useActiveAlarms(): ReadonlyMap<string, readonly StatusRow[]> {
  const rows = useObservable(mayUser('alarms', 'read') ? liveState().alarms : noAlarms).values()
  const active = [...rows].filter((row) => row.active)
  return groupBy(active, ({ deviceIdentifier }) => deviceIdentifier)
}

const none: ReadonlyMap<string, StatusRow> = new Map()
const noAlarms = { value: none, subscribe: () => () => {} }

/** The number of active alarms of a device, in the colour of the most severe alarm. */
export function AlarmMark({ rows }: { readonly rows: readonly StatusRow[] | undefined }) {
  const worst = rows?.toSorted(bySeverityAndAge)[0]
  if (!worst) return null
  return (
    <Status state={worst.severity ?? 'info'}>
      {rows?.length} <span class="hidden">active alarms</span>
    </Status>
  )
}
