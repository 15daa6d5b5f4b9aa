import { callRows } from '#figures/calls'
import { eventRows } from '#figures/events'
import { linkRows } from '#figures/links'
import { peopleRows } from '#figures/people'
import { processRows } from '#figures/process'
import type { MetricRow } from '#figures/row'
import { storageRows } from '#figures/storage'
import { workRows } from '#figures/work'

/** All metrics there are, by what they are about, in the order in which they are shown. */
export const metricGroups: readonly { readonly title: string; readonly rows: readonly MetricRow[] }[] = [
  { title: 'Device connections', rows: linkRows },
  { title: 'Events and their subscribers', rows: eventRows },
  { title: 'The store', rows: storageRows },
  { title: 'Requests', rows: callRows },
  { title: 'Authentication', rows: peopleRows },
  { title: 'Alarms, functions, mail and firmware', rows: workRows },
  { title: 'The process', rows: processRows },
]

export const metricRows: readonly MetricRow[] = metricGroups.flatMap(({ rows }) => rows)
